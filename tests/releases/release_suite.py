"""One suite for every release of every fit: neighbours, noise, taint, order, what each release says of itself.

The cases come from the lists of the fits (`FITS`): a release that is added to a list is tested without a line here.
`Recorded` is a fit on a small corpus and the same fit on its neighbours, every released value held fixed, as the
theorem on adaptive composition has it.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from private_topics import BudgetSplit, PrivacyWarning, PrivateSpectralLDA, PublicKnowledge, make_lda_corpus
from private_topics.audit.neighbours import CENTRES, REMOVED, Base, extreme_units
from private_topics.audit.recording import Audited, Fitted, RecordingRun, record, replay
from private_topics.audit.sensitivity import Family
from private_topics.estimators.private import settings_of
from private_topics.fits.choice import FITS
from private_topics.fits.fit import Fit, after
from private_topics.fits.informed import INFORMED, MANY
from private_topics.fits.private import FitSettings
from private_topics.fits.published import NOT_PROVED
from private_topics.privacy.mechanisms import PrivateRun
from private_topics.privacy.neighbours import ADD_REMOVE, REPLACE, Neighbours
from private_topics.releases.release import Release
from private_topics.releases.units import UNITS_SHARE

ROOT = Path(__file__).resolve().parents[2]
N_DOCUMENTS, N_WORDS = 900, 30
# By epsilon, alpha0 and how long documents are: for topics on all words, for no certificate and topics refined to the
# end, for one topic; and for pairs of words as deviations, documents that are nearly alike.
CORPORA = {3000.0: (0.1, 40), 3.0: (0.1, 40), 0.3: (0.1, 40), 30.0: (30.0, 100), 10.0: (0.1, 40)}
LARGEST, UNKNOWN = 3000.0, 30.0
FEW = ("empty", "a frequent word, often", "a rare word, often", "three words, once", "every word once",
       "the largest count", "a word of topic 0, often", "user: every word, often", "user: all of these")  # fmt: skip


def proved_fits() -> list[Fit]:
    """Fits whose releases have Gaussian noise for a proved sensitivity."""
    return [fit for fit in FITS.values() if fit.model is not None and not fit.adds_up]


def every_release() -> list[tuple[Fit, Release]]:
    return [(fit, release) for fit in FITS.values() for release in fit.releases]


@dataclass(frozen=True)
class Recorded:
    """What entered each release, for several neighbours, and what the fits left behind."""

    run: RecordingRun
    family: Family
    fitted: list[Fitted]

    def places(self, release: Release) -> list[int]:
        return [index for index, event in enumerate(self.family.events) if release.made(event.name)]


@cache
def corpus(epsilon: float) -> Base:
    alpha0, length = CORPORA[epsilon]
    return Base.of(make_lda_corpus(N_DOCUMENTS, N_WORDS, 3, alpha0=alpha0, mean_length=length, random_state=0)[0])


def settings_for(fit: Fit, epsilon: float, neighbours: Neighbours = REPLACE) -> FitSettings:
    alpha0, _ = CORPORA[epsilon]
    model = PrivateSpectralLDA(
        3, epsilon=epsilon, delta=1e-5, alpha0=alpha0, refine_steps=2, noise_seed=1, neighbours=neighbours,
        keep="untested",  # whose test is attacked in other_runs.py
    )  # fmt: skip
    if fit is INFORMED:
        # So few words need no knowledge: a split of one's own asks for it nevertheless.
        fractions = after(MANY, units=UNITS_SHARE if neighbours == ADD_REMOVE else 0.0)
        split = None if epsilon == LARGEST else BudgetSplit(**fractions)
        model.set_params(budget_split=split, knowledge=knowledge(epsilon))
    return replace(settings_of(model), fit=fit)


@cache
def knowledge(epsilon: float) -> PublicKnowledge:
    """Of words that go together in such documents; at one epsilon of other words, for the fit that cannot use it."""
    if epsilon == UNKNOWN:
        vectors = np.random.default_rng(0).normal(size=(N_WORDS, 3))
        return PublicKnowledge(vectors, np.full(N_WORDS, np.nan), [("other", "other vectors", "0" * 64, N_WORDS)])
    return PublicKnowledge.from_counts(corpus(epsilon).counts[:200])


@cache
def recorded(fit: Fit, epsilon: float, grouped: bool = False, neighbours: Neighbours = REPLACE) -> Recorded:
    base = corpus(epsilon)
    if grouped:
        base = Base.of(base.counts, np.arange(N_DOCUMENTS) // 3)
    with warnings.catch_warnings(action="ignore", category=PrivacyWarning):
        audited = Audited(settings_for(fit, epsilon, neighbours))
        first, run = record(audited, *base.replaced([base.first_unit()]))
        units = extreme_units(base, first, neighbours=neighbours)
        fits, members = [first], {"as it was": [entering for entering, _ in run.seen]}
        few = [name for name in FEW if grouped or not name.startswith("user: ")]
        few += [REMOVED] if neighbours == ADD_REMOVE else []
        assert set(few) <= set(units) | {"a word of topic 0, often"}, "a neighbour of another name"
        for name in filter(units.__contains__, few):  # one topic has no telling word
            neighbour, members[name] = replay(audited, run.seen, *base.replaced([units[name]]))
            fits.append(neighbour)
    family = Family(tuple(released.event for _, released in run.seen), members, CENTRES[neighbours])
    return Recorded(run, family, fits)


@cache
def budgets(fit: Fit, grouped: bool = False) -> tuple[float, ...]:
    """As many epsilons as it takes for the fit to make every release of its list, each time that it can be made."""
    seen: set[str] = set()
    used = []
    for epsilon in CORPORA:
        made = {event.name for event in recorded(fit, epsilon, grouped).family.events}
        if made - seen:
            used.append(epsilon)
            seen |= made
    missing = set(fit.releases) - {fit.release_of(name) for name in seen}
    assert not missing, f"never made: {[release.name for release in missing]}"
    return tuple(used)


def check_made(fit: Fit) -> None:
    """Every release of the list is made at one of the budgets, and nothing that is not in the list."""
    made = [event.name for epsilon in budgets(fit) for event in recorded(fit, epsilon).family.events]
    assert all(fit.release_of(name) is not None for name in made), "a release that is not in the list"


def check_neighbours(fit: Fit, release: Release, grouped: bool) -> None:
    """No two neighbours move what enters the release further than its sensitivity, in rational arithmetic."""
    moved = []
    for epsilon in budgets(fit, grouped):
        found = recorded(fit, epsilon, grouped)
        for place in found.places(release):
            farthest = found.family.farthest(place)
            assert farthest.within, f"{release.name}: neighbours beyond the sensitivity"
            moved.append(farthest.ratio)
    assert max(moved) > 0.0, f"{release.name}: no neighbour moves it"


def check_noise(fit: Fit, release: Release) -> None:
    for epsilon in budgets(fit):
        found = recorded(fit, epsilon)
        for place in found.places(release):
            entering, released = found.run.seen[place]
            bare = entering.aggregate * entering.query.step
            assert (released.value != bare).all(), f"{release.name}: numbers without noise"
            behind = released.value.base
            assert behind is None or behind.size == released.value.size, f"{release.name}: carries other numbers"


def check_untainted(fit: Fit, grouped: bool) -> None:
    """With every released value held fixed, nothing that a fit leaves behind depends on the corpus."""
    for epsilon in budgets(fit):
        first, *others = recorded(fit, epsilon, grouped).fitted
        assert all(first.like(other) for other in others), "the model depends on more than its released values"


def check_order(fit: Fit) -> None:
    """Documents in another order, in other blocks: the same integers."""
    order = np.random.default_rng(0).permutation(N_DOCUMENTS)
    for epsilon in budgets(fit):
        base, found = corpus(epsilon), recorded(fit, epsilon)
        counts, _ = base.replaced([base.first_unit()])
        shuffled = [counts[order[:100]], counts[order[100:101]], counts[order[101:]]]
        with warnings.catch_warnings(action="ignore", category=PrivacyWarning):
            _, entering = replay(Audited(settings_for(fit, epsilon)), found.run.seen, shuffled, None)
        for one, (other, _) in zip(entering, found.run.seen, strict=True):
            assert np.array_equal(one.aggregate, other.aggregate), one.query.name


def check_sums(fit: Fit) -> None:
    """Every release is added up by the sum that it names, or that one of the same pass does."""
    sums: list[tuple[list[str], type]] = []
    original = PrivateRun.release_sums

    def watched(self: PrivateRun, source: Any, unit_sum: Any, asked: Any, aggregates: Any) -> Any:
        sums.append(([one.query.name for one in asked], type(unit_sum)))
        return original(self, source, unit_sum, asked, aggregates)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(PrivateRun, "release_sums", watched)
        for epsilon in budgets(fit):
            recorded.__wrapped__(fit, epsilon)
    assert sums
    for names, kind in sums:
        assert kind in {fit.release_of(name).unit_sum for name in names}, names


def check_description(release: Release) -> None:
    """It names a page that exists and is in the table of proofs, and a sum that an engine can add up."""
    if release.proof != NOT_PROVED:
        page = ROOT / "docs" / "proofs" / f"{release.proof}.md"
        assert page.exists(), f"{release.name}: no page {release.proof}.md"
        assert f"]({release.proof}.md)" in page.with_name("index.md").read_text(encoding="utf-8")
    assert release.stage
    assert release.unit_sum is None or all(hasattr(release.unit_sum, name) for name in ("zeros", "add", "aggregates"))
