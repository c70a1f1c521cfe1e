"""How far topics are the corpus's own: agreement between the halves of documents, and what the topics foretell.

Where words are shuffled over the documents, the mean product of both halves' deviations is the product of their
means, whatever the topics are. The covariance left after subtracting it is then noise alone: that of the release,
which is known, and that of sampling, whose variance the released squares bound. A topic is seen where its covariance
exceeds both at a stated level for all topics together. Proof: docs/proofs/evidence.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtri

from private_topics.privacy.budget import sigma_for
from private_topics.releases.release import FitContext, Release
from private_topics.sums.evidence import BESIDE, HALF, LARGEST_GAIN, LARGEST_LOSSES, LOSSES, NORM, Agreement

EVIDENCE = Release("evidence", "evidence", None, "vector", "evidence", 2.0, "evidence", Agreement, radius=1.0)
EVIDENCE_SHARE = 0.07
"""The part of the budget of a fit that its test takes; what it shows: benchmarks/results/own_topics.md."""
LEVEL = 0.01
"""Corpora without topics in which any topic is seen, at most: in 100."""
COVERAGE = 0.9
WHOLE = "together", "gain", "gain_low", "gain_high"
"""The fields of `Evidence` about all topics together."""
DISCOVERIES = 0.2
"""The part of the topics that a fit keeps that may be noise, in a corpus that has topics."""


@dataclass(frozen=True)
class NoisyEvidence:
    """Hold averages over the units; gains and losses in nats per word.

    `tested` is the part of the units with words in both parts, `noise` the standard deviation of a product's noise.
    """

    products: np.ndarray
    squares: np.ndarray
    first: np.ndarray
    second: np.ndarray
    losses: np.ndarray
    gain: float
    agreement: float
    tested: float
    noise: float
    n_units: int

    @property
    def beside(self) -> float:
        """The standard deviation of the noise of squares, means, and the part that is tested."""
        return self.noise / BESIDE

    @property
    def gain_noise(self) -> float:
        return self.beside * LARGEST_GAIN

    @property
    def losses_noise(self) -> float:
        return self.noise / LOSSES * LARGEST_LOSSES


def noise_of(mu: float, n_units: int, share: float = EVIDENCE_SHARE) -> float:
    """Return the standard deviation of a product's noise in the test of a fit, by public numbers."""
    assert EVIDENCE.sensitivity is not None
    return sigma_for(share, EVIDENCE.sensitivity, mu) * NORM / n_units


def release_evidence(
    context: FitContext, topics: np.ndarray, prior: np.ndarray, share: float, held: int = HALF
) -> NoisyEvidence:
    """Release the evidence for topics that are public or released: averages over the units, with their noise."""
    asked = context.ask(EVIDENCE, share)
    mean = prior @ topics / prior.sum()
    (released,) = context.release([asked], Agreement(np.ascontiguousarray(topics.T), prior, mean, held, asked.step))
    k, unit = len(prior), NORM / context.n_units
    products, squares, first, second, losses, (gain, agreement, tested) = np.split(
        released.value * unit, np.cumsum([k * k, k * k, k, k, k])
    )
    return NoisyEvidence(
        products=products.reshape(k, k),
        squares=squares.reshape(k, k) / BESIDE,
        first=first / BESIDE,
        second=second / BESIDE,
        losses=losses / LOSSES * LARGEST_LOSSES,
        gain=float(gain) / BESIDE * LARGEST_GAIN,
        agreement=float(agreement),
        tested=float(tested) / BESIDE,
        noise=released.sigma * unit,
        n_units=context.n_units,
    )


