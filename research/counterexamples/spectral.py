"""Whitening and the whitened tensor: what one document does to them."""

from __future__ import annotations

from itertools import permutations, product

import numpy as np

from counterexamples.corpora import (
    Corpus,
    Finding,
    lda_moments,
    multilinear,
    single_words,
)
from private_topics.paper import bounds
from private_topics.spectral.power_method import decompose
from private_topics.spectral.whitening import Whitening, top_eigenpairs, whitening_of

TIE = 100_000  # documents per word where three words are equally frequent


def truncated(matrix: np.ndarray, rank: int) -> np.ndarray:
    """The best approximation of this rank to a symmetric matrix without large negative eigenvalues."""
    values, vectors = top_eigenpairs(matrix, rank)
    return (vectors * values) @ vectors.T


def whitened(corpus: Corpus, alpha0: float, rank: int) -> tuple[Whitening, np.ndarray]:
    """The whitening of a corpus and its whitened tensor."""
    m2, m3 = lda_moments(corpus, alpha0)
    whitening = whitening_of(m2, rank)
    return whitening, multilinear(m3, whitening.frame)


def nearest_columns(frame: np.ndarray, other: np.ndarray) -> float:
    """Frobenius distance of two frames for the best order and signs of the columns."""
    k = frame.shape[1]
    return min(
        float(np.linalg.norm(frame - other[:, list(order)] * np.array(signs)))
        for order in permutations(range(k))
        for signs in product((1.0, -1.0), repeat=k)
    )


def nearest_axes(tensor: np.ndarray, other: np.ndarray) -> float:
    """Frobenius distance of two tensors for the best order and signs of the axes of the second."""
    k = len(tensor)
    return min(
        float(np.linalg.norm(tensor - multilinear(other, np.eye(k)[:, list(order)] * np.array(signs))))
        for order in permutations(range(k))
        for signs in product((1.0, -1.0), repeat=k)
    )


def nearest_rotation(frame: np.ndarray, other: np.ndarray) -> np.ndarray:
    """`other` turned by the orthogonal matrix that brings it closest to `frame`."""
    left, _, right = np.linalg.svd(other.T @ frame)
    return other @ left @ right


# -- a tie between singular values ----------------------------------------------------------------------------------


def tie(n: int = TIE) -> tuple[Corpus, Corpus]:
    """Three words equally frequent but for one document; another document changes its word."""
    corpus = single_words([n + 1, n, n])
    return corpus, corpus.replaced(1, 0)


def ties(alpha0: float = 1.0) -> list[Finding]:
    """What the document does to W and to T."""
    corpus, neighbour = tie()
    (first, tensor), (second, other) = whitened(corpus, alpha0, 3), whitened(neighbour, alpha0, 3)
    n = corpus.n_documents
    sizes = {"n_documents": n, "n_topics": 3, "alpha0": alpha0, "sigma_k": float(first.values[-1])}
    return [
        Finding(
            "whitening-tie",
            f"change of W, Frobenius, best order and signs of columns, N = {n:,} (lemma on W' - W)",
            bounds.published_whitening_sensitivity(**sizes),
            nearest_columns(first.frame, second.frame),
            None,
        ),
        Finding(
            "tensor-tie",
            f"change of T, Frobenius, best order and signs of its axes, N = {n:,} (theorem on T)",
            bounds.published_tensor_sensitivity(**sizes),
            nearest_axes(tensor, other),
            None,
        ),
    ]


def topics_of(corpus: Corpus, alpha0: float = 1.0, turn: np.ndarray | None = None) -> np.ndarray:
    """Topics in rows, whitened and un-whitened in one frame, which `turn` may rotate."""
    m2, m3 = lda_moments(corpus, alpha0)
    rotation = np.eye(len(m2)) if turn is None else turn
    whitening = whitening_of(m2, len(m2))
    pairs = decompose(multilinear(m3, whitening.frame @ rotation))
    found: np.ndarray = ((alpha0 + 2.0) / 2.0 * whitening.unwhiten(rotation @ pairs.vectors) * pairs.values).T
    return found[np.argmax(found, axis=1).argsort()]


