"""The paper's protocol: a grid over the split of the budget, the best of it shown and one fit charged.

On made-up corpora the paper selects by the distance to the truth, which nobody has: an oracle. Here the grid has
equal parts, and for each release one split that gives it twice the part of the others.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from private_topics.errors import PrivacyError
from private_topics.fits.published import RELEASES
from private_topics.paper.experiments.readings import Split, Task, published_fit


def splits(configuration: int) -> list[dict[str, float]]:
    """By the name of the release: its part of epsilon and of delta."""
    names = [release.name for release in RELEASES[configuration]]
    equal = dict.fromkeys(names, 1.0 / len(names))
    rest = dict.fromkeys(names, 1.0 / (len(names) + 1.0))
    return [equal, *(rest | {name: 2.0 * rest[name]} for name in names)]


def grid(task: Task, configuration: int, epsilon: float, seed: int) -> list[np.ndarray]:
    """The topics of every split that is not refused."""
    found = []
    for shares in splits(configuration):
        try:
            fit = published_fit(task, configuration, epsilon, seed, partial(Split, shares=shares))
            found.append(fit.fit(configuration).topics)
        except PrivacyError:
            continue
    return found
