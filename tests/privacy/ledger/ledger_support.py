"""What the tests of ledgers share."""

from private_topics.privacy.budget import PrivacyBudget
from private_topics.privacy.curves import mu_of_budget

SMALL = PrivacyBudget(0.01, 1e-9)


def places_in(epsilon: float, delta: float, budget: PrivacyBudget) -> int:
    """How many Gaussian fits a total holds, from the curve alone; one per cent of delta is set aside, twice."""
    room = mu_of_budget(epsilon, delta * 0.99 * 0.99) ** 2
    return int(room * (1 + 1e-7) / mu_of_budget(budget.epsilon, budget.delta) ** 2)
