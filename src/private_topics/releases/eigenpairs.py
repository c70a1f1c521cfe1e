"""Eigenpairs, or the topics they make, of a whitened tensor that lies in a certified ball around a released one.

The certificate (`spectral.certificate`) comes from released values alone; the exact tensor is drawn into its ball, in
which the eigenpairs are Lipschitz. Proofs: docs/proofs/configuration_3.md, docs/proofs/configuration_4.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from private_topics.privacy.mechanisms import Asked, Released
from private_topics.releases.release import FitContext, Release
from private_topics.spectral.certificate import (
    UP,
    Certificate,
    tensor_rounding,
    unweighted,
    weighted,
)
from private_topics.spectral.frame import Frame
from private_topics.sums.quantised import ASSEMBLY_ERROR, rounded
from private_topics.sums.unit_sums import ClippedFrameMoments, Totals
from private_topics.threads import one_order

EIGENPAIRS = Release(
    "eigenpairs", "eigenpairs", "e7", "array", "configuration_3", None, "tensor", ClippedFrameMoments
)
TOPICS = Release("topics", "topics", "e9", "array", "configuration_4", None, "tensor", ClippedFrameMoments)
MARGIN = 3.0  # the ball exceeds the length of its centre's noise by this many standard deviations


@dataclass(frozen=True)
class Whitened:
    """`Σ s·phi3(W, W, W)`: how it is added up, its scale, and its noisy value, the centre of a ball around it."""

    clipped: ClippedFrameMoments
    scale: float
    centre: Released

    @property
    def noise(self) -> float:
        """Standard deviation of the noise on the centre, in every direction."""
        return self.centre.sigma / self.scale

    @property
    def radius(self) -> float:
        """Radius of a ball around the centre that contains the exact tensor most of the time."""
        rank = len(self.centre.value)
        return (math.sqrt(rank * (rank + 1) * (rank + 2) / 6) + MARGIN) * self.noise

    @property
    def sensitivity(self) -> float:
        """Sensitivity of the exact tensor, scaled."""
        return 2.0 * self.clipped.third_clip / self.scale * UP

    def error(self, certificate: Certificate) -> float:
        """Rounding error of the tensor that is decomposed. docs/proofs/configuration_3.md"""
        summed = self.clipped.n_units * self.clipped.third_clip
        scaled = (
            ASSEMBLY_ERROR * summed + 2.0**-50 * (summed + float(np.linalg.norm(self.centre.value)))
        ) / self.scale
        return (scaled + tensor_rounding(certificate.centre.tensor, certificate.radius)) * UP

    def released(
        self, context: FitContext, asked: Asked, certificate: Certificate, made: Callable[[np.ndarray], np.ndarray]
    ) -> Released:
        """What `made` makes of the columns `u_i` of the exact tensor, drawn into the certified ball, with noise."""

        def derived(totals: Totals) -> Totals:
            difference = (self.clipped.third(totals) - self.centre.value) / self.scale
            with one_order():
                exact = made(certificate.solutions(certificate.inside(difference)))
            return (rounded(exact, asked.step),)

        (released,) = context.release([asked], self.clipped, derived)
        return released


def released_eigenpairs(
    context: FitContext, whitened: Whitened, certificate: Certificate, _frame: Frame
) -> np.ndarray:
    """Columns `u_i`: those released and those of the centre, averaged."""
    centre = certificate.centre
    asked = context.ask_certified(
        EIGENPAIRS,
        certificate.lipschitz * whitened.sensitivity,
        margin=UP,
        error=certificate.lipschitz * whitened.error(certificate) + certificate.error,
        largest=2.0 * float(np.linalg.norm(centre.weights) * np.linalg.norm(centre.solutions)),
        entries=centre.solutions.size,
    )
    released = whitened.released(context, asked, certificate, lambda solutions: weighted(centre, solutions))
    with one_order():
        start = weighted(centre, centre.solutions)
        return unweighted(centre, mean_of(start, whitened.noise**2, released.value, released.sigma**2))


def released_topics(context: FitContext, whitened: Whitened, certificate: Certificate, frame: Frame) -> np.ndarray:
    """Columns `u_i` of the topics `λ_i U√Λ v_i`, released on every word."""
    back = frame.whitening.basis * np.sqrt(frame.whitening.values)
    with one_order():
        stretch = float(np.linalg.norm(back, 2)) * UP * certificate.inversion
    start = inverted(certificate.centre.solutions)
    largest = 4.0 * float(np.linalg.norm(back) * np.linalg.norm(start))
    error = stretch * (certificate.lipschitz * whitened.error(certificate) + certificate.error)
    asked = context.ask_certified(
        TOPICS,
        stretch * certificate.lipschitz * whitened.sensitivity,
        margin=UP,
        error=error + (len(start) + 16) * 2.0**-52 * largest,
        largest=largest,
        entries=len(back) * start.shape[1],
    )
    released = whitened.released(context, asked, certificate, lambda solutions: back @ inverted(solutions))
    with one_order():
        found = np.linalg.lstsq(back, released.value, rcond=None)[0]
        noise = whitened.noise**2 * tensor_noise(back, start)
        return inverted(mean_of(start, noise, found, released.sigma**2 * start.size))


def mean_of(first: np.ndarray, first_variance: float, second: np.ndarray, second_variance: float) -> np.ndarray:
    """Two estimates, each weighted by the other's noise."""
    result: np.ndarray = (first * second_variance + second * first_variance) / (first_variance + second_variance)
    return result


def inverted(columns: np.ndarray) -> np.ndarray:
    """`u / ||u||²` of each column: `v/λ` to `λ v`, and back."""
    result: np.ndarray = columns / np.maximum((columns**2).sum(axis=0), np.finfo(np.float64).tiny)
    return result


def tensor_noise(back: np.ndarray, columns: np.ndarray) -> float:
    """Squared noise of the topics made from a tensor with noise one: `E(v, v, v)` along each `v`, a third across."""
    along = ((back @ (columns / np.linalg.norm(columns, axis=0))) ** 2).sum()
    return float((back**2).sum() * columns.shape[1] + 2.0 * along) / 3.0
