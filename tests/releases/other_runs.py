"""Runs that are no fit: every release that no fit of the suite makes, made by the function that a user calls.

A run is replayed on neighbouring corpora with its noise and everything that entered its releases held fixed. Then
nothing that it returns, raises or warns of may differ; what would have entered the releases must lie within their
sensitivity.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from private_support import counts_of
from private_topics import (
    CandidateVocabulary,
    PrivacyBudget,
    PrivacyError,
    PrivacyWarning,
    PrivateSpectralLDA,
    PrivateVariationalLDA,
    PrivateVocabulary,
    WordList,
    class_shares,
    evidence_of,
    fit_texts,
    make_lda_corpus,
    make_vocabulary,
    private_log_likelihood,
)
from private_topics.audit.recording import Entering, EnteringWords, aligned
from private_topics.privacy.neighbours import ADD_REMOVE, NEIGHBOURS, REPLACE, ZERO_OUT, Neighbours
from private_topics.releases.candidates import CANDIDATES
from private_topics.releases.class_shares import CLASS_SHARES
from private_topics.releases.evidence import EVIDENCE
from private_topics.releases.likelihood import LIKELIHOOD
from private_topics.releases.release import Release
from private_topics.releases.statistic import MINIBATCH
from private_topics.releases.units import UNITS
from private_topics.releases.units_with_words import UNITS_WITH_WORDS
from private_topics.releases.vocabulary import VOCABULARY
from replay_support import Replay, watched

N_WORDS, LARGEST = 12, 2**31 - 1
WORDS = [f"term{letter}{letter}" for letter in "abcdefghijkl"]
CLASSES = ["a", "b", "nobody"]
Document = Mapping[int, int]
Unit = tuple[tuple[Document, str | None], ...]
"""The documents of a unit, each with its class."""


def documents() -> dict[str, Unit]:
    """Units made to move a release far; where users are not units, the first document of each."""
    return {
        "empty": (({}, None),),
        "a class and no word": (({}, "a"),),
        "a word": (({0: 1}, "a"),),
        "a word, often": (({0: 900}, "a"),),
        "another word, often": (({1: 900}, "b"),),
        "a word that no topic has": (({N_WORDS - 1: LARGEST}, "a"),),
        "that word beside others": (({0: LARGEST, N_WORDS - 1: LARGEST}, "b"),),
        "every word": ((dict.fromkeys(range(N_WORDS), 1), "b"),),
        "a class that is not listed": (({2: 5}, "secret"),),
    }


def users() -> dict[str, Unit]:
    found = documents()
    return {
        **found,
        "many documents": found["a word, often"] * 40,
        "all of these": tuple(document for unit in found.values() for document in unit),
        "empty but for one": (({0: 5}, "a"), *[({}, None)] * 9),
    }


@dataclass(frozen=True)
class OtherRun:
    """A call that releases something: `call(units, grouped, neighbours)` gives all that it shows."""

    name: str
    releases: tuple[Release, ...]
    call: Callable[[Sequence[Unit], bool, Neighbours], Any]
    neighbours: tuple[Neighbours, ...] = NEIGHBOURS


@cache
def base() -> tuple[Unit, ...]:
    """Enough units for every run to get as far as its last release; some without a word, some without a class."""
    counts = make_lda_corpus(900, N_WORDS, 2, alpha0=0.1, mean_length=12, random_state=0)[0]
    rows = [{int(word): int(count) for word, count in zip(row.indices, row.data, strict=True)} for row in counts]
    labels = ["a", "b", None, "secret"]
    return tuple(((row if number % 50 else {}, labels[number % 4]),) for number, row in enumerate(rows))


def corpora(grouped: bool, neighbours: Neighbours) -> dict[str, tuple[Unit, ...]]:
    """The corpus and its neighbours; first the one without the unit, where there is one."""
    units = users() if grouped else documents()
    found = {name: (*base(), unit) for name, unit in units.items()}
    return {"absent": base(), **found} if neighbours == ADD_REMOVE else found


def counts_and_groups(units: Sequence[Unit], grouped: bool) -> tuple[Any, list[str | None], Any]:
    rows = [document for unit in units for document, _ in unit]
    labels = [label for unit in units for _, label in unit]
    groups = [number for number, unit in enumerate(units) for _ in unit] if grouped else None
    return counts_of(rows, N_WORDS), labels, groups


def texts_of(units: Sequence[Unit], grouped: bool) -> list[Any]:
    """The same corpus as text; no word more often than a thousand times."""
    found = []
    for number, unit in enumerate(units):
        for document, _ in unit:
            text = " ".join(" ".join([WORDS[word]] * min(count, 1_000)) for word, count in document.items())
            found.append((text, f"u{number}") if grouped else text)
    return found


@cache
def model(grouped: bool, neighbours: Neighbours) -> PrivateSpectralLDA:
    """A private model with a word that no topic has; as if nobody knew its seed, so that every call takes it."""
    counts, _, groups = counts_and_groups(base(), grouped)
    settings: dict[str, Any] = {"epsilon": 200.0, "delta": 1e-5, "neighbours": neighbours, "noise_seed": 3}
    with warnings.catch_warnings(action="ignore", category=PrivacyWarning):
        fitted = PrivateSpectralLDA(2, alpha0=0.1, **settings).fit(counts, groups=groups)
    fitted.components_[:, -1] = 0.0
    fitted.components_ /= fitted.components_.sum(axis=1, keepdims=True)
    fitted.privacy_ = replace(fitted.privacy_, private=True)
    return fitted


def likelihood(units: Sequence[Unit], grouped: bool, neighbours: Neighbours) -> Any:
    counts, _, groups = counts_and_groups(units, grouped)
    found = private_log_likelihood(
        model(grouped, neighbours), counts, groups=groups, epsilon=1.0, delta=1e-5, noise_seed=1
    )
    return repr(found)


def shares(units: Sequence[Unit], grouped: bool, neighbours: Neighbours) -> Any:
    counts, labels, groups = counts_and_groups(units, grouped)
    settings: dict[str, Any] = {"epsilon": 1.0, "delta": 1e-5, "noise_seed": 1}
    found = class_shares(model(grouped, neighbours), counts, CLASSES, labels=labels, groups=groups, **settings)
    return found.to_json()


def shares_of_one(units: Sequence[Unit], grouped: bool, neighbours: Neighbours) -> Any:
    """No document has a class of the list, but perhaps those of the last unit."""
    bare = [tuple((document, None) for document, _ in unit) for unit in units[: len(base())]]
    return shares([*bare, *units[len(base()) :]], grouped, neighbours)


def most_units(units: Sequence[Unit], grouped: bool, neighbours: Neighbours) -> Any:
    """As many units as are promised, or one more: the released number decides what is refused."""
    counts, labels, groups = counts_and_groups(units, grouped)
    settings: dict[str, Any] = {"labels": labels, "groups": groups, "delta": 1e-5, "noise_seed": 1}
    found = []
    for least in (-200, 0, 200):  # below, near and above what the noise reaches
        try:
            most = len(base()) + least
            found.append(
                class_shares(model(grouped, neighbours), counts, CLASSES, most_units=most, **settings).to_json()
            )
        except PrivacyError as error:
            found.append(str(error))
    assert any("most_units" in text for text in found)
    return found


def evidence(units: Sequence[Unit], grouped: bool, neighbours: Neighbours) -> Any:
    counts, _, groups = counts_and_groups(units, grouped)
    settings: dict[str, Any] = {"epsilon": 1.0, "delta": 1e-5, "neighbours": neighbours, "noise_seed": 1}
    return evidence_of(model(grouped, neighbours), counts, groups=groups, **settings).to_json()


def variational(units: Sequence[Unit], grouped: bool, neighbours: Neighbours) -> Any:
    counts, _, groups = counts_and_groups(units, grouped)
    fitted = PrivateVariationalLDA(2, epsilon=3.0, delta=1e-5, steps=3, sampling_rate=0.5, noise_seed=1)
    fitted.fit(counts, groups=groups)
    return fitted.components_.tobytes(), fitted.privacy_


def vocabulary(chosen: Any) -> Callable[[Sequence[Unit], bool, Neighbours], Any]:
    def call(units: Sequence[Unit], grouped: bool, neighbours: Neighbours) -> Any:
        words, run = make_vocabulary(
            texts_of(units, grouped), PrivacyBudget(3.0, 1e-5), chosen, neighbours=neighbours
        )
        return words, run.released_events

    return call


def texts(chosen: Any) -> Callable[[Sequence[Unit], bool, Neighbours], Any]:
    def call(units: Sequence[Unit], grouped: bool, neighbours: Neighbours) -> Any:
        fitted = PrivateSpectralLDA(2, epsilon=3.0, delta=1e-5, neighbours=neighbours, refine_steps=1, noise_seed=1)
        fit_texts(fitted, texts_of(units, grouped), chosen)
        return fitted.components_.tobytes(), fitted.privacy_, fitted.feature_names_in_.tolist()

    return call


LISTED = WordList("listed", tuple(WORDS))
CANDIDATE, PRIVATE = CandidateVocabulary(LISTED), PrivateVocabulary(most_words_per_unit=4)
RUNS = (
    OtherRun("likelihood", (LIKELIHOOD,), likelihood, (REPLACE,)),
    OtherRun("class shares", (CLASS_SHARES, UNITS), shares),
    OtherRun("shares of one", (CLASS_SHARES, UNITS), shares_of_one),
    OtherRun("most units", (CLASS_SHARES, UNITS), most_units, (ADD_REMOVE,)),
    OtherRun("evidence", (EVIDENCE, UNITS), evidence),
    OtherRun("variational", (MINIBATCH,), variational, (REPLACE,)),
    OtherRun("private vocabulary", (UNITS_WITH_WORDS, VOCABULARY, UNITS), vocabulary(PRIVATE)),
    OtherRun("candidates", (UNITS_WITH_WORDS, CANDIDATES, UNITS), vocabulary(CANDIDATE)),
    OtherRun("texts with a list", (UNITS_WITH_WORDS, UNITS), texts(LISTED)),
    OtherRun("texts with candidates", (UNITS_WITH_WORDS, CANDIDATES, UNITS), texts(CANDIDATE)),
)


def made(run: OtherRun, units: Sequence[Unit], grouped: bool, neighbours: Neighbours, first: Replay | None) -> Replay:
    """One run: what it returns or raises, and every warning."""
    with warnings.catch_warnings(record=True) as said, watched(first) as found:
        warnings.simplefilter("always")
        try:
            found.shown = run.call(units, grouped, neighbours)
        except Exception as error:  # what it says is compared
            found.shown = type(error), str(error)
    found.said = tuple(f"{one.category.__name__}: {one.message}" for one in said)
    return found


@cache
def replays(run: OtherRun, grouped: bool, neighbours: Neighbours) -> dict[str, Replay]:
    """The run on a corpus, and on its neighbours with everything that was released held fixed."""
    found: dict[str, Replay] = {}
    model(grouped, neighbours)  # whose own releases are not watched
    for name, units in corpora(grouped, neighbours).items():
        found[name] = made(run, units, grouped, neighbours, next(iter(found.values()), None))
    return found


def check_other_run(run: OtherRun, grouped: bool, neighbours: Neighbours) -> None:
    """Neighbours within the sensitivity; noise on every number; nothing but released values shown or said."""
    found = replays(run, grouped, neighbours)
    first = next(iter(found.values()))
    assert not isinstance(first.shown, tuple) or not isinstance(first.shown[0], type), first.shown
    for name, other in found.items():
        assert other.shown == first.shown, f"{run.name}: {name}: what is returned or raised depends on the corpus"
        assert other.said == first.said, f"{run.name}: {name}: what is warned of depends on the corpus"
        assert len(other.entering) == len(first.entering)
    wanted = {release for release in run.releases if release is not UNITS or neighbours == ADD_REMOVE}
    for place, entering in enumerate(first.entering):
        released = first.released[place]
        if entering.query.step < 1e-2 * released.sigma and not isinstance(entering, EnteringWords):
            assert (released.value != entering.aggregate * entering.query.step).all(), "numbers without noise"
        for release in [one for one in wanted if one.made(entering.query.name)]:
            assert entering.query.sensitivity >= release.sensitivity_to(neighbours)
            moved = distances([replay.entering[place] for replay in found.values()], list(found), neighbours)
            limit = entering.query.sensitivity / entering.query.step
            assert max(moved) <= limit * (1.0 + 1e-12), f"{release.name}: neighbours beyond the sensitivity"
            if max(moved) > 0.0:
                wanted = wanted - {release}
    assert not wanted, f"{run.name}: no neighbour moves {[release.name for release in wanted]}"


def distances(entering: list[Entering], names: list[str], neighbours: Neighbours) -> list[float]:
    """Of all pairs that are neighbours, in steps: any two units, or a unit and none, or a unit and an empty one."""
    arrays = [one.aggregate.astype(np.float64) for one in aligned(entering)]
    centre = {REPLACE: None, ZERO_OUT: "empty", ADD_REMOVE: "absent"}[neighbours]
    firsts = range(len(arrays)) if centre is None else [names.index(centre)]
    return [float(np.linalg.norm(arrays[one] - other)) for one in firsts for other in arrays]
