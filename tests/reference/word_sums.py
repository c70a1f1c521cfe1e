"""Sums over words: the unigram, the second moment, the cross moment, and sums of clip factors.

docs/proofs/unigram.md, second_moment.md, cross_moment.md, clip_sums.md. In whole steps, truncated by documents.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from reference.interval import Interval, exact, root, square, total
from reference.lattice import SAFETY, truncated
from reference.moments import SHORTEST, Document, Unit, documents, length, phi2
from reference.norms import NOTHING, ROUNDING, Frame, count_norm, factor, pair_norm


def unigram(units: Sequence[Unit], n_words: int, step: Fraction) -> list[Interval]:
    """`Σ c/‖c‖`."""
    sums = [exact(0)] * n_words
    for document, share in documents(units):
        norm = count_norm(document)
        if norm.high > 0:
            for word, count in document.items():
                part = exact(share * SAFETY * count) / norm
                sums[word] += truncated(part.rounded_by_floats(), step)
    return sums


def second_moment(
    units: Sequence[Unit], words: Sequence[int], clip: Fraction, step: Fraction
) -> list[list[Interval]]:
    """`Σ s·phi2` on some words."""
    sums = [[exact(0)] * len(words) for _ in words]
    for document, share in documents(units):
        kept = factor(pair_norm(document, words), clip)
        for i, row in enumerate(phi2(document, words)):
            for j, entry in enumerate(row):
                sums[i][j] += truncated((kept * (share * entry)).rounded_by_floats(), step)
    return sums


def clip_factors(units: Sequence[Unit], norm_of, clip: Fraction, step: Fraction) -> Interval:
    """`Σ s`. A factor of one is exactly one."""
    found = []
    for document, share in documents(units):
        kept = factor(norm_of(document), clip) * share
        found.append(truncated(kept if kept.low == kept.high else kept.rounded_by_floats(), step))
    return total(found)


def cross_rows(document: Document, frame: Frame) -> list[list[Interval]]:
    """`phi2 F` of one document on all words, from phi2 itself, with what float64 may lose where terms cancel."""
    words, tokens = range(len(frame)), length(document)
    columns = range(len(frame[0]))
    pairs = phi2(document, words)
    lost = [sum(count * abs(frame[word][a]) for word, count in document.items()) for a in columns]
    return [
        [
            exact(sum(pairs[word][other] * frame[other][a] for other in words)).moved_by(
                (len(document) + 2) * ROUNDING * document.get(word, 0) * lost[a] / max(1, tokens * (tokens - 1))
            )
            for a in columns
        ]
        for word in words
    ]


def cross_norm(document: Document, frame: Frame) -> Interval:
    if length(document) < SHORTEST:
        return NOTHING
    rows = cross_rows(document, frame)
    return root(total(square(entry) for row in rows for entry in row))


def cross_moment(units: Sequence[Unit], frame: Frame, clip: Fraction, step: Fraction) -> list[list[Interval]]:
    """`Σ s·phi2 F`, words × columns."""
    sums = [[exact(0)] * len(frame[0]) for _ in frame]
    for document, share in documents(units):
        kept = factor(cross_norm(document, frame), clip)
        if kept.high > 0:
            for word, row in enumerate(cross_rows(document, frame)):
                for a, entry in enumerate(row):
                    if document.get(word, 0):
                        sums[word][a] += truncated((kept * share * entry).rounded_by_floats(), step)
    return sums
