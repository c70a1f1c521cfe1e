"""Scripts that are written without spaces between words: Chinese, Japanese, Thai, Lao, Khmer, Burmese.

Without segmentation a run of their letters is a clause, not a word, and a clause that many units write would be
published as a "word". Whether a text was segmented is a public setting of the tokeniser, never guessed from private
text: unless it says so, words with such letters are dropped; where it says so, runs too long for a word are.
"""

from __future__ import annotations

import re

EAST_ASIAN = "\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f"
EAST_ASIAN += "\U0001aff0-\U0001b16f\U00020000-\U0003ffff"
SOUTH_EAST_ASIAN = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u1950-\u19df\u1a20-\u1aaf\ua9e0-\ua9ff\uaa60-\uaadf"
LONGEST_EAST_ASIAN, LONGEST_SOUTH_EAST_ASIAN = 10, 24
"""Letters (code points) of a word of text that is segmented; Thai vowel and tone signs count too."""
SEGMENTERS = {
    "chinese": "jieba or pkuseg",
    "japanese": "MeCab or SudachiPy",
    "thai": "PyThaiNLP",
    "lao": "LaoNLP",
    "khmer": "khmer-nltk",
    "burmese": "pyidaungsu",
}
"""Languages of these scripts, and programs that find their words."""
_ANY = re.compile(f"[{EAST_ASIAN}{SOUTH_EAST_ASIAN}]")
_LONG = re.compile(
    f"[{EAST_ASIAN}]{{{LONGEST_EAST_ASIAN + 1},}}|[{SOUTH_EAST_ASIAN}]{{{LONGEST_SOUTH_EAST_ASIAN + 1},}}"
)


def written_without_spaces(word: str) -> bool:
    """Whether a word has a letter of such a script."""
    return not word.isascii() and _ANY.search(word) is not None


def longer_than_a_word(word: str) -> bool:
    """Whether a word of segmented text has a run of such letters that is too long for one."""
    return not word.isascii() and _LONG.search(word) is not None


def how_to_segment(language: str) -> str:
    """What to do before texts in this language can be read."""
    return (
        f"{language.capitalize()} is written without spaces between words: segment it first, for example with "
        f"{SEGMENTERS[language]}, put spaces between the words, and pass languages=(), segmented=True and "
        "min_length=1 (--language none --segmented --min-length 1)."
    )
