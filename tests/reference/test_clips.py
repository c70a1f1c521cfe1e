"""Where each release clips: the rule of docs/proofs/histogram.md, by the reference, from canned histograms of norms.

A histogram that spreads over many bins lets the clip move with the noise, of which there is more and less here. The
clip is read off the sum that the library adds up.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from private_support import RecordingRun, context_of, corpus_of_units, numba_threads
from private_topics.fits.fit import Fit
from private_topics.fits.proved import PROVED
from private_topics.fits.sequential import SEQUENTIAL
from private_topics.privacy.budget import PrivacyBudget
from private_topics.releases.inside_frame import release_inside_frame, release_third
from private_topics.releases.moments import (
    release_either_second_moment,
    release_second_moment,
    release_third_moment,
)
from reference import denoising
from reference.accountant import mu_of, sigma_of
from reference.norms import BINS

N_WORDS, N_TOPICS, ALPHA0, DELTA = 9, 3, 0.7, 1e-6
WORDS, RANK = np.arange(1, 8), 5
UNITS = [[{1: 3, 2: 2, 5: 1}], [{3: 4, 4: 4, 7: 1}], [{1: 1, 6: 9}], [{0: 2, 2: 5}]]
FRAME = np.cos(np.outer(np.arange(1, 8), np.arange(1, RANK + 1)))
EIGENVALUE = 2.0 * math.sqrt(RANK * (ALPHA0 + 1.0)) / (ALPHA0 + 2.0)
ROOT_TWO = math.sqrt(2.0)
UNITS_TOLD = [lead * 10**power for power in range(2, 8) for lead in (10, 15, 20, 30, 50, 70)]
"""The more units a histogram tells of, the less does noise count."""

every_size = pytest.mark.parametrize("told", UNITS_TOLD)


def spread(told: float, first: int, last: int) -> list[float]:
    """A histogram of so many units, as many in each of these bins."""
    return [told / (last + 1 - first) if first <= place <= last else 0.0 for place in range(BINS + 2)]


class Watched(RecordingRun):
    """Keeps the sums behind the releases as well."""

    def release_sums(self, source: Any, unit_sum: Any, asked: Any, aggregates: Any) -> Any:
        self.last = unit_sum
        return super().release_sums(source, unit_sum, asked, aggregates)


class UnderWay:
    """A fit that is told these histograms, whatever its documents."""

    def __init__(self, fit: Fit, histograms: dict[str, list[float]]) -> None:
        self.histograms = histograms
        answers = {name: np.array(histogram) for name, histogram in histograms.items()}
        self.run = Watched(PrivacyBudget(1.0, DELTA), answers)
        corpus = corpus_of_units(UNITS, N_WORDS)
        self.context = context_of(fit, self.run, corpus, n_topics=N_TOPICS, alpha0=ALPHA0)

    def sigma(self, name: str, sensitivity: float) -> float:
        """The noise on contributions of norm one."""
        share = next(self.context.share(release) for release in self.context.releases if release.name == name)
        return float(sigma_of(sensitivity, share, mu_of(1.0, DELTA)))

    def clip(self, name: str, noise: float, distortion: float) -> float:
        return denoising.best_clip(self.histograms[name], self.sigma(name, ROOT_TWO), noise, distortion)

    def median(self, name: str) -> float:
        return denoising.quantile(self.histograms[name], 0.5)


@every_size
def test_inside_a_frame(told):
    fit = UnderWay(SEQUENTIAL, {"frame second norms": spread(told, 6, 40), "frame third norms": spread(told, 20, 58)})
    with numba_threads(1):
        release_inside_frame(fit.context, WORDS, FRAME)
    second = fit.sigma("frame second moment", 2.0) * math.sqrt(2.0 * RANK)
    third = fit.sigma("frame third moment", 2.0) * math.sqrt(RANK / 3.0) / EIGENVALUE
    assert fit.run.last.second_clip == pytest.approx(fit.clip("frame second norms", second, 0.5), rel=1e-6)
    expected = fit.clip("frame third norms", third, 0.2 / min(1.0, EIGENVALUE))
    assert fit.run.last.third_clip == pytest.approx(expected, rel=1e-6)


@every_size
def test_a_third_moment_inside_a_frame_alone(told):
    fit = UnderWay(PROVED[2], {"frame third norms": spread(told, 20, 58)})
    with numba_threads(1):
        release_third(fit.context, WORDS, FRAME)
    noise = fit.sigma("frame third moment", 2.0) * math.sqrt(RANK / 3.0) / EIGENVALUE
    expected = fit.clip("frame third norms", noise, 0.2 / min(1.0, EIGENVALUE))
    assert fit.run.last.third_clip == pytest.approx(expected, rel=1e-6)


@every_size
def test_pairs_of_words(told):
    fit = UnderWay(PROVED[1], {"second norms": spread(told, 4, 40)})
    with numba_threads(1):
        release_second_moment(fit.context, WORDS)
    noise = fit.sigma("second moment", ROOT_TWO) * math.sqrt(2.0 * len(WORDS)) * N_TOPICS * (ALPHA0 + 1.0)
    expected = min(1.0, fit.clip("second norms", noise / fit.median("second norms"), 0.1))
    assert fit.run.last.clip == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("told", UNITS_TOLD[6:])  # with fewer no bin stands out
def test_pairs_as_deviations(told):
    """Their norms are far smaller here, so that deviations are released and not pairs as they are."""
    fit = UnderWay(SEQUENTIAL, {"second norms": spread(told, 31, 32), "centred second norms": spread(told, 2, 24)})
    with numba_threads(1):
        found = release_either_second_moment(fit.context, WORDS, np.full(len(WORDS), 1.0 / N_WORDS))
    size = math.sqrt(2.0 * len(WORDS)) * N_TOPICS
    plain = fit.sigma("second moment", ROOT_TWO) * size * (ALPHA0 + 1.0) / fit.median("second norms")
    assert found.clip == pytest.approx(min(1.0, fit.clip("second norms", plain, 0.1)), rel=1e-6)
    centred = fit.sigma("second moment", 2.0) * size / fit.median("centred second norms")
    assert "second moment" not in fit.run.entering
    assert fit.run.last.clip == pytest.approx(fit.clip("centred second norms", centred, 0.1), rel=1e-6)


@every_size
def test_triples_of_words(told):
    fit = UnderWay(PROVED[1], {"third norms": spread(told, 2, 50)})
    basis = np.linalg.qr(FRAME)[0]
    with numba_threads(1):
        release_third_moment(fit.context, WORDS, basis)
    size = math.sqrt(RANK / 3.0) * (RANK * (ALPHA0 + 1.0)) ** 1.5
    noise = fit.sigma("third moment", ROOT_TWO) * size / fit.median("third norms")
    assert fit.run.last.clip == pytest.approx(fit.clip("third norms", noise, 0.1), rel=1e-6)