# -- a gap as wide as the paper asks for ----------------------------------------------------------------------------


def gap(n: int = TIE, extra: int = 13) -> tuple[Corpus, Corpus]:
    """Word 0 more frequent than words 1 and 2, which exchange a document; one direction is kept (k = 1).

    `extra` documents make a gap between the first two singular values of more than twice the sensitivity of M2.
    """
    corpus = single_words([n + extra, n, n])
    return corpus, corpus.replaced(1, 2)


def width(corpus: Corpus, alpha0: float = 1.0) -> float:
    """The gap `σ_1 - σ_2` of a corpus."""
    values, _ = top_eigenpairs(lda_moments(corpus, alpha0)[0], 2)
    return float(values[0] - values[1])


def width_needed(corpus: Corpus, alpha0: float = 1.0) -> float:
    """Twice the L1 sensitivity of the second moment: what the lemma's proof needs of the gap."""
    return 2.0 * bounds.corrected_second_moment_l1(n_documents=corpus.n_documents, alpha0=alpha0)


def gap_condition() -> Finding:
    """One document decides whether the lemma applies at all."""
    corpus, _ = gap()
    n = corpus.n_documents
    neighbour = corpus.replaced(0, 1)
    return Finding(
        "gap-condition",
        f"N times the gap the lemma on W' - W needs; that of a neighbour of a corpus with {n * width(corpus):.3g}",
        n * width_needed(corpus),
        n * width(neighbour),
        None,
    )


def truncation(alpha0: float = 1.0) -> Finding:
    corpus, neighbour = gap()
    m2, other = lda_moments(corpus, alpha0)[0], lda_moments(neighbour, alpha0)[0]
    return Finding(
        "truncation",
        "change of M2 cut to rank 1, spectral, the gap being wide enough (lemma on W' - W)",
        float(np.linalg.norm(m2 - other, 2)),
        float(np.linalg.norm(truncated(m2, 1) - truncated(other, 1), 2)),
        None,
    )


def whitening_gap(alpha0: float = 1.0) -> Finding:
    corpus, neighbour = gap()
    (first, _), (second, _) = whitened(corpus, alpha0, 1), whitened(neighbour, alpha0, 1)
    values, _ = top_eigenpairs(lda_moments(corpus, alpha0)[0], 2)
    return Finding(
        "whitening-gap",
        "change of W with k = 1, better sign, the gap being wide enough (lemma on W' - W)",
        bounds.published_whitening_sensitivity(
            n_documents=corpus.n_documents,
            n_topics=1,
            alpha0=alpha0,
            sigma_k=float(values[0]),
            sigma_next=float(values[1]),
        ),
        nearest_columns(first.frame, second.frame),
        None,
    )


def cross_terms(alpha0: float = 1.0) -> Finding:
    """Two frames turned towards each other as far as they go, and one tensor: the change is of first order."""
    corpus = single_words([60_000, 30_000, 10_000])
    neighbour = corpus.replaced(2, 0)
    m2, m3 = lda_moments(corpus, alpha0)
    frame = whitening_of(m2, 3).frame
    other = nearest_rotation(frame, whitening_of(lda_moments(neighbour, alpha0)[0], 3).frame)
    return Finding(
        "cross-terms",
        "M3(W,W,W) - M3(W',W',W') for aligned frames, against the cube of W - W' (theorem on T)",
        float(np.linalg.norm(m3) * np.linalg.norm(frame - other) ** 3),
        float(np.linalg.norm(multilinear(m3, frame) - multilinear(m3, other))),
        float(np.linalg.norm(m3) * _telescoped(frame, other)),
    )


def _telescoped(frame: np.ndarray, other: np.ndarray) -> float:
    """`||W-W'|| (||W||² + ||W|| ||W'|| + ||W'||²)`: what a telescoping sum bounds the change by."""
    one, two = np.linalg.norm(frame), np.linalg.norm(other)
    return float(np.linalg.norm(frame - other) * (one**2 + one * two + two**2))


def findings() -> list[Finding]:
    return [*ties(), gap_condition(), truncation(), whitening_gap(), cross_terms()]
