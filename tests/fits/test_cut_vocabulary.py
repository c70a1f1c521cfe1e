"""Whole fits of a vocabulary that is cut: "unigram again", and a refinement of the frequent words alone.

*Sensitivity*: extreme units in place of one, through the whole fit with every released value held fixed, in exact
arithmetic; with 0.9 of the sensitivity the same check fails. *Taint*: with the aggregates of another corpus in place
of its own, nothing depends on the corpus. *Budget*: the shares of all releases add up to the whole of it.
"""

from __future__ import annotations

import dataclasses
import itertools
import warnings
from functools import cache
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from private_support import captured_releases, counts_of, replaced_aggregates
from private_topics import PrivacyWarning, PrivateSpectralLDA, make_lda_corpus
from private_topics.audit.recording import Audited, record, replay
from private_topics.audit.sensitivity import distance, exceeds
from private_topics.estimators.private import settings_of
from private_topics.inference.carried import SMALLEST_REFINED

N_UNITS, N_WORDS, USED = 4_000, 7_000, 300
SETTINGS: dict[str, Any] = {"n_components": 3, "epsilon": 8.0, "alpha0": 0.1, "refine_steps": 2, "noise_seed": 1}
RELEASES = ["unigram", "second norms", "centred second norms", "second moment", "second clip factors",
            "frame second norms", "frame third norms", "frame second moment", "frame third moment",
            "unigram again", "refinement 1", "refinement 2", "evidence"]  # fmt: skip
AGAIN, REFINEMENT = RELEASES.index("unigram again"), RELEASES.index("refinement 1")


@cache
def corpus(seed: int = 0) -> sp.csr_array:
    """Most words of the vocabulary never occur."""
    X = make_lda_corpus(N_UNITS, USED, 3, alpha0=0.1, random_state=seed)[0]
    X.resize((N_UNITS, N_WORDS))
    return X


def outlandish() -> sp.csr_array:
    kinds = [{}, {0: 2**31 - 1}, dict.fromkeys(range(0, N_WORDS, 7), 10**6), {N_WORDS - 1: 1, 58: 1, 57: 1}, {3: 1}]
    return counts_of([kinds[n % 5] for n in range(N_UNITS)], N_WORDS)


def fitted(X: Any, groups: Any = None) -> PrivateSpectralLDA:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyWarning)
        return PrivateSpectralLDA(**SETTINGS).fit(X, groups=groups)


def test_the_fit_cuts_and_spends_all_it_has():
    with captured_releases() as seen:
        model = fitted(corpus())
    assert [released.name for _, released in seen] == RELEASES
    assert seen[REFINEMENT][0].aggregate.shape == (N_WORDS // 2, len(model.components_))
    assert N_WORDS // 2 >= SMALLEST_REFINED
    assert sum(entering.share for entering, _ in seen) == pytest.approx(1.0, abs=1e-12)
    assert 0.99 * SETTINGS["epsilon"] < model.privacy_.epsilon_spent <= SETTINGS["epsilon"]
    for entering, released in seen:
        assert (released.value != entering.aggregate * entering.query.step).all(), released.name


@cache
def family(grouped: bool) -> list[list[Any]]:
    """What enters each release of neighbours: the last unit is another one, all that was released is the same."""
    first, second = np.argsort(-np.asarray(corpus().sum(axis=0)).ravel(), kind="stable")[:2].tolist()
    documents = [
        {}, {first: 1000}, {second: 1000}, dict.fromkeys(range(N_WORDS), 1), {N_WORDS - 1: 5}, {first: 2**31 - 1},
        {second: 500, 6_000: 500}, {N_WORDS - 2: 1000},
    ]  # fmt: skip
    units = [[document] for document in documents]
    if grouped:
        units = [*units[:3], *units[-1:], documents[1:3] * 20, documents, [{}] * 9 + [{N_WORDS - 1: 1000}]]
    corpora = []
    for unit in units:
        X = sp.csr_array(sp.vstack([corpus()[:-1], counts_of(unit, N_WORDS)], format="csr"))
        corpora.append((X, np.minimum(np.arange(X.shape[0]), N_UNITS - 1) if grouped else None))
    audited = Audited(settings_of(PrivateSpectralLDA(**SETTINGS)))
    model, run = record(audited, *corpora[0])
    found = [[entering for entering, _ in run.seen]]
    for X, groups in corpora[1:]:
        neighbour, entering = replay(audited, run.seen, X, groups)
        assert neighbour.like(model)
        found.append(entering)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("grouped", [False, True], ids=["documents", "users"])
def test_the_declared_sensitivities_hold_and_are_needed(grouped):
    largest = np.zeros(len(RELEASES))
    for one, other in itertools.combinations(family(grouped), 2):
        for number, (left, right) in enumerate(zip(one, other, strict=True)):
            assert not exceeds(left, right), RELEASES[number]
            moved = distance(left.query, left.aggregate - right.aggregate)
            largest[number] = max(largest[number], moved / left.query.sensitivity)
    assert largest[AGAIN] > 0.999
    assert largest[REFINEMENT] > 0.999
    assert any(
        exceeds(
            *(dataclasses.replace(end, query=with_sensitivity(end.query, 0.9)) for end in (one[AGAIN], other[AGAIN]))
        )
        for one, other in itertools.combinations(family(grouped), 2)
    )


def with_sensitivity(query: Any, factor: float) -> Any:
    return dataclasses.replace(query, sensitivity=factor * query.sensitivity)


@pytest.mark.slow
@pytest.mark.parametrize("leak", [False, True], ids=["as it is", "with a planted leak"])
def test_nothing_but_released_values_is_left_behind(leak, monkeypatch):
    with captured_releases() as seen:
        fitted(corpus())
    reference = {entering.query.name: entering.aggregate for entering, _ in seen}
    if leak:
        plant_leak(monkeypatch)
    runs = []
    for X in (corpus(5), outlandish()):
        with replaced_aggregates(lambda query, aggregate: reference[query.name]) as queries:
            model = fitted(X)
        runs.append((queries, model.components_.tobytes(), model.doc_topic_prior_.tobytes(), model.privacy_))
    assert (runs[0] == runs[1]) is not leak


def plant_leak(monkeypatch: pytest.MonkeyPatch) -> None:
    """The words of the refinement chosen by what the corpus really holds."""
    from private_topics.fits import sequential

    chosen = sequential.refined_words

    def leaky(context: Any, unigram: np.ndarray, mass: float) -> Any:
        exact = sum(np.asarray(part.block.sum(axis=0), float).ravel() for part in context.corpus) + 1e-3
        return chosen(context, exact / exact.sum(), mass)

    monkeypatch.setattr(sequential, "refined_words", leaky)
