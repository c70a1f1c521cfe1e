"""Helpers of the tests of a private fit: corpora as dictionaries, a run that records instead of adding noise.

`RecordingRun` holds every released value fixed while the corpus changes, as the adaptive composition theorem does:
what enters `release` for two neighbours may then be compared release by release.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cache
from typing import Any

import numba
import numpy as np
import scipy.sparse as sp

from private_topics import make_lda_corpus
from private_topics.corpus.counts.blocks import MatrixBlocks
from private_topics.engines.local import LocalCorpus
from private_topics.fits.fit import BudgetSplit, Fit
from private_topics.fits.sequential import REFINEMENT, SEQUENTIAL
from private_topics.privacy import mechanisms
from private_topics.privacy.budget import PrivacyBudget
from private_topics.privacy.mechanisms import PrivateRun, Query, Released
from private_topics.privacy.neighbours import REPLACE, Neighbours
from private_topics.releases.cross_moment import release_cross_moment
from private_topics.releases.inside_frame import release_inside_frame
from private_topics.releases.moments import UNIGRAM_AGAIN, release_either_second_moment, release_unigram
from private_topics.releases.release import FitContext, Release
from private_topics.releases.statistic import release_statistic
from private_topics.sums.norms import BINS, EDGES

Document = Mapping[int, int]
Unit = Sequence[Document]  # the documents of one user; one document where documents are the units

LARGEST_COUNT = 2**31 - 1
SOME_WORDS = "refinement of some words"
MADE = [release.name for release in SEQUENTIAL.releases if release is not UNIGRAM_AGAIN]
ASSEMBLED_RELEASES = tuple(r.name for r in SEQUENTIAL.releases if r.proof in ("frame_second", "tensor"))
EXACT_RELEASES = (*(name for name in MADE if name not in ASSEMBLED_RELEASES), SOME_WORDS)
ALL_RELEASES = EXACT_RELEASES + ASSEMBLED_RELEASES


def counts_of(documents: Sequence[Document], n_words: int) -> sp.csr_array:
    """Documents given as {word: count} as a sparse matrix."""
    rows = [row for row, document in enumerate(documents) for _ in document]
    words = [word for document in documents for word in document]
    values = [count for document in documents for count in document.values()]
    return sp.csr_array((np.array(values, np.int64), (rows, words)), shape=(len(documents), n_words))


@cache
def uneven_counts(n_documents: int, n_words: int, n_topics: int) -> sp.csr_array:
    """Synthetic documents, two of them empty and one with the largest count there is."""
    made = make_lda_corpus(n_documents, n_words, n_topics, alpha0=0.1, mean_length=30, random_state=0)[0].tolil()
    made[5], made[6] = 0, 0
    made[7, 3] = LARGEST_COUNT
    return made.tocsr()


def corpus_of_units(
    units: Sequence[Unit], n_words: int, *, n_units: int | None = None, block_documents: int = 16_384
) -> LocalCorpus:
    """Units as `fit` sees them; `n_units` pretends to a larger corpus, for the finer lattice that it gets."""
    documents = [document for unit in units for document in unit]
    labels = [label for label, unit in enumerate(units) for _ in unit]
    groups = None if all(len(unit) == 1 for unit in units) else labels
    corpus = LocalCorpus.of(MatrixBlocks(counts_of(documents, n_words), block_documents), groups)
    if n_units is not None:
        corpus.n_units = n_units
    return corpus


@dataclass(frozen=True)
class Entering:
    """What enters `release`: the query as declared and the exact aggregate."""

    query: Query
    aggregate: np.ndarray
    share: float


class RecordingRun(PrivateRun):
    """Records what enters each release and answers with values fixed beforehand, zero by default."""

    def __init__(
        self,
        budget: PrivacyBudget,
        answers: Mapping[str, np.ndarray] | None = None,
        neighbours: Neighbours = REPLACE,
    ) -> None:
        self.budget, self.sampler, self.neighbours = budget, "fast", neighbours
        self.mu_total = _mu_total(budget)  # no noise stream: nothing is drawn
        self._process = os.getpid()
        self.answers = dict(answers or {})
        self.entering: dict[str, Entering] = {}

    def release(self, query: Query, aggregate: Any, share: float, *, consume: bool = False) -> Released:
        integers = mechanisms._checked(query, aggregate, consume)
        event = self._event(query, share, integers)
        assert query.name not in self.entering, "two releases of one name"
        self.entering[query.name] = Entering(query, integers.copy(), share)
        value = np.array(self.answers.get(query.name, np.zeros(integers.shape)), np.float64)
        assert value.shape == integers.shape
        return Released(value, query, event, mechanisms._RELEASE_TOKEN)


@cache
def _mu_total(budget: PrivacyBudget) -> float:
    return PrivateRun(budget, noise_seed=0).mu_total


@dataclass(frozen=True)
class PublicInputs:
    """Everything that is released before a given release, or public from the start."""

    n_words: int
    words: np.ndarray  # of the spectral stage
    frame: np.ndarray  # len(words) × rank, or with one more row, for all other words
    topics: np.ndarray  # topics × n_words
    second_bin: int = 33  # bins of the canned norm histograms: they set the clips
    frame_second_bin: int = 33
    frame_third_bin: int = 33
    alpha0: float = 1.0
    epsilon: float = 1.0
    split: BudgetSplit = field(default_factory=BudgetSplit)
    weights: np.ndarray | None = None  # of the words in the refinement; all one
    neighbours: Neighbours = REPLACE
    most_units: int | None = None

    @property
    def frame_of_all_words(self) -> np.ndarray:
        """The frame with a row of ones for each word that has none in it."""
        rows = np.ones((self.n_words, self.frame.shape[1]))
        rows[self.words] = self.frame[: len(self.words)]
        return rows


def spike(position: int) -> np.ndarray:
    """A norm histogram with everything in one bin: the clip becomes that bin's upper edge."""
    histogram = np.zeros(BINS + 2)
    histogram[position] = 1000.0
    return histogram


