"""Expected errors of the proved configurations, release by release, from public numbers and an assumed corpus.

The corpus: LDA with equal topics of about `WORDS_PER_TOPIC` equally likely words, documents of one length; how much
of the text the frequent words of a vocabulary make up follows Zipf's law. An error is `||estimate - topic|| /
||topic||`, averaged over topics; one is what nothing at all scores. Each function carries the noise of one release
through the linear algebra to first order. How good it is: research/results/forecast.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

from private_topics.fits.choice import default_split
from private_topics.fits.sequential import OVERSAMPLE
from private_topics.inference.carried import (
    SPECTRAL_WORDS,
    averaged_noise,
    carried_topics,
    refined_size,
    spectral_words,
)
from private_topics.paper.utility_bounds import Problem
from private_topics.privacy.budget import BudgetSplit
from private_topics.privacy.curves import mu_of_budget

WORDS_PER_TOPIC = 60.0
SPIKE = 0.5  # a direction is seen when its eigenvalue exceeds half the noise edge (spiked random matrices)
WEAKEST = 1.0 / 6.0  # of the mean singular value, that of the topic hardest to see: as on Wikipedia with 25 topics
START_KEPT, OUTSIDE_KEPT = 0.5, 0.1  # by the refinement, of the noise of the start and of the words it left out
CLIP_BIAS, REFINED_BIAS = 0.02, 0.01  # what clipping leaves at any epsilon: research/results/forecast.md
LARGEST_ERROR = 0.5  # a topic further off is not found
FEWEST_DOCUMENTS = 3


@dataclass(frozen=True)
class Setting:
    """The public numbers, and what the assumed corpus makes of them.

    `asked` is the number of topics that a fit is asked for where it finds `n_topics` of them; None for as many.
    """

    n_documents: int
    n_words: int
    n_topics: int
    epsilon: float
    delta: float
    alpha0: float = 1.0
    mean_length: float = 100.0
    refine_steps: int = 4
    asked: int | None = None

    def with_topics(self, n_topics: int) -> Setting:
        """The same fit where it finds so many topics of those asked for."""
        return replace(self, n_topics=n_topics, asked=self.asked or self.n_topics)

    @property
    def mu(self) -> float:
        return _mu(self.epsilon, self.delta)

    @cached_property
    def words_per_topic(self) -> float:
        return min(WORDS_PER_TOPIC, float(self.n_words))

    @cached_property
    def mixing(self) -> float:
        """`E ||theta||²` of a document: one where it has one topic, `1/k` where it has all alike."""
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
        return 2.0 * self.whitened_word / (self.alpha0 + 2.0)

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
    def problem(self) -> Problem:
        """What the theorems speak of; the eigenvalues spaced evenly, which is the best case for their gap."""
        gap = self.eigenvalue / (4.0 * self.n_topics)
        value = self.singular_value
        return Problem(max(FEWEST_DOCUMENTS, self.n_documents), self.n_words, self.n_topics, value, value, gap)


@lru_cache(maxsize=4096)
def _mu(epsilon: float, delta: float) -> float:
    return mu_of_budget(epsilon, delta)


def sequential_error(setting: Setting, split: BudgetSplit) -> float:
    """Refinement over the words it sees, and what it leaves of the error of the start.

    The words that it leaves out of a large vocabulary are so rare that they hardly count for the length of a topic.
    """
    start = math.hypot(
        second_moment_error(setting, split.second, _stage(setting)),
        frame_error(setting, split.frame),
        whitened_tensor_error(setting, split.tensor),
    )
    outside = outside_error(setting, _stage(setting))
    if not setting.refine_steps:
        return math.hypot(setting.sampling, start, outside, CLIP_BIAS)
    kept = math.hypot(START_KEPT * start, OUTSIDE_KEPT * outside)
    return math.hypot(setting.sampling, refinement_error(setting, split.refine), kept, REFINED_BIAS)


def proved_error(setting: Setting, configuration: int, split: BudgetSplit) -> float:
    """Configurations 1 to 4: one second moment, one third moment, no refinement.

    Of 3 and 4 the best is said that can be: that what follows the tensor at half of its budget adds no noise.
    """
    words = min(setting.n_words, SPECTRAL_WORDS)
    third = moment_tensor_error if configuration == 1 else whitened_tensor_error
    share = split.tensor if configuration <= 2 else split.tensor / 2.0
    return math.hypot(
        setting.sampling,
        second_moment_error(setting, split.second, words),
        third(setting, share),
        outside_error(setting, words),
        CLIP_BIAS,
    )


def second_moment_error(setting: Setting, share: float, words: int) -> float:
    """Noise on one row of the second moment, over its singular value: how far a direction turns."""
    noise = math.sqrt(2.0) * setting.norm_squared / _strength(setting, share)
    return noise * math.sqrt(words / 2.0) / setting.singular_value


def moment_tensor_error(setting: Setting, share: float) -> float:
    """The third moment over all words, noise first, then whitened: `σ_k^-3/2` times the noise."""
    noise = math.sqrt(2.0) * setting.norm_squared**1.5 / _strength(setting, share)
    return _eigenvector_error(setting, noise * setting.singular_value**-1.5)


def whitened_tensor_error(setting: Setting, share: float) -> float:
    """The third moment inside the whitening, clipped by its bound for a typical document."""
    spread, length = math.sqrt(setting.mixing), setting.mean_length
    bound = setting.whitened_word**3 * (spread**3 + 3.0 * spread / length + 2.0 / length**2)
    return _eigenvector_error(setting, 2.0 * bound / _strength(setting, share))


def frame_error(setting: Setting, share: float) -> float:
    """The second moment inside the frame, where it is about the identity."""
    bound = setting.whitened_word**2 * math.hypot(setting.mixing, 1.0 / setting.mean_length)
    return 2.0 * bound / _strength(setting, share) * math.sqrt((setting.n_topics + OVERSAMPLE) / 2.0)


def refinement_error(setting: Setting, share: float) -> float:
    """Noise on a topic's expected counts over the refined words, over their norm."""
    words, noise = refined(setting, share)
    return noise * setting.n_topics * math.sqrt(setting.words_per_topic / words)


