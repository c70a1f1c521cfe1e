"""Are topics and words that are called reliable found again? Stated against actual agreement, with fresh noise.

    python benchmarks/reliability.py --out docs/utility/reliability.md

Real text is fitted 20 times with noise of its own (seeds 0 to 19). Of the first models of each case `reliability`
says, from released values alone, how often a topic and each of its first ten words come out again; the 19 other fits
show how often they do. English knowledge, delta = 1e-6, the vocabulary is taken as public. Nothing in `reliability`
was learnt on these corpora: research/reliability_map.py has others.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from pathlib import Path
from typing import NamedTuple

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer

from corpora import VECTORIZER, texts
from private_topics import PrivacyWarning, PrivateSpectralLDA, PublicKnowledge, reliability
from private_topics.audit.reliability import REFITS, RELIABLE, Reliability, came_again, first_words, matched
from stored import options_of, tell

WORDS, TOPICS, FIRST = 1_000, 10, 10
FITS, STATED = 20, 6  # fits of each case; of so many of them reliability is stated
BINS = (0.0, 0.25, 0.5, 0.75, RELIABLE, 1.01)
PAGE = """# How far to trust a topic

Would it come out again if the noise were drawn afresh? `reliability(model)` says so from released values alone. It
draws documents from the model's topics, as long as a released clip threshold lets expect, fits them again with fresh
noise ({refits} times, at a third of the epsilon, since drawn documents are tidier than real ones), and looks how far
each of a topic's first words stands above those that are no longer among its first, beside how far it moves from
refit to refit. A map turns these numbers into a share; it was learnt on fits of medical abstracts, clinical notes and
mail (how, and why not simply the refits' agreement: `research/results/reliability_map.md`). Here it is checked on two
corpora that had no part in it: their last documents on their {words:,} most frequent words, {topics} topics asked
for, public knowledge of English, {fits} fits with noise of their own in each case. Reliability is stated for {stated}
of these models; how often topics and words do come again is counted in the {others} other fits of the corpus. A topic
comes again if at least five of its ten first words are among the ten first of the topic matched to it (one to one, by
cosine).

`python benchmarks/reliability.py`

## Called reliable: stated at 90 % or more

{called}

"really" counts the topics and words that are in 90 % or more of the other fits, called so or not; "least" is how
often the worst of those called comes again. The intervals are meant to hold nine times in ten, for the first words of
topics that come again.

{summary}

## By what was stated

{bins}

## What was seen before

The map before this one, of refits with the whole epsilon, was measured on the first documents of the same corpora
(commit 5db5b9f4e9e4): on Wikipedia 15 topics called came again in 97 % of the fits and 114 words in 94 %, on arXiv 18
topics in 80 % and 119 words in 81 %, which is too few. This one was chosen among some that the three other corpora
like about as well, with those first documents in view; so it is checked on the last ones. These were looked at once
before, with a map that gave frequent topics credit: 13 topics of Wikipedia came again in 98 % of the fits and 96
words in 99 %, 9 topics of arXiv in 82 % and 58 words in 88 %. It has none since, which the three other corpora do not
mind.
"""


class Case(NamedTuple):
    """Fits of one corpus with noise of their own: its first or last documents, on their most frequent words."""

    corpus: str
    part: str
    documents: int
    epsilon: float
    topics: int = TOPICS
    informed: bool = True
    last: bool = False

    def fits(self, seeds: Sequence[int]) -> list[PrivateSpectralLDA]:
        vectorizer = CountVectorizer(**VECTORIZER | {"max_features": WORDS})
        documents = texts(self.corpus, self.part, None if self.last else self.documents)[-self.documents :]
        counts = vectorizer.fit_transform(documents)
        known = PublicKnowledge.english(list(vectorizer.get_feature_names_out())) if self.informed else None
        with warnings.catch_warnings(action="ignore", category=PrivacyWarning):
            return [
                PrivateSpectralLDA(self.topics, epsilon=self.epsilon, knowledge=known, noise_seed=seed).fit(counts)
                for seed in seeds
            ]


CASES = [
    Case(*one, last=True)
    for one in product(("wikipedia_en", "arxiv_abstracts"), ("train",), (5_000, 20_000), (1.0, 3.0))
]


class Actual(NamedTuple):
    """How often topics (k) and their first words (k · 10) are there in other fits, and how often intervals hold."""

    topics: np.ndarray
    words: np.ndarray
    inside: float


def actual(
    model: PrivateSpectralLDA, others: Sequence[PrivateSpectralLDA], between: tuple[np.ndarray, np.ndarray]
) -> Actual:
    wanted, (low, high) = model.components_, between
    first = first_words(wanted, FIRST)
    again, there, inside = [], [], []
    for other in others:
        found = matched(other.components_, wanted)
        here = first_words(found, FIRST)
        again.append(came_again(here, first))
        there.append(here[first])
        inside.append(((low <= found) & (found <= high) & first)[again[-1]].sum() / FIRST)
    return Actual(np.mean(again, axis=0), np.mean(there, axis=0), float(np.sum(inside) / max(1, np.sum(again))))


@dataclass(frozen=True)
class Compared:
    """Stated and actual shares of one model: topics, first words, and how often intervals held."""

    topics: tuple[np.ndarray, np.ndarray]
    words: tuple[np.ndarray, np.ndarray]
    inside: float


def compared(stated: Reliability, model: PrivateSpectralLDA, others: list[PrivateSpectralLDA]) -> Compared:
    found = actual(model, others, (stated.low, stated.high))
    words = stated.top_share[first_words(model.components_, FIRST)]
    return Compared((stated.topics, found.topics), (words, found.words), found.inside)


class Shares(NamedTuple):
    """What was stated of some topics or words, beside how often they come again."""

    stated: np.ndarray
    actual: np.ndarray

    @classmethod
    def of(cls, models: Sequence[Compared], what: str) -> Shares:
        return cls(*(np.concatenate(column) for column in zip(*(getattr(one, what) for one in models), strict=True)))

    def between(self, low: float, high: float = BINS[-1]) -> str:
        """Of how many, and how often those stated between two shares come again."""
        chosen = self.actual[(low <= self.stated) & (self.stated < high)]
        return f"{len(chosen)} of {len(self.stated)} | {f'{chosen.mean():.1%}' if len(chosen) else '–'}"

    @property
    def called(self) -> str:
        chosen = self.actual[self.stated >= RELIABLE]
        least = f"{chosen.min():.0%}" if len(chosen) else "–"
        return f"{self.between(RELIABLE)} | {least} | {np.count_nonzero(self.actual >= RELIABLE)}"


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def page(found: dict[Case, list[Compared]]) -> str:
    ends = ["least", "really"]
    called_heads = ["topics called", "come again", *ends, "words called", "are there again", *ends]

    def columns(models: Sequence[Compared], shown: Callable[[Shares], str]) -> list[str]:
        return [shown(Shares.of(models, what)) for what in ("topics", "words")]

    called = [
        [
            case.corpus,
            f"{case.documents:,}",
            f"{case.epsilon:g}",
            *columns(models, lambda shares: shares.called),
            f"{np.mean([one.inside for one in models]):.0%}",
        ]
        for case, models in found.items()
    ]
    summary = []
    for name in (*dict.fromkeys(case.corpus for case in found), "both"):
        some = [one for case, models in found.items() for one in models if name in (case.corpus, "both")]
        summary.append([name, *columns(some, lambda shares: shares.called)])
    every = [one for models in found.values() for one in models]
    bins = [
        [
            f"{low:.0%} to {min(high, 1.0):.0%}",
            *columns(every, lambda shares, low=low, high=high: shares.between(low, high)),  # type: ignore[misc]
        ]
        for low, high in pairwise(BINS)
    ]
    return PAGE.format(
        refits=REFITS, words=WORDS, topics=TOPICS, fits=FITS, stated=STATED, others=FITS - 1,
        called=table(["corpus", "documents", "epsilon", *called_heads, "intervals hold"], called),
        summary=table(["corpus", *called_heads], summary),
        bins=table(["stated", "topics", "come again", "words", "are there again"], bins),
    )  # fmt: skip


def main() -> None:
    parser = options_of(__doc__)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    found: dict[Case, list[Compared]] = {}
    for case in CASES:
        print(*case, file=sys.stderr, flush=True)
        fits = case.fits(range(FITS))
        found[case] = [
            compared(reliability(fits[place]), fits[place], fits[:place] + fits[place + 1 :])
            for place in range(STATED)
        ]
    tell(page(found), options.out)


if __name__ == "__main__":
    main()
