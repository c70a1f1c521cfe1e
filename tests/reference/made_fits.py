"""Whole fits of small corpora, watched: sequential, with public knowledge, of documents and of users."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cache

import numpy as np

from private_support import counts_of
from private_topics import BudgetSplit, PrivacyWarning, PrivateSpectralLDA, PublicKnowledge
from reference.corpora import CORPORA, ENORMOUS, N_WORDS, grouped
from reference.moments import Unit
from reference.watched import Pass, watched_passes

DELTA, ALPHA0, STEPS = 1e-5, 0.5, 3
MUCH, LITTLE = 1.0, 1e6  # epsilon
SPLIT = BudgetSplit(unigram=0.07, histograms=0.025, second=0.19, frame=0.035, tensor=0.05, refine=0.63)
INFORMED_SPLIT = BudgetSplit(
    unigram=0.21, histograms=0.03, second=0.17, frame=0.05, tensor=0.04, features=0.27, refine=0.23
)


@dataclass(frozen=True)
class Fitted:
    units: list[Unit]
    passes: list[Pass]
    model: PrivateSpectralLDA
    epsilon: float

    @property
    def asked(self):
        return [asked for one in self.passes for asked in one.asked]

    @property
    def made(self) -> list[str]:
        return [asked.query.name for asked in self.asked]


def fitted(units: list[Unit], n_words: int, n_topics: int, epsilon: float, **more) -> Fitted:
    documents = [document for unit in units for document in unit]
    groups = [label for label, unit in enumerate(units) for _ in unit] if grouped(units) else None
    settings = {"alpha0": ALPHA0, "refine_steps": STEPS, "delta": DELTA, "noise_seed": 3, "budget_split": SPLIT}
    model = PrivateSpectralLDA(n_topics, epsilon=epsilon, **settings | more)
    with watched_passes() as passes, warnings.catch_warnings(action="ignore", category=PrivacyWarning):
        model.fit(counts_of(documents, n_words), groups=groups)
    return Fitted(units, passes, model, epsilon)


@cache
def sequential_fit(name: str, epsilon: float, n_topics: int = 2) -> Fitted:
    return fitted(CORPORA[name], N_WORDS, n_topics, epsilon)


ALIKE = [{word: 400 + 3 * (word + n) % 7 + 25 * ((word < 3) == (n % 2)) for word in range(N_WORDS)} for n in range(8)]
KNOWN_WORDS = 12


def halves(n: int) -> dict[int, int]:
    """A document of one half of the words, which is what the vectors below know about."""
    first = 6 * (n % 2)
    return {first + (n // 2 + step) % 6: 1 + (n + step) % 3 for step in range(4)}


def knowledge(kind: str) -> PublicKnowledge:
    side = np.where(np.arange(KNOWN_WORDS) < 6, 1.0, -1.0)
    spread = 0.1 * np.cos(np.outer(np.arange(KNOWN_WORDS), [1.0, 2.0]) + 1.0)
    vectors = np.column_stack([side if kind == "known" else np.cos(2.1 * np.arange(KNOWN_WORDS)), spread])
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return PublicKnowledge(vectors, np.full(KNOWN_WORDS, np.nan), [("some", "some vectors", "0" * 64, KNOWN_WORDS)])


@cache
def informed_fit(kind: str, unit: str, epsilon: float) -> Fitted:
    documents = [*(halves(n) for n in range(14)), {}, {3: 2}, {0: ENORMOUS, 7: 11}]
    units = [[one] for one in documents] if unit == "documents" else [documents[n : n + 2] for n in range(0, 17, 2)]
    return fitted(
        units, KNOWN_WORDS, 2, epsilon, knowledge=knowledge(kind), budget_split=INFORMED_SPLIT, refine_steps=2
    )


FITS = {
    **{f"{name}, much noise": lambda name=name: sequential_fit(name, MUCH) for name in CORPORA},
    **{f"{name}, little noise": lambda name=name: sequential_fit(name, LITTLE) for name in CORPORA},
    **{f"{name}, three topics": lambda name=name: sequential_fit(name, LITTLE, 3) for name in ("ordinary", "users")},
    "nearly alike": cache(lambda: fitted([[document] for document in ALIKE], N_WORDS, 2, LITTLE)),
    **{
        f"{kind} vectors, {unit}, epsilon {epsilon:g}": lambda kind=kind, unit=unit, epsilon=epsilon: informed_fit(
            kind, unit, epsilon
        )
        for kind in ("known", "unknown") for unit in ("documents", "users") for epsilon in (MUCH, 2e3)
    },
}  # fmt: skip
