"""Every fit, and which one a user's settings select: what is proved, and what needs an opt-in."""

from __future__ import annotations

from numbers import Integral
from typing import Any

from private_topics.errors import InputError, PrivacyError
from private_topics.fits.fit import Fit
from private_topics.fits.informed import INFORMED
from private_topics.fits.proved import PROVED
from private_topics.fits.published import GAUSSIAN, PUBLISHED
from private_topics.fits.pure import PURE
from private_topics.fits.sequential import SEQUENTIAL
from private_topics.paper.graph import CONFIGURATIONS as CUTS
from private_topics.paper.graph import SEQUENTIAL_GRAPH, SEQUENTIAL_SUMMARY, Placement
from private_topics.releases.candidates import CANDIDATES
from private_topics.releases.class_shares import CLASS_SHARES
from private_topics.releases.evidence import EVIDENCE
from private_topics.releases.likelihood import LIKELIHOOD
from private_topics.releases.release import Release
from private_topics.releases.statistic import MINIBATCH
from private_topics.releases.units import UNITS
from private_topics.releases.units_with_words import UNITS_WITH_WORDS
from private_topics.releases.vocabulary import VOCABULARY

VARIATIONAL = Fit("variational", (MINIBATCH,), None, {})
VOCABULARY_ALONE = Fit("vocabulary", (VOCABULARY,), None, {"vocabulary": 1.0})
CANDIDATES_ALONE = Fit("candidate words", (CANDIDATES,), None, {"vocabulary": 1.0})
SHARES_OF_CLASSES = Fit("class shares", (CLASS_SHARES,), None, {})
EVIDENCE_ALONE = Fit("evidence", (EVIDENCE,), None, {})
LIKELIHOOD_ALONE = Fit("log-likelihood", (LIKELIHOOD,), None, {})
OF_WORDS = (VOCABULARY, CANDIDATES)
"""Releases with which any fit may begin: they choose its vocabulary."""
BEGINNINGS = (UNITS, UNITS_WITH_WORDS, *OF_WORDS)
"""Releases that may come before those of a fit's own list."""
AROUND = (*BEGINNINGS, EVIDENCE)
"""The same with the test of the topics, which comes last."""
WITHOUT_TOPICS = (VOCABULARY_ALONE, CANDIDATES_ALONE, SHARES_OF_CLASSES, LIKELIHOOD_ALONE, EVIDENCE_ALONE)
PRIVATE = SEQUENTIAL, INFORMED, *PROVED.values(), PURE
FITS: dict[str, Fit] = {fit.name: fit for fit in (*PRIVATE, *PUBLISHED.values(), VARIATIONAL, *WITHOUT_TOPICS)}
CONFIGURATIONS = (1, 2, 3, 4, "sequential", "auto")
CALIBRATIONS = ("proved", *GAUSSIAN)
AUTOMATIC = SEQUENTIAL
"""What "auto" picks: in all measurements so far it has the smallest error of the proved configurations."""


def chosen_fit(
    configuration: Any, calibration: Any, *, allow_unproved: bool, delta: Any, informed: bool = False, caller: str
) -> Fit:
    """Validate; refuse what is not proved unless it is asked for by name."""
    published = isinstance(calibration, str) and calibration in GAUSSIAN
    if published and not allow_unproved:
        raise PrivacyError(
            f"calibration={calibration!r} uses the published method's sensitivities, which are not proved. "
            "Use calibration='proved', or pass allow_unproved=True for an experiment that stays in house."
        )
    if not isinstance(calibration, str) or calibration not in CALIBRATIONS:
        raise InputError(
            f"The 'calibration' parameter of {caller} must be one of {CALIBRATIONS}. Got {calibration!r} instead."
        )
    known = isinstance(configuration, str | Integral) and not isinstance(configuration, bool)
    if not known or configuration not in CONFIGURATIONS:
        raise InputError(
            f"The 'configuration' parameter of {caller} must be one of {CONFIGURATIONS}. "
            f"Got {configuration!r} instead."
        )
    if isinstance(configuration, str):
        if published:
            raise InputError(
                f"calibration={calibration!r} belongs to the configurations 1, 2, 3 and 4. "
                f"Got configuration={configuration!r}, which is proved: use calibration='proved'."
            )
        return INFORMED if informed else AUTOMATIC if configuration == "auto" else SEQUENTIAL
    if informed:
        raise InputError(
            f"Public knowledge belongs to configuration='sequential'. Got configuration={configuration!r} instead."
        )
    if published:
        return PUBLISHED[int(configuration), calibration]
    pure = configuration == 1 and not isinstance(delta, bool) and delta == 0
    return PURE if pure else proved_fit(int(configuration))


def proved_fit(configuration: int | str) -> Fit:
    """A proved fit by its number, or the sequential one by its name."""
    return SEQUENTIAL if isinstance(configuration, str) else PROVED[configuration]


def release_behind(line: str, configuration: str) -> Release | None:
    """The release that a line of a statement is about; any fit may begin with one of `BEGINNINGS`.

    A fit of one release may sum it up in a line of another name.
    """
    beginning = next((release for release in AROUND if release.made(line)), None)
    if beginning is not None:
        return beginning
    fit = FITS.get(configuration)
    if fit is None:
        return None
    return fit.releases[0] if len(fit.releases) == 1 else fit.release_of(line)


def comes_before(line: str) -> bool:
    """Whether a line of a statement is about a release before those of the fit's own list."""
    return any(release.made(line) for release in BEGINNINGS)


def comes_after(line: str) -> bool:
    """Tell whether a line of a statement is about the test of the topics, after the fit's own list."""
    return EVIDENCE.made(line)


def chooses_words(line: str) -> bool:
    """Whether a line of a statement is about the choice of the vocabulary, before the fit itself."""
    return any(release.made(line) for release in OF_WORDS)


def noisy_edges(fit: Fit) -> frozenset[str]:
    """The edges of the graph on which a fit puts noise."""
    return frozenset(release.edge for release in fit.releases if release.edge is not None)


def placements() -> dict[str, Placement]:
    """Where noise goes on the graph of the algorithm: as our lists of releases put it, and as the paper does."""
    ours = Placement(SEQUENTIAL.name, SEQUENTIAL_GRAPH, noisy_edges(SEQUENTIAL), SEQUENTIAL_SUMMARY)
    return {placement.name: placement for placement in (ours, *CUTS.values())}