def context_of(
    fit: Fit, run: PrivateRun, corpus: LocalCorpus, *, n_topics: int = 3, alpha0: float = 1.0, refine_steps: int = 0,
    split: Mapping[str, float] | None = None, more: tuple[Release, ...] = (), most_units: int | None = None,
) -> FitContext:  # fmt: skip
    """What the functions of a fit are given."""
    split = split or (fit.fractions if fit.adds_up else fit.split(refine_steps))
    releases = (*fit.releases, *more)
    return FitContext(run, corpus, releases, split, n_topics, alpha0, refine_steps, most_units=most_units)


def entering_releases(corpus: LocalCorpus, public: PublicInputs) -> dict[str, Entering]:
    """Run the real code of every release on `corpus`, with the earlier released values given by `public`."""
    answers = {
        "second norms": spike(public.second_bin),
        "frame second norms": spike(public.frame_second_bin),
        "frame third norms": spike(public.frame_third_bin),
        "second moment": np.diag(1.0 + np.arange(len(public.words))),
        "second clip factors": np.ones(1),
        "centred second moment": np.diag(1.0 + np.arange(len(public.words))),
    }
    some = replace(REFINEMENT, name=SOME_WORDS, share=None)
    centre = np.full(len(public.words), 1.0 / public.n_words)
    entering: dict[str, Entering] = {}
    plain = int(np.clip(public.second_bin, 6, 32))
    for norms in ((public.second_bin, BINS), (plain, plain - 5)):  # pairs as they are, then as deviations
        known = {"second norms": spike(norms[0]), "centred second norms": 1e6 * spike(norms[1])}
        run = RecordingRun(PrivacyBudget(public.epsilon, 1e-6), answers | known, public.neighbours)
        context = context_of(
            SEQUENTIAL,
            run,
            corpus,
            n_topics=2,
            alpha0=public.alpha0,
            refine_steps=2,
            split=public.split,
            more=(some,),
            most_units=public.most_units,
        )
        share = context.share(REFINEMENT)
        with numba_threads(1):  # the corpora are tiny
            release_unigram(context)
            release_either_second_moment(context, public.words, centre)
            release_inside_frame(context, public.words, public.frame)
            release_statistic(context, public.topics, REFINEMENT, share, None, public.weights)
            weights = np.ones(public.n_words) if public.weights is None else public.weights
            inside = public.topics[:, public.words], weights[public.words]
            release_statistic(context, inside[0], some, share, public.words, inside[1])
            release_cross_moment(context, public.frame_of_all_words, float(EDGES[public.frame_second_bin]), share)
        entering = run.entering | entering
    assert set(entering) == set(ALL_RELEASES)
    return entering


