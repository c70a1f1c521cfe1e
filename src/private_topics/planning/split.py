"""Which release gets how much of the budget: the split with the smallest forecast error, from public numbers alone.

The paper tries splits on the corpus and keeps the one with the highest likelihood (its appendix K). Each try is a
release, and charging for all of them costs more than the best split gains (docs/configurations.md, "Choosing the
split"). So the grid is searched on the forecast instead, which never sees the corpus.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

from private_topics.errors import InputError
from private_topics.fits.fit import BudgetSplit
from private_topics.planning.expected_errors import (
    SEQUENTIAL,
    PlannedFit,
    expected_error,
    expected_topics,
    usual_split,
)
from private_topics.planning.informed import informed_split

SECOND = (0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4)
FRAME = (0.015, 0.03, 0.06)
TENSOR = (0.03, 0.06, 0.1, 0.15)
THIRDS = tuple(0.05 * step for step in range(1, 19))  # of what configurations 1 to 4 give to both moments
MARGIN = 0.75  # leave a default split only where the forecast, good to a factor of two, sees a quarter less error


def split_for(fit: PlannedFit, configuration: Any = SEQUENTIAL) -> BudgetSplit:
    """The split of a proved configuration for these public numbers: `PrivateSpectralLDA(…, budget_split=split)`.

    With public knowledge it is what the fit takes by itself, without a released vocabulary.

    The default split, unless another finds as many topics with a quarter less expected error. With refinement that is
    rare: the default is close to the best of the grid wherever topics are found at all. Without refinement its share
    goes to the spectral stage, in the default as on the grid.
    """
    if isinstance(configuration, bool) or configuration not in (SEQUENTIAL, "auto", 1, 2, 3, 4):
        raise InputError(
            f"The 'configuration' parameter of split_for must be 'sequential', 'auto', 1, 2, 3 or 4. "
            f"Got {configuration!r} instead."
        )
    chosen = SEQUENTIAL if isinstance(configuration, str) else int(configuration)
    if fit.knowledge and chosen == SEQUENTIAL:
        return informed_split(fit)
    usual = usual_split(fit, chosen)
    grid = _sequential_splits(usual, fit.refine_steps) if chosen == SEQUENTIAL else _moment_splits(usual)
    found, error = expected_topics(fit, chosen), expected_error(fit, chosen)
    errors = {
        split: expected_error(fit, chosen, split) for split in grid if expected_topics(fit, chosen, split) >= found
    }
    best = min(errors, key=errors.__getitem__, default=usual)
    return best if errors.get(best, error) < MARGIN * error else usual


def _sequential_splits(usual: BudgetSplit, refine_steps: int) -> Iterator[BudgetSplit]:
    """The unigram, the histograms and the test keep their shares: the forecast does not see what they are for."""
    free = 1.0 - usual.unigram - usual.histograms - usual.evidence
    for second, frame, tensor in product(SECOND, FRAME, TENSOR):
        refine = free - second - frame - tensor
        split = usual.replace(second=second, frame=frame, tensor=tensor, refine=refine)
        yield split if refine_steps else split.without_refinement()


def _moment_splits(usual: BudgetSplit) -> Iterator[BudgetSplit]:
    both = usual.second + usual.tensor
    for share in THIRDS:
        yield usual.replace(second=both * (1.0 - share), tensor=both * share)