def refined(setting: Setting, share: float) -> tuple[int, float]:
    """How many words the refinement sees, and its noise on a mean entry of them, if there were one topic."""
    noise = averaged_noise(setting.mu, share, setting.refine_steps) / _mass(setting)
    wanted = setting.asked or setting.n_topics
    return refined_size(setting.n_words, noise, wanted, lambda size: _covered(setting, size))


def outside_error(setting: Setting, words: int) -> float:
    """Words outside the spectral stage keep their unigram share."""
    return math.sqrt(max(0.0, 1.0 - _covered(setting, words)))


def seen_topics(setting: Setting, share: float, words: int) -> int:
    """Topics of which the weakest still stands out of the noise of the second moment."""
    edge = 2.0 * second_moment_error(setting, share, words) * setting.singular_value
    return int(min(1e9, WEAKEST / ((setting.alpha0 + 1.0) * setting.words_per_topic * SPIKE * edge)))


def _carried(setting: Setting, split: BudgetSplit) -> int:
    """Topics the refinement can estimate on the words it sees."""
    return carried_topics(refined(setting, split.refine)[1]) if setting.refine_steps else setting.n_topics


def sequential_split(setting: Setting) -> BudgetSplit:
    """The default split of the sequential release."""
    return default_split("sequential", setting.refine_steps)


def sequential_topics(setting: Setting, split: BudgetSplit | None = None) -> int:
    """How many topics of those asked for the sequential release is expected to use."""
    split = split or sequential_split(setting)
    seen = seen_topics(setting, split.second, _stage(setting))
    return _found(setting, min(seen, _carried(setting, split)), lambda fewer: sequential_error(fewer, split))


def proved_topics(setting: Setting, configuration: int, split: BudgetSplit | None = None) -> int:
    """The same for configurations 1 to 4."""
    chosen = split or proved_split(configuration)
    seen = seen_topics(setting, chosen.second, min(setting.n_words, SPECTRAL_WORDS))
    return _found(setting, seen, lambda fewer: proved_error(fewer, configuration, chosen))


def proved_split(configuration: int) -> BudgetSplit:
    """The default split of a configuration 1 to 4."""
    return default_split(configuration, 0)


def _found(setting: Setting, supported: int, error: Callable[[Setting], float]) -> int:
    """The most topics, of those supported, whose error is small enough; the error grows with their number."""
    low, high = 0, max(0, min(setting.n_topics, supported)) + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if error(setting.with_topics(middle)) < LARGEST_ERROR else (low, middle)
    return low


def _eigenvector_error(setting: Setting, noise: float) -> float:
    """An eigenvector turns by the noise of its `iij` entries, a third of the variance each, over its eigenvalue."""
    return noise * math.sqrt(setting.n_topics / 3.0) / setting.eigenvalue


def _strength(setting: Setting, share: float) -> float:
    """Documents over the noise of a release of sensitivity one."""
    return setting.mu * math.sqrt(share) * setting.n_documents if share > 0.0 else math.ulp(0.0)


def _mass(setting: Setting) -> float:
    """The sum over documents of `l / ||c||`, which the refinement statistic adds up to."""
    return setting.n_documents / math.sqrt(setting.norm_squared)


def _stage(setting: Setting) -> int:
    return min(setting.n_words, spectral_words(setting.mu, setting.n_documents))


def _covered(setting: Setting, words: int) -> float:
    """The share of the text that the most frequent words make up, by Zipf's law."""
    return _harmonic(min(words, setting.n_words)) / _harmonic(setting.n_words)


@lru_cache(maxsize=4096)
def _harmonic(number: int) -> float:
    return math.log(number) + 0.5772156649015329 + 0.5 / number
