"""How many topics are kept where there are none, or few: shuffled corpora and other texts with a known answer.

    python benchmarks/shuffled.py [--fits 200] [--out benchmarks/results/shuffled.md]

All corpora of the data folder, 500 to 50,000 documents, epsilon 0.5 to 10, with the english vectors, with public
abstracts and without knowledge, in turn; 10 topics asked for; 2,000 frequent words as columns (a convenience: a
vocabulary read off the texts is not private); delta 1e-6. Shuffled: the same lengths and frequencies, and no topics.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.feature_extraction.text import CountVectorizer

from corpora import texts
from evidence_of import shuffled
from private_topics import PrivacyWarning, PrivateSpectralLDA, PublicKnowledge
from stored import options_of, tell

CORPORA = {
    "arxiv_abstracts": "train",
    "enron_email": "train",
    "film_reviews": "train",
    "medical_abstracts": "public",  # shuffled, they are nobody's
    "mtsamples_clinical": "train",
    "wikipedia_en": "train",
}
SIZES = (500, 2_000, 10_000, 50_000)
EPSILONS = (0.5, 1.0, 3.0, 10.0)
KNOWLEDGE = ("english", "abstracts", "none")
WORDS, TOPICS, ABSTRACTS = 2_000, 10, 3_000


class Source:
    """Counts of a corpus, and what is publicly known of its words."""

    def __init__(self, name: str) -> None:
        documents = texts(name, CORPORA[name], max(SIZES))
        vectoriser = CountVectorizer(max_features=WORDS, stop_words="english", token_pattern="[a-z]{3,}")
        self.counts = sp.csr_array(vectoriser.fit_transform(documents))
        words = list(vectoriser.get_feature_names_out())
        public = vectoriser.transform(texts("medical_abstracts", "public", ABSTRACTS))
        self.knowledge: dict[str, Any] = {
            "english": PublicKnowledge.english(words),
            "abstracts": PublicKnowledge.from_counts(public),
            "none": None,
        }


def kept(counts: Any, knowledge: Any, epsilon: float, seed: int, topics: int = TOPICS) -> PrivateSpectralLDA:
    settings: dict[str, Any] = {"epsilon": epsilon, "knowledge": knowledge, "noise_seed": seed}
    with warnings.catch_warnings(action="ignore", category=PrivacyWarning):
        return PrivateSpectralLDA(topics, **settings).fit(counts)


def cells(fits: int, sizes: dict[str, int]) -> Iterator[tuple[str, int, float, str]]:
    """Every combination, in an order that mixes them."""
    all_of_them = [
        (name, size, epsilon, known)
        for name, size, epsilon, known in itertools.product(CORPORA, SIZES, EPSILONS, KNOWLEDGE)
        if size <= sizes[name]
    ]
    order = np.random.default_rng(0).permutation(len(all_of_them))
    return itertools.islice(itertools.cycle(all_of_them[place] for place in order), fits)


def null_table(fits: int, sources: dict[str, Source]) -> list[str]:
    """Of shuffled corpora, how many keep more than one topic; by corpus, size, epsilon and knowledge."""
    found: list[tuple[str, int, float, str, int]] = []
    for seed, (name, size, epsilon, known) in enumerate(
        cells(fits, {name: source.counts.shape[0] for name, source in sources.items()})
    ):
        source = sources[name]
        model = kept(shuffled(source.counts[:size], seed), source.knowledge[known], epsilon, seed)
        found.append((name, size, epsilon, known, len(model.components_)))
    wrong = [one for one in found if one[-1] > 1]
    lines = [f"{len(wrong)} of {len(found)} fits of shuffled corpora keep more than one topic.", ""]
    lines += [f"- {name}, {size:,} documents, epsilon {epsilon:g}, {known}: {count} topics"
              for name, size, epsilon, known, count in wrong]  # fmt: skip
    lines += ["| of | fits | keep more than one |", "|---|---:|---:|"]
    for place, values in enumerate((CORPORA, SIZES, EPSILONS, KNOWLEDGE)):
        for value in values:
            same = [one for one in found if one[place] == value]
            label = ("", "documents up to ", "epsilon ", "knowledge: ")[place] + str(value)
            lines.append(f"| {label} | {len(same)} | {sum(one[-1] > 1 for one in same)} |")
    return lines


def known_answers(sources: dict[str, Source]) -> list[str]:
    """Texts of which the answer is known."""
    source = sources["wikipedia_en"]
    counts = sp.csr_array(source.counts[:10_000])
    one = sp.csr_array(counts[[int(np.argmax(counts.sum(axis=1)))]])
    halves = sp.vstack([shuffled(counts[:5_000], 0), moved(shuffled(counts[5_000:], 1))])
    draw, chances = np.random.default_rng(0), 1.0 / np.arange(1.0, WORDS + 1)
    chances[30:] = 0.0
    short = [draw.multinomial(length, chances / chances.sum(), size=50_000) for length in (3, 8)]
    cases = {
        "50,000 documents of 3 of 30 words, drawn at random": short[0],
        "50,000 documents of 8 of 30 words, drawn at random": short[1],
        "identical documents": sp.vstack([one] * 5_000),
        "shuffled, one document 500 times (two are right)": sp.vstack([shuffled(counts[:5_000], 0), *[one] * 500]),
        "two shuffled halves of different frequencies (two are right)": halves,
    }
    lines = ["| texts | epsilon 1 | epsilon 10 |", "|---|---:|---:|"]
    for name, case in cases.items():
        numbers = [len(kept(sp.csr_array(case), source.knowledge["english"], epsilon, 0).components_)
                   for epsilon in (1.0, 10.0)]  # fmt: skip
        lines.append(f"| {name} | {numbers[0]} | {numbers[1]} |")
    return lines


def moved(counts: sp.csr_array) -> sp.csr_array:
    """The same documents in other words: each word is the one a thousand columns further."""
    shifted = counts.copy()
    shifted.indices = (shifted.indices + WORDS // 2) % WORDS
    shifted.sort_indices()
    return shifted


def dilution(sources: dict[str, Source]) -> list[str]:
    """Real documents among shuffled ones."""
    lines = [
        "| corpus | epsilon | documents shuffled | topics kept | seen beyond doubt | nats per word | deviations |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    for name, epsilon in itertools.product(("wikipedia_en", "enron_email", "medical_abstracts"), (1.0, 3.0)):
        source = sources[name]
        counts = sp.csr_array(source.counts[: min(10_000, source.counts.shape[0])])
        for part in (0.0, 0.5, 0.8, 0.95, 1.0):
            real = round(counts.shape[0] * (1.0 - part))
            pieces = [counts[:real]] * (real > 0) + [shuffled(counts[real:], 0)] * (part > 0)
            model = kept(sp.csr_array(sp.vstack(pieces)), source.knowledge["english"], epsilon, 0)
            evidence = model.evidence_
            shown = (
                "none | – | –"
                if evidence is None
                else f"{int(evidence.seen.sum())} | {evidence.gain:.3f} | {evidence.deviations.sum():.0f}"
            )
            lines.append(f"| {name} | {epsilon:g} | {part:.0%} | {len(model.components_)} | {shown} |")
    return lines


def page(fits: int) -> str:
    sources = {name: Source(name) for name in CORPORA}
    return "\n".join(
        [
            "# Topics kept where there are none, or few",
            "",
            "## Shuffled corpora",
            "",
            *null_table(fits, sources),
            "",
            "## Texts with a known answer",
            "",
            *known_answers(sources),
            "",
            "## Real documents among shuffled ones",
            "",
            "The english vectors; the last column adds up the standard deviations of the topics kept.",
            "",
            *dilution(sources),
        ]
    )


def main() -> None:
    parser = options_of(__doc__ or "")
    parser.add_argument("--fits", type=int, default=200)
    parser.add_argument("--out", type=Path, metavar="FILE")
    arguments: Any = parser.parse_args()
    tell(page(arguments.fits), arguments.out)


if __name__ == "__main__":
    main()
