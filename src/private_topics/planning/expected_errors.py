"""Expected errors of the proved configurations, release by release, from public numbers and an assumed corpus.

The corpus: LDA with equal topics of about `WORDS_PER_TOPIC` equally likely words, all documents of the same length;
the share of the text that the frequent words of a vocabulary make up follows Zipf's law. An error is `||estimate -
topic|| / ||topic||`, averaged over topics, so that an estimate of zero has error one. Each function carries the noise
of one release through the linear algebra to first order. How accurate this is: research/results/forecast.md.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache

from private_topics.fits.choice import proved_fit
from private_topics.fits.fit import BudgetSplit
from private_topics.inference.carried import (
    SPECTRAL_WORDS,
    averaged_noise,
    carried_topics,
    refined_size,
    spectral_words,
)
from private_topics.paper.utility_bounds import Quantities
from private_topics.planning.constants import (
    CLIP_BIAS,
    FEWEST_DOCUMENTS,
    LARGEST_ERROR,
    OUTSIDE_KEPT,
    REFINED_BIAS,
    SEEN,
    SEEN_BY_EDGE,
    SEEN_BY_LENGTH,
    START_KEPT,
    UNEVEN,
    WORDS_PER_TOPIC,
)
from private_topics.privacy.curves import mu_of_budget
from private_topics.privacy.neighbours import REPLACE, Neighbours, gain
from private_topics.privacy.shares import NoiseShares, mu_of_sites
from private_topics.releases.evidence import EVIDENCE_SHARE
from private_topics.spectral.topics import equal_eigenvalue

SEQUENTIAL = "sequential"


@dataclass(frozen=True)
class PlannedFit:
    """The public numbers of a fit, and what the assumed corpus makes of them.

    `found` is the number of topics that it finds of the `n_components` asked for; None for all of them. `knowledge`:
    the name of the public word vectors that the fit uses, None for a fit without. `shares`: the sites that hold the
    documents and draw the noise, None where one place does.
    """

    n_documents: int
    n_words: int
    n_components: int
    epsilon: float
    delta: float
    alpha0: float = 1.0
    mean_length: float = 100.0
    refine_steps: int = 4
    found: int | None = field(default=None, repr=False)
    neighbours: Neighbours = REPLACE
    knowledge: str | None = None
    shares: NoiseShares | None = None

    @property
    def n_topics(self) -> int:
        return self.n_components if self.found is None else self.found

    @property
    def mu(self) -> float:
        """The mu at which replaced units have the noise of non-negative sums."""
        return _mu(self.epsilon, self.delta, self.shares) * gain(self.neighbours)

    @property
    def signed(self) -> float:
        """The sensitivity of a sum with signs, at that mu."""
        return 2.0 / gain(self.neighbours)

    @cached_property
    def words_per_topic(self) -> float:
        return min(WORDS_PER_TOPIC, float(self.n_words))

    @cached_property
    def mixing(self) -> float:
        """`E ||theta||²` of a document: 1 where it has one topic, `1/k` where it has all in equal parts."""
        return (1.0 + self.alpha0 / self.n_topics) / (1.0 + self.alpha0)

    @cached_property
    def norm_squared(self) -> float:
        """`||c||² / l²` of a document, which is also about the norm of its `phi2`."""
        return self.mixing / self.words_per_topic + 1.0 / self.mean_length

    @cached_property
    def singular_value(self) -> float:
        """`s_i ||mu_i||²`: every non-zero singular value of the second moment."""
        return 1.0 / (self.n_topics * (self.alpha0 + 1.0) * self.words_per_topic)

    @cached_property
    def eigenvalue(self) -> float:
        """`λ_i` of the whitened tensor."""
        return equal_eigenvalue(self.n_topics, self.alpha0)

    @property
    def whitened_word(self) -> float:
        """Norm of a row of the whitening matrix."""
        return math.sqrt(self.n_topics * (self.alpha0 + 1.0))

    @property
    def sampling(self) -> float:
        """Error of the method of moments without noise, to first order."""
        tokens = self.mean_length * self.n_documents
        return (self.alpha0 + 1.0) * math.sqrt(self.n_topics * self.words_per_topic / tokens)

    @property
    def quantities(self) -> Quantities:
        """The quantities in the theorems; eigenvalues are spaced evenly, which is the best case for their gap."""
        gap = self.eigenvalue / (4.0 * self.n_topics)
        value = self.singular_value
        return Quantities(max(FEWEST_DOCUMENTS, self.n_documents), self.n_words, self.n_topics, value, value, gap)


@lru_cache(maxsize=4096)
def _mu(epsilon: float, delta: float, shares: NoiseShares | None) -> float:
    return mu_of_budget(epsilon, delta) if shares is None else mu_of_sites(epsilon, delta, shares)


def usual_split(fit: PlannedFit, configuration: int | str) -> BudgetSplit:
    """Return the default split of a configuration, with the share of the test where there are topics to test."""
    chosen = proved_fit(configuration)
    before = {"evidence": EVIDENCE_SHARE} if chosen.tested and fit.n_components > 1 else {}
    return chosen.split(fit.refine_steps, fit.eigenvalue, None, **before)


def expected_topics(fit: PlannedFit, configuration: int | str, given: BudgetSplit | None = None) -> int:
    """How many of the topics asked for a configuration is expected to find, with the split `given` or its default.

    The most that stand out from the noise and that the refinement and the documents can estimate; without refinement,
    whose error, which grows with their number, is small enough. With it there is always one: the word frequencies.
    """
    split = given or usual_split(fit, configuration)
    supported = min(fit.n_components, seen_topics(fit, split.second, _spectral_stage(fit, configuration)))
    if configuration == SEQUENTIAL and fit.refine_steps:
        return min(supported, carried_topics(refined(fit, split.refine)[1]), sampled_topics(fit))

    def close_enough(found: int) -> bool:
        return expected_error(replace(fit, found=found), configuration, split) < LARGEST_ERROR

    return supported - bisect_left(range(supported, 0, -1), True, key=close_enough)


def expected_error(fit: PlannedFit, configuration: int | str, given: BudgetSplit | None = None) -> float:
    """The error of the topics that are found, by the sequential release or a configuration 1 to 4."""
    split = given or usual_split(fit, configuration)
    if configuration == SEQUENTIAL:
        return _sequential_error(fit, split)
    return _proved_error(fit, int(configuration), split)


def _sequential_error(fit: PlannedFit, split: BudgetSplit) -> float:
    """Refinement over the words it sees, and what it leaves of the error of the start.

    The words that it leaves out of a large vocabulary are so rare that they hardly count for the length of a topic.
    """
    words = _spectral_stage(fit, SEQUENTIAL)
    start = math.hypot(
        second_moment_error(fit, split.second, words),
        frame_error(fit, split.frame),
        whitened_tensor_error(fit, split.tensor),
    )
    outside = outside_error(fit, words)
    if not fit.refine_steps:
        return math.hypot(fit.sampling, start, outside, CLIP_BIAS)
    kept = math.hypot(START_KEPT * start, OUTSIDE_KEPT * outside)
    return math.hypot(fit.sampling, refinement_error(fit, split.refine), kept, REFINED_BIAS)


def _proved_error(fit: PlannedFit, configuration: int, split: BudgetSplit) -> float:
    """Configurations 1 to 4: one second moment, one third moment, no refinement.

    For 3 and 4 this is the best case: that what follows the tensor, at half of its budget, adds no noise.
    """
    words = _spectral_stage(fit, configuration)
    third = moment_tensor_error if configuration == 1 else whitened_tensor_error
    share = split.tensor if configuration <= 2 else split.tensor / 2.0
    return math.hypot(
        fit.sampling,
        second_moment_error(fit, split.second, words),
        third(fit, share),
        outside_error(fit, words),
        CLIP_BIAS,
    )


def second_moment_error(fit: PlannedFit, share: float, words: int) -> float:
    """Noise on one row of the second moment, over its singular value: how far a direction turns."""
    noise = math.sqrt(2.0) * fit.norm_squared / _strength(fit, share)
    return noise * math.sqrt(words / 2.0) / fit.singular_value


def moment_tensor_error(fit: PlannedFit, share: float) -> float:
    """The third moment over all words, noise first, then whitened: `σ_k^-3/2` times the noise."""
    noise = math.sqrt(2.0) * fit.norm_squared**1.5 / _strength(fit, share)
    return _eigenvector_error(fit, noise * fit.singular_value**-1.5)


def whitened_tensor_error(fit: PlannedFit, share: float) -> float:
    """The third moment inside the whitening, clipped by its bound for a typical document."""
    spread, length = math.sqrt(fit.mixing), fit.mean_length
    bound = fit.whitened_word**3 * (spread**3 + 3.0 * spread / length + 2.0 / length**2)
    return _eigenvector_error(fit, fit.signed * bound / _strength(fit, share))


def frame_error(fit: PlannedFit, share: float) -> float:
    """The second moment inside the frame, where it is about the identity."""
    bound = fit.whitened_word**2 * math.hypot(fit.mixing, 1.0 / fit.mean_length)
    return fit.signed * bound / _strength(fit, share) * math.sqrt(fit.n_topics / 2.0)


def refinement_error(fit: PlannedFit, share: float) -> float:
    """Noise on a topic's expected counts over the refined words, over their norm."""
    words, noise = refined(fit, share)
    return noise * fit.n_topics * math.sqrt(fit.words_per_topic / words)


