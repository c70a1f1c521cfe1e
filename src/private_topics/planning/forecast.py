"""What each configuration is expected to do, from public numbers alone: topics found, their error, documents needed.

For the proved configurations the error is that of `expected_errors`. For the published ones it is the paper's utility
theorem and its lemma on sample complexity, every constant set to one: a bound, and a loose one. Published
configurations 2 to 4 refuse where Procedure 1 is expected to find no lower bound.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from private_topics.bisection import smallest
from private_topics.fits.informed import INFORMED
from private_topics.paper.bounds import tau
from private_topics.paper.utility_bounds import (
    PARTS,
    equal_taus,
    first_or_second,
    refused,
    sampling_error,
    second_or_third,
    third_or_fourth,
    utility_bound,
)
from private_topics.planning import informed
from private_topics.planning.constants import FEWEST_DOCUMENTS, LARGEST_ERROR, NO_TOPIC, PRECISION, TARGET_ERROR
from private_topics.planning.expected_errors import SEQUENTIAL, PlannedFit, expected_error, expected_topics
from private_topics.privacy.neighbours import REPLACE

VARIATIONAL = "vi"
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
    def informative(self) -> bool:
        """Whether the topics are expected to be the corpus's own."""
        return self.error is not None and says_something(self.error)

    @property
    def overall_error(self) -> float | None:
        """The error over all topics asked for, by which configurations are compared; a missing topic counts as 1."""
        if self.topics is None or self.error is None:
            return None
        found = min(self.topics, self.asked)
        return (found * self.error if found else 0.0) / self.asked + NO_TOPIC * (1.0 - found / self.asked)


# -- the published ones ---------------------------------------------------------------------------------------------


def published_error(fit: PlannedFit, configuration: int) -> float:
    """Utility theorem plus lemma, constants set to one, over the length of a topic; infinite where it is refused."""
    if refused(configuration, fit.quantities, fit.epsilon, fit.delta):
        return math.inf
    length = 1.0 / math.sqrt(fit.words_per_topic)
    lemma = sampling_error(
        n_documents=max(FEWEST_DOCUMENTS, fit.n_documents),
        n_topics=fit.n_topics,
        alpha0=fit.alpha0,
        smallest_share=1.0 / fit.n_topics,
        sigma_k_topics=length,
    )
    taus = equal_taus(configuration, fit.epsilon, fit.delta)
    return (utility_bound(configuration, fit.quantities, taus) + lemma) / length


def remarks(fit: PlannedFit) -> tuple[str, ...]:
    """The paper's three remarks: which configuration each prefers here, and which the theorems behind it prefer."""
    quantities, noise = fit.quantities, tau(fit.epsilon, fit.delta)
    pairs = first_or_second(quantities, noise=noise)
    eigen = second_or_third(quantities, noise=noise, alpha0=fit.alpha0, tensor_sigma_k=fit.eigenvalue)
    final = third_or_fourth(quantities, noise=noise)
    condition = "holds" if eigen.stated == 3 else "fails"
    many = ">" if final.stated == 3 else "<="
    return (
        f"1 or 2: the paper says {pairs.stated}; its theorems say {pairs.by_theorems}.",
        f"2 or 3: the paper says {eigen.stated}, for its condition on the gap {condition} at best; "
        f"its theorems say {eigen.by_theorems}.",
        f"3 or 4: the paper says {final.stated}, for N {many} √d; its theorems say {final.by_theorems}.",
    )


# -- all of them ----------------------------------------------------------------------------------------------------


def outcomes(fit: PlannedFit) -> tuple[Outcome, ...]:
    """The expected outcome of every configuration, the proved ones first, that with public knowledge before them.

    Variational inference has none: whether it finds topics depends on its random start. Where neighbours do not
    replace units, the others refuse.
    """
    with_knowledge = [_outcome(INFORMED.name, fit)] if fit.knowledge else []
    if fit.neighbours != REPLACE:
        return (*with_knowledge, _outcome(SEQUENTIAL, fit))
    return (
        *with_knowledge,
        _outcome(SEQUENTIAL, fit),
        *(_outcome(name, fit) for name in PROVED),
        *(_outcome(name, fit) for name in PUBLISHED),
        Outcome(VARIATIONAL, True, fit.n_components, None, None, None, "no forecast"),
    )


def best(found: tuple[Outcome, ...]) -> Outcome | None:
    """The proved configuration expected to win; None where none tells topics apart.

    The one with the smallest error over the topics asked for, or, where the forecast cannot tell them apart, the fit
    with public knowledge, else the sequential release: it won more often than not (research/results/forecast.md).
    """
    able = {outcome: outcome.overall_error or 0.0 for outcome in found if outcome.proved and outcome.carries}
    if not able:
        return None
    level = {outcome: error for outcome, error in able.items() if error <= PRECISION * min(able.values())}
    favoured = [outcome for outcome in level if outcome.name in (INFORMED.name, SEQUENTIAL)]
    return favoured[0] if favoured else min(level, key=level.__getitem__)


def _outcome(name: str, fit: PlannedFit) -> Outcome:
    published = name in PUBLISHED
    topics, error = topics_and_error(name, fit)
    note = ""
    if published:
        note = "refuses" if math.isinf(error) else "bound"
    elif topics <= 1:
        note = "word frequencies"
    elif not says_something(error):
        note = "not its own"
    elif name == INFORMED.name:
        note = "public knowledge"
    elif name in PROVED[2:]:
        note = "at best"
    return Outcome(name, not published, fit.n_components, topics, error, _documents(name, fit), note)


def says_something(error: float) -> bool:
    """Whether topics with this error are better than a guess: not where it is 1 as printed."""
    return round(error, 2) < NO_TOPIC


def topics_and_error(name: str, fit: PlannedFit) -> tuple[int, float]:
    """Topics found, and their error."""
    if name in PUBLISHED:
        error = published_error(fit, int(name[0]))
        return (fit.n_components if error < LARGEST_ERROR else 0), error
    if name == INFORMED.name:
        topics = int(informed.topics_found(fit).middle)
        return topics, min(informed.error(replace(fit, found=topics)), NO_TOPIC)
    configuration = name if name == SEQUENTIAL else int(name[0])
    topics = expected_topics(fit, configuration)
    error = expected_error(replace(fit, found=topics), configuration) if topics else NO_TOPIC
    return topics, min(error, NO_TOPIC)


def _documents(name: str, fit: PlannedFit) -> float:
    def enough(documents: float) -> bool:
        topics, error = topics_and_error(name, replace(fit, n_documents=max(1, int(documents))))
        return topics >= fit.n_components and error <= TARGET_ERROR

    return smallest(enough, float(FEWEST_DOCUMENTS), 1e30 if name in PUBLISHED else 1e12)
