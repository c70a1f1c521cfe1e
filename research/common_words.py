"""How much weight the 20th word of a vocabulary gets per document, on public text: when are there 20 words?

    python research/common_words.py [FOLDER]

A document of t different words gives each the weight 1/sqrt(t), as in docs/proofs/vocabulary.md. A word is named
where the weights of all documents reach a threshold, so twenty words need as many documents as the threshold over the
number printed here. `COMMON_WEIGHT` of `planning/constants.py` is the largest of them.
"""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

from private_topics import Tokeniser, open_texts
from private_topics.corpus.made_up.letters import make_letters
from private_topics.releases.candidates import FEWEST_WORDS
from private_topics.releases.vocabulary import WORDS_PER_UNIT

FOLDER = Path(__file__).resolve().parents[2] / "shared" / "data"
DOCUMENTS = 3_000


def weight_per_document(texts: Iterable[str], rank: int = FEWEST_WORDS) -> float:
    """The weight of the word of this rank, by weight, over the number of documents."""
    weights: Counter[str] = Counter()
    count, tokeniser = 0, Tokeniser()
    for text in texts:
        count += 1
        words = set(tokeniser.words(text))
        each = math.sqrt(min(len(words), WORDS_PER_UNIT)) / max(
            1, len(words)
        )  # of too many words a random part counts
        for word in words:
            weights[word] += each
    return weights.most_common(rank)[-1][1] / count


def corpora(folder: Path) -> Iterator[tuple[str, Iterable[str]]]:
    for path in sorted(folder.glob("*.jsonl.gz")):
        if ".train." not in path.name:
            yield path.name, (text for text, _ in islice(open_texts(path), DOCUMENTS))
    yield "made-up letters", (letter.text for letter in make_letters(DOCUMENTS, seed=1))


if __name__ == "__main__":
    for name, texts in corpora(Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER):
        print(f"{name}\t{weight_per_document(texts):.4f}")
