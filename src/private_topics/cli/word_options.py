"""The options that say how text becomes words. All of them are public: none may be chosen by looking at the texts."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated

from typer import Option

BlockWords = Annotated[
    str | None,
    Option(
        metavar="FILE|a,b,c",
        help="Leave these words out of the released model, free of charge: a file with one on each line, or the "
        "words, with commas between them. The model says how many there were, not which. Take them from the released "
        "words or a public list, not from the private texts.",
    ),
]


@dataclass(frozen=True)
class Words:
    """How texts become words."""

    language: Annotated[
        list[str] | None,
        Option(
            help="Drop the stop words of this language; repeatable; 'none' drops none. If not given: english, or the "
            "language of a list named by --vocabulary."
        ),
    ] = None
    extra_stop_words: Annotated[
        str | None,
        Option(
            metavar="FILE|a,b,c",
            help="Further words to drop: a file with one on each line, or the words, with commas between them. "
            "Public like every setting: none may be chosen by looking at the private texts.",
        ),
    ] = None
    min_length: Annotated[int, Option(help="Minimum number of letters in a word.")] = 3
    phrases: Annotated[
        Path | None,
        Option(
            help="A public list of phrases, one on each line: they count as one word, heart failure as "
            "heart_failure, and join the words of a public list, or the candidates."
        ),
    ] = None
    segmented: Annotated[
        bool,
        Option(
            "--segmented",
            help="Text in a script without spaces (Chinese, Japanese, Thai, Lao, Khmer, Burmese) was given spaces "
            "between its words. If not, its words are dropped: they would be whole clauses.",
        ),
    ] = False
    stem: Annotated[bool, Option("--stem", help="Count English plurals as their singulars.")] = False


WORDS = tuple(field.name for field in fields(Words))
