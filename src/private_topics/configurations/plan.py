"""Before touching the data: what a number of documents, an epsilon and a number of topics buy.

From public numbers only. The forecast assumes documents of `mean_length` words from LDA with topics of about
`WORDS_PER_TOPIC` equally likely words; real topics are more uneven, so read it as an order of magnitude.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from private_topics.configurations.sequential import averaged_noise, carried_topics, spectral_words
from private_topics.errors import InputError
from private_topics.privacy.accountant import mu_of_budget
from private_topics.privacy.budget import BudgetSplit, PrivacyBudget

WORDS_PER_TOPIC = 60.0
SPIKE = 0.5  # a direction is seen when its eigenvalue exceeds half the noise edge (spiked random matrices)
LARGEST_SEARCH = 1e12


@dataclass(frozen=True)
class Plan:
    """A forecast. `expected_topics` is what the budget is expected to carry of the `n_components` asked for."""

    n_documents: int
    n_words: int
    n_components: int
    epsilon: float
    delta: float
    alpha0: float = 1.0
    mean_length: float = 100.0
    refine_steps: int = 4

    @property
    def expected_topics(self) -> int:
        return max(0, min(self.n_components, self._seen(), self._carried()))

    @property
    def enough(self) -> bool:
        return self.expected_topics >= self.n_components

    @property
    def documents_needed(self) -> float:
        """Documents for all topics at this epsilon."""
        return _search(lambda n: replace(self, n_documents=max(1, int(n))).enough, float(self.n_documents))

    @property
    def epsilon_needed(self) -> float:
        """Epsilon for all topics with these documents."""
        return _search(lambda value: replace(self, epsilon=value).enough, self.epsilon)

    def __str__(self) -> str:
        head = (
            f"{self.n_documents:,} documents, {self.n_words:,} words, epsilon {self.epsilon:g}, "
            f"delta {self.delta:g}: about {self.expected_topics} of {self.n_components} topics."
        )
        if self.enough:
            return head
        return (
            f"{head} For all {self.n_components}: about {self.documents_needed:,.0f} documents at this epsilon, or "
            f"epsilon {self.epsilon_needed:.2g} with these documents."
        )

    def _mu(self) -> float:
        return mu_of_budget(self.epsilon, self.delta)

    def _seen(self) -> int:
        """Topics whose direction in the second moment stands out of its noise."""
        words = min(self.n_words, spectral_words(self._mu(), self.n_documents))
        clip = 1.0 / self.mean_length  # the norm of phi2 of a document of mean length, most words distinct
        noise = math.sqrt(2.0) * clip / (self._mu() * math.sqrt(BudgetSplit().second))
        edge = noise * math.sqrt(2.0 * words) / self.n_documents
        # s_i ||mu_i||² with k equal topics: 1 / (k (alpha0 + 1) words per topic)
        return int(1.0 / ((self.alpha0 + 1.0) * WORDS_PER_TOPIC * SPIKE * edge))

    def _carried(self) -> int:
        """Topics the refinement can estimate on all words."""
        noise = averaged_noise(self._mu(), BudgetSplit().refine, self.refine_steps)
        mass = self.n_documents * math.sqrt(self.mean_length)
        return carried_topics(noise * self.n_words / mass)


def plan(
    n_documents: int,
    n_words: int,
    n_components: int,
    *,
    epsilon: float = 1.0,
    delta: float = 1e-6,
    alpha0: float = 1.0,
    mean_length: float = 100.0,
) -> Plan:
    """What these public numbers are expected to buy, and what more documents or a larger epsilon would."""
    PrivacyBudget(epsilon, delta)
    for name, value in (("n_documents", n_documents), ("n_words", n_words), ("n_components", n_components)):
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise InputError(f"The {name!r} parameter of plan must be an int in the range [1, inf). Got {value!r}.")
    for name, number in (("alpha0", alpha0), ("mean_length", mean_length)):
        if not 0.0 < float(number) < math.inf:
            raise InputError(f"The {name!r} parameter of plan must be a float in the range (0, inf). Got {number!r}.")
    return Plan(n_documents, n_words, n_components, float(epsilon), float(delta), float(alpha0), float(mean_length))


def _search(enough: object, start: float) -> float:
    """The smallest value from `start` on that is enough, to two per cent; infinity where none is."""
    assert callable(enough)
    low = high = start
    while not enough(high):
        low, high = high, 2.0 * high
        if high > LARGEST_SEARCH:
            return math.inf
    while high / low > 1.02:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high
