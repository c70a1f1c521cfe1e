"""Every engine gives the same integers, and so the same model, bit for bit: whatever the cut, the order, the threads.

One suite for all engines. A new one adds a line to `ENGINES`.
"""

from __future__ import annotations

from contextlib import closing
from functools import cache

import numpy as np
import pytest
from engine_support import N_WORDS, counts, every_unit_sum, fitted, frame_of, kinds_of_sums, shuffled, users

from private_support import captured_releases, numba_threads
from private_topics.corpus.counts.blocks import MatrixBlocks
from private_topics.engines.local import LocalCorpus
from private_topics.engines.protocol import ENGINES as KNOWN
from private_topics.engines.protocol import open_corpus
from private_topics.errors import InputError

SPARK = (pytest.mark.spark, pytest.mark.xdist_group("spark"))  # one worker has the cluster


def blocks(documents):
    """The documents in another order, `documents` in a block."""

    def corpus(request, grouped):
        order = shuffled()
        return MatrixBlocks(counts()[order], documents), users()[order] if grouped else None

    return corpus


def frame(partitions):
    """The documents in another order as a DataFrame; the units are a column of it."""

    def corpus(request, grouped):
        from private_topics.engines.spark.corpus import SparkCounts

        rows = frame_of(request.getfixturevalue("spark"), partitions)
        return SparkCounts.of_counts(rows, N_WORDS, unit="user" if grouped else None), None

    return corpus


ENGINES = {  # engine, threads, where the documents come from
    "local, 1 thread": ("local", 1, blocks(10_000)),
    "local, 2 threads, blocks of 70": ("local", 2, blocks(70)),
    "spark, blocks of the driver": ("spark", 1, blocks(50)),
    "spark, 3 partitions": ("spark", 1, frame(3)),
    "spark, 17 partitions": ("spark", 1, frame(17)),
    "gpu": ("gpu", 1, blocks(100)),
}
ONLY_FITTED = {"spark, blocks of the driver", "spark, 3 partitions"}  # a fit asks for every sum too; jobs take time


def each_engine(without=frozenset()):
    marked = {name: SPARK if engine == "spark" else () for name, (engine, _, _) in ENGINES.items()}
    return pytest.mark.parametrize(
        "name", [pytest.param(name, marks=marked[name]) for name in marked if name not in without]
    )


UNITS = pytest.mark.parametrize("grouped", [False, True], ids=["documents", "users"])


def opened(request, name, grouped):
    """The engine's name, its threads and its input; skipped where the machine lacks what it needs."""
    engine, threads, corpus = ENGINES[name]
    if engine == "spark":
        request.getfixturevalue("spark")
    if engine == "gpu":
        from private_topics.engines.gpu.device import cupy

        try:
            cupy()
        except InputError as error:
            pytest.skip(str(error))
    return engine, threads, *corpus(request, grouped)


@cache
def reference(grouped):
    """Every sum, and a whole fit with all its releases, in the order of the documents and in one block."""
    corpus = LocalCorpus.of(MatrixBlocks(counts()), users() if grouped else None)
    sums = {kind: corpus.total(unit_sum) for kind, unit_sum in every_unit_sum().items()}
    return corpus.n_units, sums, *fit(counts(), users() if grouped else None)


def fit(X, groups, **settings):
    with captured_releases() as seen:
        model = fitted(X, groups, **settings)
    return [(released.name, entering.aggregate, released.value) for entering, released in seen], model


def test_every_engine_and_every_sum_is_here():
    assert {engine for engine, _, _ in ENGINES.values()} == set(KNOWN)
    assert {type(one).__name__ for one in every_unit_sum().values()} == kinds_of_sums()


@UNITS
@each_engine(without=ONLY_FITTED)
def test_sums_are_the_same_integers(name, grouped, request):
    engine, threads, X, groups = opened(request, name, grouped)
    n_units, sums, _, _ = reference(grouped)
    with numba_threads(threads), closing(open_corpus(engine, X, groups)) as corpus:
        assert (corpus.n_units, corpus.n_words, corpus.grouped) == (n_units, N_WORDS, grouped)
        for kind, unit_sum in every_unit_sum().items():
            for number, (total, expected) in enumerate(zip(corpus.total(unit_sum), sums[kind], strict=True)):
                assert total.dtype == np.int64
                assert total.flags.writeable
                assert np.array_equal(total, expected), f"{kind}, array {number}"


@UNITS
@each_engine()
def test_a_fit_gives_the_same_releases_and_topics(name, grouped, request):
    engine, threads, X, groups = opened(request, name, grouped)
    releases, model = fit(X, groups, engine=engine, n_jobs=threads)
    _, _, expected, expected_model = reference(grouped)
    assert [name for name, _, _ in releases] == [name for name, _, _ in expected]
    assert len(releases) == 11, "the fit did not take the whole path"
    for (release, aggregate, value), (_, its_aggregate, its_value) in zip(releases, expected, strict=True):
        assert np.array_equal(aggregate, its_aggregate), release
        assert np.array_equal(value, its_value), release
    assert np.array_equal(model.components_, expected_model.components_)
    assert np.array_equal(model.doc_topic_prior_, expected_model.doc_topic_prior_)
    assert model.privacy_ == expected_model.privacy_


def test_the_comparison_is_not_blind():
    """One document less changes every sum."""
    other = counts().tolil()
    other[10] = 0
    corpus = LocalCorpus.of(MatrixBlocks(other.tocsr()))
    for kind, unit_sum in every_unit_sum().items():
        pairs = zip(corpus.total(unit_sum), reference(False)[1][kind], strict=True)
        assert not all(np.array_equal(total, expected) for total, expected in pairs), kind
