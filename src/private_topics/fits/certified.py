"""The paper's configurations 3 and 4 with a proof: noise on the eigenpairs, or on the topics, of a certified tensor.

    … second moment → whitening → norms → whitened tensor → certificate → eigenpairs (or topics)

Up to the whitened tensor this is configuration 2, at half of the tensor's budget. The released tensor is the centre
of a ball in which the eigenpairs are proved to be Lipschitz (`spectral.certificate`); the exact tensor is drawn into
that ball, and its eigenpairs, or the topics they make, are released with noise for that bound. The certificate sees
released values only, so it costs nothing and may fail: then the tensor is released a second time instead. Proofs:
docs/proofs/configuration_3.md, docs/proofs/configuration_4.md. Differs from the paper: no noise depends on a gap of
the corpus. What it is worth, and why it cannot beat configuration 2: docs/certified.md.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass

import numpy as np

from private_topics.errors import PrivacyWarning
from private_topics.fits.proved import SecondConfiguration, whitened_tensor, whitened_topics
from private_topics.privacy.lattice import quantise_nearest, step_for, widened
from private_topics.privacy.mechanisms import Query, Released
from private_topics.spectral.certificate import (
    UP,
    Certificate,
    centre_of,
    certify,
    tensor_rounding,
    unweighted,
    weighted,
)
from private_topics.spectral.frame import Frame
from private_topics.spectral.topics import simplex_rows, topic_weights
from private_topics.sums.quantised import ASSEMBLY_ERROR
from private_topics.threads import one_order

CENTRE_SHARE = 0.5
MARGIN = 3.0  # standard deviations by which the ball is wider than the noise of its centre is long
NOT_CERTIFIED = (
    "At this budget no certificate bounds how far one document moves the eigenpairs, so the noise is on the whitened "
    "tensor, as in configuration 2. More documents, fewer topics or a larger epsilon may help: see docs/certified.md."
)


@dataclass(frozen=True)
class WhitenedSum:
    """`Σ s·phi3(W, W, W)` without noise (`total`), and what is public about it: clip, scale and noisy value."""

    total: np.ndarray
    clip: float
    scale: float
    centre: Released
    n_units: int

    @property
    def noise(self) -> float:
        """Of the tensor at the centre, in every direction."""
        return self.centre.sigma / self.scale

    @property
    def radius(self) -> float:
        """Of a ball around the centre that the exact tensor lies in, most of the time."""
        rank = len(self.total)
        return (math.sqrt(rank * (rank + 1) * (rank + 2) / 6) + MARGIN) * self.noise

    @property
    def sensitivity(self) -> float:
        """Of the exact tensor, scaled."""
        return 2.0 * self.clip / self.scale * UP

    def error(self, certificate: Certificate) -> float:
        """Of the tensor that is decomposed, against exact arithmetic. docs/proofs/configuration_3.md"""
        summed = self.n_units * self.clip
        scaled = (
            ASSEMBLY_ERROR * summed + 2.0**-50 * (summed + float(np.linalg.norm(self.centre.value)))
        ) / self.scale
        return (scaled + tensor_rounding(certificate.centre.tensor, certificate.radius)) * UP

    def solutions(self, certificate: Certificate) -> np.ndarray:
        """Columns `u_i` of the exact tensor, drawn into the certified ball. Not private."""
        return certificate.solutions(certificate.inside((self.total - self.centre.value) / self.scale))


@dataclass(frozen=True)
class ThirdConfiguration(SecondConfiguration):
    """Noise on the eigenpairs (e7), on the tensor they are certified around, and on the second moment (e8)."""

    def topics(self, words: np.ndarray, first: np.ndarray, frame: Frame) -> tuple[np.ndarray, np.ndarray]:
        total, clip, factors_query, factors = self.whitened_sum(words, frame)
        centre = self.release_tensor("frame third moment", total, clip, CENTRE_SHARE)
        released_factors = self.run.release(factors_query, factors, self.small_share)
        scale = max(float(released_factors.value[0]), released_factors.sigma)
        whitened = WhitenedSum(total, clip, scale, centre, self.corpus.n_units)
        with one_order():
            certificate = self.certificate(whitened, first, frame)
        if certificate is None:
            warnings.warn(NOT_CERTIFIED, PrivacyWarning, stacklevel=5)
            again = self.release_tensor("frame third moment again", total, clip, 1.0 - CENTRE_SHARE)
            value = mean_of(centre.value, centre.sigma**2, again.value, again.sigma**2) / scale
            return whitened_topics(frame, value, first, self.alpha0, self.random_state)
        self.progress("eigenpairs")
        with one_order():
            return topics_of(self.released_solutions(whitened, certificate, frame), frame, self.alpha0)

    def release_tensor(self, name: str, total: np.ndarray, clip: float, share: float) -> Released:
        """The whitened tensor with a part of its budget. docs/proofs/tensor.md"""
        return self.release_assembled(name, "symmetric_tensor", "tensor", total, clip, share * self.split.tensor)

    def certificate(self, whitened: WhitenedSum, first: np.ndarray, frame: Frame) -> Certificate | None:
        """From released values alone."""
        tensor = whitened_tensor(frame, whitened.centre.value / whitened.scale, first, self.alpha0)
        centre = centre_of(tensor, self.random_state)
        return None if centre is None else certify(centre, whitened.radius)

    def released_solutions(self, whitened: WhitenedSum, certificate: Certificate, frame: Frame) -> np.ndarray:
        """Columns `u_i`: those released and those of the centre, averaged. docs/proofs/configuration_3.md"""
        centre = certificate.centre
        exact = weighted(centre, whitened.solutions(certificate))
        error = certificate.lipschitz * whitened.error(certificate) + certificate.error
        released = self.release_certified(
            "eigenpairs", "configuration_3", exact, certificate.lipschitz * whitened.sensitivity, error,
            2.0 * float(np.linalg.norm(centre.weights) * np.linalg.norm(centre.solutions)),
        )  # fmt: skip
        start = weighted(centre, centre.solutions)
        return unweighted(centre, mean_of(start, whitened.noise**2, released.value, released.sigma**2))

    def release_certified(
        self, name: str, proof: str, exact: np.ndarray, sensitivity: float, error: float, largest: float
    ) -> Released:
        """Numbers with a certified sensitivity and a certified numerical error, none above `largest`."""
        step = step_for(sensitivity / self.run.mu_total, self.corpus.n_units, largest)
        wide = widened(sensitivity * UP, float_error=error, step=step, entries=exact.size)
        share = (1.0 - CENTRE_SHARE) * self.split.tensor
        return self.run.release(Query(name, "array", wide, step, proof), quantise_nearest(exact, step), share)


@dataclass(frozen=True)
class FourthConfiguration(ThirdConfiguration):
    """Noise on the topics (e9), on the tensor they are certified around, and on the second moment."""

    def released_solutions(self, whitened: WhitenedSum, certificate: Certificate, frame: Frame) -> np.ndarray:
        """Columns `u_i` of the topics `λ_i U√Λ v_i`, released on every word. docs/proofs/configuration_4.md"""
        back = frame.whitening.basis * np.sqrt(frame.whitening.values)
        stretch = float(np.linalg.norm(back, 2)) * UP * certificate.inversion
        exact = inverted(whitened.solutions(certificate))
        largest = 4.0 * float(np.linalg.norm(back) * np.linalg.norm(inverted(certificate.centre.solutions)))
        error = stretch * (certificate.lipschitz * whitened.error(certificate) + certificate.error)
        released = self.release_certified(
            "topics", "configuration_4", back @ exact, stretch * certificate.lipschitz * whitened.sensitivity,
            error + (len(exact) + 16) * 2.0**-52 * largest, largest,
        )  # fmt: skip
        found = np.linalg.lstsq(back, released.value, rcond=None)[0]
        start = inverted(certificate.centre.solutions)
        noise = whitened.noise**2 * tensor_noise(back, start)
        return inverted(mean_of(start, noise, found, released.sigma**2 * exact.size))


def mean_of(first: np.ndarray, first_variance: float, second: np.ndarray, second_variance: float) -> np.ndarray:
    """Two estimates, each weighted by what the other's noise is."""
    result: np.ndarray = (first * second_variance + second * first_variance) / (first_variance + second_variance)
    return result


def inverted(columns: np.ndarray) -> np.ndarray:
    """`u / ||u||²` of each column: `v/λ` to `λ v`, and back."""
    result: np.ndarray = columns / np.maximum((columns**2).sum(axis=0), np.finfo(np.float64).tiny)
    return result


def tensor_noise(back: np.ndarray, columns: np.ndarray) -> float:
    """Squared noise of the topics made of a tensor with noise one: `E(v, v, v)` along each `v`, a third across."""
    along = ((back @ (columns / np.linalg.norm(columns, axis=0))) ** 2).sum()
    return float((back**2).sum() * columns.shape[1] + 2.0 * along) / 3.0


def topics_of(solutions: np.ndarray, frame: Frame, alpha0: float) -> tuple[np.ndarray, np.ndarray]:
    """Topics and weights from columns `u = v/λ`, the largest `λ` first."""
    sizes = np.maximum(np.linalg.norm(solutions, axis=0), np.finfo(np.float64).tiny)
    order = np.argsort(sizes, kind="stable")
    vectors = (solutions / sizes)[:, order]
    return simplex_rows(frame.whitening.unwhiten(vectors).T), topic_weights(1.0 / sizes[order], alpha0)