@dataclass(frozen=True, eq=False)
class Evidence:
    """Of each topic: in how many standard deviations it is seen, whether it is, and nats per word lost without it.

    `together` is in how many standard deviations all topics are seen together, and `gain` what they foretell, in nats
    per word. Low and high ends are of intervals for the noise.
    """

    deviations: np.ndarray
    seen: np.ndarray
    losses: np.ndarray
    losses_low: np.ndarray
    losses_high: np.ndarray
    together: float
    gain: float
    gain_low: float
    gain_high: float

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Evidence) and self.to_dict() == other.to_dict()

    __hash__ = None  # type: ignore[assignment]

    @property
    def seen_together(self) -> bool:
        """Tell whether the texts show the topics as a whole, at the level of one topic."""
        return self.together > limit_of(1)

    @property
    def sentence(self) -> str:
        """Say what was found, in words for a person who has to decide."""
        count, sure = len(self.seen), int(self.seen.sum())
        if not sure and not self.seen_together:
            return (
                f"None of the {count} topics is seen in the texts beyond doubt: they may be public knowledge of "
                "words and noise."
            )
        if not sure:
            return (
                f"None of the {count} topics is seen in the texts beyond doubt by itself; together they are. More "
                "documents or a larger epsilon would tell which."
            )
        eased = 100.0 * -math.expm1(-max(self.gain, 0.0))
        return (
            f"{sure} of {count} topics are seen in the texts beyond doubt. Together the topics make words that were "
            f"held back {eased:.0f} % easier to foretell than word frequencies do."
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain lists and numbers."""
        return {
            name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in vars(self).items()
        }

    @classmethod
    def from_dict(cls, stored: dict[str, Any], n_topics: int) -> Evidence:
        """Read what `to_dict` wrote; raise ValueError where it is not the evidence for as many topics."""
        of_topics: dict[str, Any] = {
            name: np.asarray(stored[name]) for name in ("deviations", "seen", "losses", "losses_low", "losses_high")
        }
        whole: dict[str, Any] = {name: float(stored[name]) for name in WHOLE}
        sound = all(values.shape == (n_topics,) for values in of_topics.values()) and of_topics["seen"].dtype == bool
        numbers = [values for name, values in of_topics.items() if name != "seen"]
        if not sound or not all(values.dtype.kind in "fi" and np.isfinite(values).all() for values in numbers):
            raise ValueError("evidence for other topics")
        if not all(map(math.isfinite, whole.values())):
            raise ValueError("evidence that is no number")
        return cls(**of_topics, **whole)


def deviations(noisy: NoisyEvidence, group: Sequence[int]) -> float:
    """Return in how many standard deviations the covariance of both parts shows the topics of `group`, taken as one.

    Without topics in the corpus it has at most the spread of a normal variable around zero.
    """
    size, inside = len(group), np.ix_(group, group)
    first, second = noisy.first[list(group)].sum(keepdims=True), noisy.second[list(group)].sum(keepdims=True)
    squares = noisy.squares[inside].sum() + 2.0 * size * noisy.beside
    sampling = size**2 * max(float(squares), 0.0) / noisy.n_units
    own = float(noisy.products[inside].sum())
    return _covariance(noisy, own, first, second, (size * noisy.noise) ** 2 + sampling, size)


def all_deviations(noisy: NoisyEvidence) -> float:
    """Return the same for the sum over all topics, each by itself: what many weak topics show together."""
    spread = noisy.noise**2 + 1.0 / noisy.n_units
    return _covariance(noisy, noisy.agreement, noisy.first, noisy.second, spread, 1)


def _covariance(
    noisy: NoisyEvidence, products: float, first: np.ndarray, second: np.ndarray, spread: float, size: int
) -> float:
    """Return a sum of products less that of means among the tested units, over its standard deviation.

    `spread` is the variance of the products; each mean is the sum of `size` released ones.
    """
    tested = max(noisy.tested, noisy.beside)
    expected, noise = float(first @ second) / tested, size * noisy.beside**2 / tested**2
    of_means = float(first @ first + second @ second) * noise + len(first) * noise * size * noisy.beside**2
    return (products - expected) / math.sqrt(spread + of_means + (expected / tested * noisy.beside) ** 2)


def discovery_limit(found: Sequence[float], rate: float = DISCOVERIES) -> float:
    """Return the deviations above which at most a part `rate` of what is seen is expected to be noise.

    Benjamini and Hochberg (1995), with the number of topics that are noise estimated from those below zero (Storey,
    Taylor and Siegmund 2004).
    """
    falling = np.sort(np.asarray(found))[::-1]
    count = len(falling)
    noise = min(float(count), 2.0 * (1 + np.count_nonzero(falling < 0.0)))
    limits = np.maximum(ndtri(1.0 - np.minimum(rate * np.arange(1, count + 1) / noise, 0.5)), 0.0)
    passed = np.flatnonzero(falling > limits)
    return float(limits[passed[-1] if len(passed) else 0])


def judged(
    noisy: NoisyEvidence,
    groups: Sequence[Sequence[int]] | None = None,
    level: float = LEVEL,
    coverage: float = COVERAGE,
) -> Evidence:
    """Judge every topic, or group of topics, at `level` for all together (Bonferroni)."""
    groups = [[topic] for topic in range(len(noisy.first))] if groups is None else groups
    found = np.array([deviations(noisy, group) for group in groups])
    width = float(ndtri(0.5 + coverage / 2.0))
    losses = np.array([noisy.losses[list(group)].sum() for group in groups])
    spread = width * noisy.losses_noise * np.sqrt([len(group) for group in groups])
    return Evidence(
        deviations=found,
        seen=found > limit_of(len(groups), level),
        losses=losses,
        losses_low=losses - spread,
        losses_high=losses + spread,
        together=all_deviations(noisy),
        gain=noisy.gain,
        gain_low=noisy.gain - width * noisy.gain_noise,
        gain_high=noisy.gain + width * noisy.gain_noise,
    )


def limit_of(n_tests: int, level: float = LEVEL) -> float:
    """Return the deviations that noise alone exceeds in any of `n_tests` with a probability of at most `level`."""
    return float(ndtri(1.0 - level / n_tests))
