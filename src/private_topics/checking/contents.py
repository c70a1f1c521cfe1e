"""What the texts of a file look like, in one pass and in bounded memory: languages, HTML, duplicates, scripts."""

from __future__ import annotations

import hashlib
import re
import statistics
import unicodedata
from collections import Counter
from collections.abc import Iterable

from private_topics.corpus.words.stop_words import STOP_WORDS

MOST_KEPT = 2**20
LOOKED_AT = 4_000  # characters of each text
TAG = re.compile(
    r"</?(?:a|b|body|br|div|em|font|h[1-6]|head|html|i|img|li|meta|ol|p|script|span|strong|style|table|tbody|td|th|"
    r"title|tr|u|ul)(?:\s[^<>@]{0,200})?/?>|&(?:[a-z]{2,6}|#\d{1,6}|#x[0-9a-f]{1,5});",
    re.IGNORECASE,
)
WORD = re.compile(r"[^\W\d_]+")
UNSPACED = re.compile(
    r"[\u0e00-\u0eff\u0f00-\u0fff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]+"
)
"""Thai, Lao, Tibetan, Burmese, Khmer, Japanese and Chinese letters: scripts that are written without spaces."""
UNSPACED_SHARE, LONGEST_MEAN_RUN = 0.3, 5.0
"""A text is not segmented if such letters are more than this part of it, in runs longer than words are on average."""
FEWEST_STOP_WORDS, STOP_WORD_SHARE = 2, 0.1
LANGUAGES_OF = {
    word: [language for language, words in STOP_WORDS.items() if word in words]
    for word in frozenset().union(*STOP_WORDS.values())
}


class Tally:
    """How often each item occurs, by digests of eight bytes; a sample of the items where they are too many.

    Which items are kept depends on their digests alone, so those that are kept are counted exactly.
    """

    def __init__(self, most: int = MOST_KEPT) -> None:
        self.most, self.level, self.total = most, 0, 0
        self.counts: dict[int, int] = {}

    def add(self, item: str) -> None:
        self.total += 1
        digest = hashlib.blake2b(item.encode("utf-8", "surrogatepass"), digest_size=8).digest()
        number = int.from_bytes(digest, "big")
        if not self._is_kept(number):
            return
        self.counts[number] = self.counts.get(number, 0) + 1
        if len(self.counts) > self.most:
            self.level += 1
            self.counts = {kept: count for kept, count in self.counts.items() if self._is_kept(kept)}

    def _is_kept(self, number: int) -> bool:
        return number & ((1 << self.level) - 1) == 0

    @property
    def different(self) -> int:
        """How many different items there are; about, once `level` is above zero."""
        return len(self.counts) << self.level

    @property
    def repeats(self) -> int:
        """How many items occurred before."""
        return (sum(self.counts.values()) - len(self.counts)) << self.level

    @property
    def spread(self) -> tuple[int, float, int]:
        """The fewest, the median and the most occurrences of an item."""
        counts = list(self.counts.values()) or [0]
        return min(counts), statistics.median(counts), max(counts)


class Contents:
    """Counts over the texts that were added."""

    def __init__(self, most_kept: int = MOST_KEPT) -> None:
        self.texts, self.unit_labels = Tally(most_kept), Tally(most_kept)
        self.given = self.empty = self.html = self.unsegmented = 0
        self.languages: Counter[str] = Counter()

    def add(self, text: str, unit: str | None) -> None:
        self.given += 1
        if unit is not None:
            self.unit_labels.add(unit)
        head = text[:LOOKED_AT]
        if not text.strip():
            self.empty += 1
            return
        self.texts.add(text)
        self.html += TAG.search(head) is not None
        self.unsegmented += is_unsegmented(head)
        self.languages[language_of(head)] += 1


def is_unsegmented(text: str) -> bool:
    """Whether a text is written without spaces between words."""
    if text.isascii():
        return False
    runs = [len(run) for run in UNSPACED.findall(text)]
    return bool(runs) and sum(runs) > UNSPACED_SHARE * len(text) and sum(runs) > LONGEST_MEAN_RUN * len(runs)


def language_of(text: str) -> str:
    """The language whose stop words are the most; else the script; "unknown" for Latin letters without any."""
    words = WORD.findall(text.lower())
    hits = Counter(language for word in words for language in LANGUAGES_OF.get(word, ()))
    if hits:
        language, most = hits.most_common(1)[0]
        if most >= FEWEST_STOP_WORDS and most >= STOP_WORD_SHARE * len(words):
            return language
    script = _script("".join(words[:20]))
    return "unknown" if script in (None, "latin") else f"{script} letters"


def _script(letters: Iterable[str]) -> str | None:
    """The script of most of the letters, by the first word of their names; ideographs are Chinese letters to all."""
    names = Counter(unicodedata.name(letter, "unknown").split()[0].lower() for letter in letters)
    return names.most_common(1)[0][0] if names else None