def refined(fit: PlannedFit, share: float) -> tuple[int, float]:
    """How many words the refinement sees, and its noise relative to a mean entry of them, as if for one topic."""
    noise = averaged_noise(fit.mu, share, fit.refine_steps) / _mass(fit) if share > 0.0 else math.inf
    return refined_size(fit.n_words, noise, fit.n_components, lambda size: _covered(fit, size))


def outside_error(fit: PlannedFit, words: int) -> float:
    """Words outside the spectral stage keep their unigram share."""
    return math.sqrt(max(0.0, 1.0 - _covered(fit, words)))


def seen_topics(fit: PlannedFit, share: float, words: int) -> int:
    """How many directions of the second moment stand out from its noise, if its spectrum is that of real text.

    The longer the documents, the smaller their norms, and with them the noise.
    """
    edge = 2.0 * math.sqrt(words) / _strength(fit, share)
    seen = SEEN * fit.mean_length**SEEN_BY_LENGTH / edge**SEEN_BY_EDGE * 2.0 / (fit.alpha0 + 1.0)
    return max(1, int(min(1e9, seen, fit.n_words)))


def sampled_topics(fit: PlannedFit) -> int:
    """How many topics the documents tell apart at any epsilon: the most whose `sampling` error is small enough."""
    tokens = fit.mean_length * fit.n_documents
    return max(1, int(tokens / fit.words_per_topic * (LARGEST_ERROR / (fit.alpha0 + 1.0)) ** 2))


