"""Which release gets how much of the budget: the split with the smallest forecast error, from public numbers alone.

The paper tries splits on the corpus and keeps the one with the highest likelihood (its appendix K). Each try is a
release, and charging them all costs more than the best split gains (docs/configurations.md, "Choosing the split"). So
the grid is searched on the forecast instead, which never sees the corpus: `expected_errors` for the proved
configurations, whose fractions divide mu², the utility theorems for the published ones, whose epsilons add up.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

from private_topics.errors import InputError
from private_topics.fits.split import BudgetSplit
from private_topics.paper.utility_bounds import PARTS, equal_parts
from private_topics.planning.expected_errors import (
    Setting,
    proved_error,
    proved_split,
    proved_topics,
    sequential_error,
    sequential_split,
    sequential_topics,
)
from private_topics.planning.forecast import published_error
from private_topics.privacy.budget import PrivacyBudget

SECOND = (0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4)
FRAME = (0.015, 0.03, 0.06)
TENSOR = (0.03, 0.06, 0.1, 0.15)
THIRDS = tuple(0.05 * step for step in range(1, 19))  # of what configurations 1 to 4 give to both moments
PUBLISHED_STEPS = 20
MARGIN = 0.75  # leave a default split only where the forecast, good to a factor of two, sees a quarter less error

Score = tuple[int, float]
"""Topics that are found, and the error of all that are asked for."""


def split_for(
    n_units: int,
    n_words: int,
    n_topics: int,
    *,
    alpha0: float = 1.0,
    epsilon: float = 1.0,
    delta: float = 1e-6,
    configuration: Any = "sequential",
    mean_length: float = 100.0,
    refine_steps: int = 4,
) -> BudgetSplit:
    """The split of a proved configuration for these public numbers: `PrivateSpectralLDA(…, budget_split=split)`.

    The default split, unless another finds as many topics with a quarter less expected error. With refinement that is
    rare: the default is close to the best of the grid wherever topics are found at all. Without, what the refinement
    would have goes to the spectral stage, in the default as on the grid.
    """
    setting = _setting(n_units, n_words, n_topics, epsilon, delta, alpha0, mean_length, refine_steps)
    if configuration in ("sequential", "auto"):
        splits = [split if refine_steps else split.without_refinement() for split in _sequential_splits()]
        return _chosen(sequential_split(setting), splits, lambda split: _sequential_score(setting, split))
    if isinstance(configuration, bool) or configuration not in PARTS:
        raise InputError(
            f"The 'configuration' parameter of split_for must be 'sequential', 'auto', 1, 2, 3 or 4. "
            f"Got {configuration!r} instead."
        )
    number = int(configuration)
    splits = list(_moment_splits(number))
    return _chosen(proved_split(number), splits, lambda split: _proved_score(setting, number, split))


def published_parts_for(
    n_units: int,
    n_words: int,
    n_topics: int,
    *,
    configuration: int,
    alpha0: float = 1.0,
    epsilon: float = 1.0,
    delta: float = 1e-6,
    mean_length: float = 100.0,
) -> dict[str, float]:
    """Fractions of (epsilon, delta) for the edges of a published configuration, and for Procedure 1, that add up.

    The smallest bound of its utility theorem on a grid of twentieths; equal parts where every one is refused.
    """
    if isinstance(configuration, bool) or configuration not in PARTS:
        raise InputError(f"The 'configuration' parameter must be 1, 2, 3 or 4. Got {configuration!r} instead.")
    setting = _setting(n_units, n_words, n_topics, epsilon, delta, alpha0, mean_length, 0)
    best = equal_parts(configuration)
    smallest = published_error(setting, configuration, best)
    for counts in _compositions(PUBLISHED_STEPS, len(PARTS[configuration])):
        fractions = (count / PUBLISHED_STEPS for count in counts)
        parts = dict(zip(PARTS[configuration], fractions, strict=True))
        error = published_error(setting, configuration, parts)
        if error < smallest:
            best, smallest = parts, error
    return best


# -- the grids ------------------------------------------------------------------------------------------------------


def _sequential_splits() -> Iterator[BudgetSplit]:
    """The unigram and the histograms keep their shares: the forecast does not see what they are for."""
    usual = BudgetSplit()
    free = 1.0 - usual.unigram - usual.histograms
    for second, frame, tensor in product(SECOND, FRAME, TENSOR):
        refine = free - second - frame - tensor
        yield usual.replace(second=second, frame=frame, tensor=tensor, refine=refine)


def _moment_splits(configuration: int) -> Iterator[BudgetSplit]:
    usual = proved_split(configuration)
    both = usual.second + usual.tensor
    for share in THIRDS:
        yield usual.replace(second=both * (1.0 - share), tensor=both * share)


def _compositions(total: int, parts: int) -> Iterator[tuple[int, ...]]:
    """All ways to write `total` as an ordered sum of so many positive whole numbers."""
    if parts == 1:
        yield (total,)
        return
    for first in range(1, total - parts + 2):
        for rest in _compositions(total - first, parts - 1):
            yield (first, *rest)


# -- the score ------------------------------------------------------------------------------------------------------


def _chosen(usual: BudgetSplit, others: list[BudgetSplit], score: Callable[[BudgetSplit], Score]) -> BudgetSplit:
    """The best of those that find no fewer topics, where it is clearly better than the usual one."""
    found, error = score(usual)
    able = [split for split in others if score(split)[0] >= found]
    best = min(able, key=lambda split: score(split)[1], default=usual)
    return best if score(best)[1] < MARGIN * error else usual


def _sequential_score(setting: Setting, split: BudgetSplit) -> Score:
    return sequential_topics(setting, split), _capped(sequential_error(setting, split))


def _proved_score(setting: Setting, configuration: int, split: BudgetSplit) -> Score:
    return proved_topics(setting, configuration, split), _capped(proved_error(setting, configuration, split))


def _capped(error: float) -> float:
    return error if error < math.inf else 1e300


def _setting(n_units: int, n_words: int, n_topics: int, epsilon: float, delta: float, *rest: Any) -> Setting:
    budget = PrivacyBudget(epsilon, delta)
    for name, value in (("n_units", n_units), ("n_words", n_words), ("n_topics", n_topics)):
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise InputError(f"The {name!r} parameter must be an int in the range [1, inf). Got {value!r} instead.")
    alpha0, mean_length, refine_steps = rest
    for name, number in (("alpha0", alpha0), ("mean_length", mean_length)):
        if not 0.0 < float(number) < math.inf:
            raise InputError(f"The {name!r} parameter must be a float in the range (0, inf). Got {number!r} instead.")
    return Setting(
        n_units, n_words, n_topics, budget.epsilon, budget.delta, float(alpha0), float(mean_length), refine_steps
    )