def ratio(first: Entering, second: Entering) -> float:
    """Distance of two aggregates over the declared sensitivity. Frobenius is isometric for symmetric arrays."""
    assert first.query == second.query, "the query itself depends on the corpus"
    distance = np.linalg.norm((first.aggregate - second.aggregate).astype(np.float64))
    return float(distance * first.query.step / first.query.sensitivity)


def exceeds(first: Entering, second: Entering, declared: float = 1.0) -> bool:
    """Whether the distance is above `declared` times the sensitivity: in rational arithmetic where it is close."""
    close = ratio(first, second) / declared
    if abs(close - 1.0) > 1e-7:
        return close > 1.0
    difference = (first.aggregate - second.aggregate).ravel()
    squares = sum(int(entry) ** 2 for entry in difference)
    bound = Fraction(first.query.sensitivity) * Fraction(declared)
    return squares * Fraction(first.query.step) ** 2 > bound**2


def check_sensitivity(family: Sequence[dict[str, Entering]], name: str, declared: float = 1.0) -> float:
    """Assert that no two of a family of neighbours are further apart than declared; return the largest ratio."""
    largest = 0.0
    for first, second in itertools.combinations(family, 2):
        assert not exceeds(first[name], second[name], declared), f"{name}: neighbours beyond the sensitivity"
        largest = max(largest, ratio(first[name], second[name]))
    return largest


@contextmanager
def numba_threads(count: int) -> Iterator[None]:
    before = numba.get_num_threads()
    numba.set_num_threads(min(count, numba.config.NUMBA_NUM_THREADS))
    try:
        yield
    finally:
        numba.set_num_threads(before)


@contextmanager
def captured_releases() -> Iterator[list[tuple[Entering, Released]]]:
    """Every release of every run inside, with its un-noised aggregate beside the released value."""
    seen: list[tuple[Entering, Released]] = []
    original = PrivateRun.release

    def release(self: PrivateRun, query: Query, aggregate: Any, share: float, *, consume: bool = False) -> Released:
        before = np.array(aggregate)
        released = original(self, query, aggregate, share, consume=consume)
        seen.append((Entering(query, before, share), released))
        return released

    PrivateRun.release = release  # type: ignore[method-assign]
    try:
        yield seen
    finally:
        PrivateRun.release = original  # type: ignore[method-assign]


@contextmanager
def replaced_aggregates(replace: Callable[[Query, np.ndarray], np.ndarray]) -> Iterator[list[Query]]:
    """Every aggregate is replaced before the noise: what comes out cannot depend on the corpus any more."""
    queries: list[Query] = []
    original = PrivateRun.release

    def release(self: PrivateRun, query: Query, aggregate: Any, share: float, *, consume: bool = False) -> Released:
        queries.append(query)
        return original(self, query, np.array(replace(query, np.asarray(aggregate))), share)

    PrivateRun.release = release  # type: ignore[method-assign]
    try:
        yield queries
    finally:
        PrivateRun.release = original  # type: ignore[method-assign]