def _eigenvector_error(fit: PlannedFit, noise: float) -> float:
    """An eigenvector turns by the noise of its `iij` entries, a third of the variance each, over its eigenvalue."""
    return noise * math.sqrt(fit.n_topics / 3.0) / fit.eigenvalue


def _strength(fit: PlannedFit, share: float) -> float:
    """The number of documents over the noise of a release of sensitivity one."""
    return fit.mu * math.sqrt(share) * fit.n_documents if share > 0.0 else math.ulp(0.0)


def _mass(fit: PlannedFit) -> float:
    """The sum over documents of `l / ||c||`, which the refinement statistic adds up to."""
    return UNEVEN * fit.n_documents / math.sqrt(fit.norm_squared)


def _spectral_stage(fit: PlannedFit, configuration: int | str) -> int:
    """How many words the spectral stage sees."""
    most = spectral_words(fit.mu, fit.n_documents) if configuration == SEQUENTIAL else SPECTRAL_WORDS
    return min(fit.n_words, most)


def _covered(fit: PlannedFit, words: int) -> float:
    """The share of the text that the most frequent words make up, by Zipf's law."""
    return _harmonic(min(words, fit.n_words)) / _harmonic(fit.n_words)


@lru_cache(maxsize=4096)
def _harmonic(number: int) -> float:
    return math.log(number) + 0.5772156649015329 + 0.5 / number
