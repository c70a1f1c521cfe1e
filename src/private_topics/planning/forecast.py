"""What each configuration is expected to do, from public numbers alone: topics found, their error, documents needed.

For the proved configurations the error is that of `expected_errors`. For the published ones it is the paper's utility
theorem and its lemma on sample complexity, every constant one: a bound, and a loose one. Published configurations 2
to 4 refuse where Procedure 1 is expected to find no lower bound.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from private_topics.paper.noise_scales import tau
from private_topics.paper.utility_bounds import (
    PARTS,
    equal_parts,
    first_or_second,
    refused,
    sampling_error,
    second_or_third,
    taus_of,
    third_or_fourth,
    utility_bound,
)
from private_topics.planning.expected_errors import (
    FEWEST_DOCUMENTS,
    LARGEST_ERROR,
    Setting,
    proved_error,
    proved_split,
    proved_topics,
    sequential_error,
    sequential_split,
    sequential_topics,
)

TARGET_ERROR = 0.25  # what `documents_needed` is for
PRECISION = 2.0  # forecasts closer than this, which is about their own, do not tell which configuration is better
NO_TOPIC = 1.0  # the relative error of an estimate that says nothing
LARGEST_SEARCH = 1e12

SEQUENTIAL, VARIATIONAL = "sequential", "vi"
PROVED = tuple(f"{number} proved" for number in PARTS)
PUBLISHED = tuple(f"{number} published" for number in PARTS)


@dataclass(frozen=True)
class Outcome:
    """What a configuration is expected to do. None: there is no forecast.

    `topics` of the `asked` are found with relative error `error`, which is a bound for the published ones;
    `documents_needed` for all of them at `TARGET_ERROR`, infinite where no number of documents is enough.
    """

    name: str
    proved: bool
    asked: int
    topics: int | None
    error: float | None
    documents_needed: float | None
    note: str = ""

    @property
    def carries(self) -> bool:
        """Whether it is expected to tell topics apart."""
        return self.topics is not None and self.topics > 1

    @property
    def overall_error(self) -> float | None:
        """The error over all topics asked for, by which configurations are compared: one that is missing has 1."""
        if self.topics is None or self.error is None:
            return None
        found = min(self.topics, self.asked)
        return (found * self.error if found else 0.0) / self.asked + NO_TOPIC * (1.0 - found / self.asked)


# -- the published ones ---------------------------------------------------------------------------------------------


def published_error(setting: Setting, configuration: int, parts: Mapping[str, float] | None = None) -> float:
    """Utility theorem plus lemma, constants one, over the length of a topic; infinite where it is refused."""
    fractions = parts or equal_parts(configuration)
    if refused(configuration, setting.problem, fractions, setting.epsilon, setting.delta):
        return math.inf
    taus = taus_of(fractions, setting.epsilon, setting.delta)
    length = 1.0 / math.sqrt(setting.words_per_topic)
    lemma = sampling_error(
        n_documents=max(FEWEST_DOCUMENTS, setting.n_documents),
        n_topics=setting.n_topics,
        alpha0=setting.alpha0,
        smallest_share=1.0 / setting.n_topics,
        sigma_k_topics=length,
    )
    return (utility_bound(configuration, setting.problem, taus) + lemma) / length


def remarks(setting: Setting) -> tuple[str, ...]:
    """The paper's three remarks for this setting: what each prefers, and what the theorems behind it prefer."""
    problem, noise = setting.problem, tau(setting.epsilon, setting.delta)
    pairs = first_or_second(problem, noise=noise)
    eigen = second_or_third(problem, noise=noise, alpha0=setting.alpha0, tensor_sigma_k=setting.eigenvalue)
    final = third_or_fourth(problem, noise=noise)
    condition = "holds" if eigen.stated == 3 else "fails"
    many = ">" if final.stated == 3 else "<="
    return (
        f"1 or 2: the paper says {pairs.stated}; its theorems say {pairs.by_theorems}.",
        f"2 or 3: the paper says {eigen.stated}, for its condition on the gap {condition} at best; "
        f"its theorems say {eigen.by_theorems}.",
        f"3 or 4: the paper says {final.stated}, for N {many} √d; its theorems say {final.by_theorems}.",
    )


# -- all of them ----------------------------------------------------------------------------------------------------


def outcomes(setting: Setting) -> tuple[Outcome, ...]:
    """The expected outcome of every configuration, the proved ones first.

    Variational inference has none: whether it finds topics depends on a random start, of which nothing is known.
    """
    return (
        _outcome(SEQUENTIAL, setting),
        *(_outcome(name, setting) for name in PROVED),
        *(_outcome(name, setting) for name in PUBLISHED),
        Outcome(VARIATIONAL, True, setting.n_topics, None, None, None, "no forecast"),
    )


def best(found: tuple[Outcome, ...]) -> Outcome | None:
    """The proved configuration expected to win; None where none tells topics apart.

    The one with the smallest error over the topics asked for, but the sequential release where it is as good as far
    as a forecast can tell: there it won more often than not (research/results/forecast.md).
    """
    able = {outcome: outcome.overall_error or 0.0 for outcome in found if outcome.proved and outcome.carries}
    if not able:
        return None
    level = {outcome: error for outcome, error in able.items() if error <= PRECISION * min(able.values())}
    favoured = [outcome for outcome in level if outcome.name == SEQUENTIAL]
    return favoured[0] if favoured else min(level, key=level.__getitem__)


def _outcome(name: str, setting: Setting) -> Outcome:
    published = name in PUBLISHED
    number = 0 if name == SEQUENTIAL else int(name[0])
    topics, error = _expected(name, number, setting)
    note = ""
    if published:
        note = "refuses" if math.isinf(error) else "bound"
    elif topics <= 1:
        note = "word frequencies"
    elif number > 2:
        note = "at best"
    return Outcome(name, not published, setting.n_topics, topics, error, _documents(name, number, setting), note)


def _expected(name: str, number: int, setting: Setting) -> tuple[int, float]:
    if name in PUBLISHED:
        error = published_error(setting, number)
        return (setting.n_topics if error < LARGEST_ERROR else 0), error
    topics = sequential_topics(setting) if name == SEQUENTIAL else proved_topics(setting, number)
    if not topics:
        return 0, NO_TOPIC
    used = setting.with_topics(topics)
    if name == SEQUENTIAL:
        return topics, sequential_error(used, sequential_split(setting))
    return topics, proved_error(used, number, proved_split(number))


def _documents(name: str, number: int, setting: Setting) -> float:
    def enough(documents: float) -> bool:
        larger = replace(setting, n_documents=max(1, int(documents)))
        topics, error = _expected(name, number, larger)
        return topics >= setting.n_topics and error <= TARGET_ERROR

    return smallest(enough, float(FEWEST_DOCUMENTS), 1e30 if name in PUBLISHED else LARGEST_SEARCH)


def smallest(enough: Callable[[float], bool], start: float, largest: float = LARGEST_SEARCH) -> float:
    """The smallest value from `start` on that is enough, to two per cent; infinity where none up to `largest` is."""
    low = high = start
    while not enough(high):
        low, high = high, 2.0 * high
        if high > largest:
            return math.inf
    while high / low > 1.02:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high
