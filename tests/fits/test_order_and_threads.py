"""With a fixed noise seed every released value is the same, bit for bit, whatever the order, blocks and threads.

The exact sums are integers; what is assembled from them in float64 is assembled in one order on one thread.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

from private_support import captured_releases, numba_threads, uneven_counts
from private_topics import PrivacyWarning, PrivateSpectralLDA
from private_topics.corpus.counts.blocks import MatrixBlocks, write_npz_block

N_DOCUMENTS, N_WORDS = 3_000, 90


def counts():
    return uneven_counts(N_DOCUMENTS, N_WORDS, 4)


@cache
def users() -> np.ndarray:
    return np.random.default_rng(1).zipf(1.5, N_DOCUMENTS) % 700


def fitted(
    X: Any, groups: Any = None, *, n_jobs: int | None = None
) -> tuple[dict[str, np.ndarray], PrivateSpectralLDA]:
    model = PrivateSpectralLDA(4, epsilon=30.0, delta=1e-5, alpha0=0.1, refine_steps=2, noise_seed=3, n_jobs=n_jobs)
    with captured_releases() as seen, warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyWarning)
        model.fit(X, groups=groups)
    released = {released.name: released.value for _, released in seen}
    assert len(released) == 12, "the fit did not take the whole path"
    return released, model


@cache
def reference(grouped: bool) -> tuple[dict[str, np.ndarray], PrivateSpectralLDA]:
    return fitted(counts(), users() if grouped else None)


def assert_identical(run: tuple[dict[str, np.ndarray], PrivateSpectralLDA], grouped: bool) -> None:
    released, model = run
    expected, reference_model = reference(grouped)
    assert list(released) == list(expected)
    for name, value in released.items():
        assert np.array_equal(value, expected[name]), name
    assert np.array_equal(model.components_, reference_model.components_)
    assert np.array_equal(model.doc_topic_prior_, reference_model.doc_topic_prior_)
    assert model.privacy_ == reference_model.privacy_
    assert model.evidence_ == reference_model.evidence_


@pytest.mark.parametrize("grouped", [False, True], ids=["documents", "users"])
@pytest.mark.parametrize("seed", [None, 0], ids=["reversed", "shuffled"])
def test_the_order_of_documents_does_not_matter(grouped, seed):
    order = np.arange(N_DOCUMENTS)[::-1] if seed is None else np.random.default_rng(seed).permutation(N_DOCUMENTS)
    assert_identical(fitted(counts()[order], users()[order] if grouped else None), grouped)


def as_blocks_of(rows: int) -> Callable[[Any], Any]:
    return lambda path: MatrixBlocks(counts(), block_documents=rows)


def as_list(path: Any) -> list[Any]:
    cuts = [0, 1, 513, 513, 1500, N_DOCUMENTS]
    return [counts()[start:stop] for start, stop in itertools.pairwise(cuts)]


def as_folder(path: Any) -> Any:
    for number, block in enumerate(as_list(path)):
        write_npz_block(path / f"{number}.npz", block)
    return path


def as_dense(path: Any) -> np.ndarray:
    return counts().toarray()


@pytest.mark.parametrize("grouped", [False, True], ids=["documents", "users"])
@pytest.mark.parametrize(
    "source",
    [as_blocks_of(77), as_blocks_of(1_024), as_list, as_folder, as_dense],
    ids=["77 documents a block", "1,024 documents a block", "list", "folder", "dense"],
)
def test_blocks_do_not_matter(source, grouped, tmp_path):
    assert_identical(fitted(source(tmp_path), users() if grouped else None), grouped)


@pytest.mark.parametrize("threads", [1, 2])
def test_threads_do_not_matter(threads):
    with numba_threads(threads):
        assert_identical(fitted(counts()), False)


@pytest.mark.parametrize("n_jobs", [1, 2, -1])
def test_n_jobs_does_not_matter(n_jobs):
    assert_identical(fitted(counts(), n_jobs=n_jobs), False)


def test_labels_of_users_do_not_matter():
    """Names of users, their order and their type leave no trace."""
    names = np.array([f"user {997 * label % 701}" for label in users()])
    assert_identical(fitted(counts(), names), True)


def test_another_corpus_is_noticed():
    """The comparison is not blind: one word more in one document changes the released unigram."""
    other = counts().tolil()
    other[10, 0] += 5
    released, _ = fitted(other.tocsr())
    assert not np.array_equal(released["unigram"], reference(False)[0]["unigram"])
