"""The recipe "add a release" of CONTRIBUTING, followed: one module, one proof page, one line in a list.

The module is this one: how long documents are, capped. Nothing else is told of it, and it appears in the check of a
split, the graph, the report, the coverage of an audit, and the suite of all releases.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest
import release_suite
from release_suite import check_description, check_made, check_neighbours, check_noise, check_order, check_untainted

from private_topics import BudgetSplit, PrivacyError, PrivateSpectralLDA, audit_privacy, make_lda_corpus
from private_topics.audit.result import coverage
from private_topics.fits import choice, sequential
from private_topics.fits.fit import Fit, PrivateModel
from private_topics.privacy.mechanisms import Released
from private_topics.releases.release import FitContext, Release
from private_topics.reports.sections import budget_of, graph_of
from private_topics.sums.parts import Part
from private_topics.sums.quantised import truncated
from private_topics.sums.unit_sums import AddedUp, Totals

# -- the module ------------------------------------------------------------------------------------------------------

LONGEST = 100


@dataclass(frozen=True)
class CappedLengths(AddedUp):
    """`Σ min(l, 100)/100`: between zero and one for each unit."""

    step: float

    def zeros(self) -> Totals:
        return (np.zeros(1, np.int64),)

    def add(self, part: Part, totals: Totals) -> None:
        capped = np.minimum(part.lengths, LONGEST) / LONGEST
        totals[0][0] += truncated(part.share * capped, self.step).sum()


LENGTHS = Release(
    "capped lengths", "how long documents are", "s1", "vector", "lengths", 1.0, "lengths", CappedLengths
)


def release_lengths(context: FitContext) -> Released:
    asked = context.ask(LENGTHS)
    (released,) = context.release([asked], CappedLengths(asked.step))
    return released


# -- the line in the list --------------------------------------------------------------------------------------------


def model(context: FitContext) -> PrivateModel:
    release_lengths(context)
    return sequential.model(context)


FRACTIONS = sequential.FRACTIONS | {"lengths": 0.05, "refine": 0.605}
WITH_LENGTHS = replace(
    sequential.SEQUENTIAL, releases=(LENGTHS, *sequential.RELEASES), fractions=FRACTIONS, model=model
)


@pytest.fixture
def listed(monkeypatch: pytest.MonkeyPatch) -> Fit:
    monkeypatch.setattr(choice, "SEQUENTIAL", WITH_LENGTHS)
    monkeypatch.setitem(choice.FITS, "sequential", WITH_LENGTHS)
    return WITH_LENGTHS


def fitted(**settings: object) -> PrivateSpectralLDA:
    counts = make_lda_corpus(900, 30, 3, alpha0=0.1, mean_length=40, random_state=0)[0]
    options = {"epsilon": 300.0, "delta": 1e-5, "alpha0": 0.1, "refine_steps": 1, "noise_seed": 1}
    return PrivateSpectralLDA(3, **(options | settings)).fit(counts)


# -- where it appears ------------------------------------------------------------------------------------------------


def test_a_split_may_name_it_and_must_pay_for_it(listed: Fit) -> None:
    assert BudgetSplit().lengths == 0.05
    with pytest.raises(PrivacyError, match=r"positive fractions for .*lengths"):
        fitted(budget_split=BudgetSplit(lengths=0.0, refine=0.655))
    shares = {release.name: release.share for release in fitted().privacy_.releases}
    assert shares["capped lengths"] == pytest.approx(0.05, rel=1e-6)
    assert sum(shares.values()) == pytest.approx(1.0, abs=1e-6)


def test_without_the_line_no_split_knows_it() -> None:
    with pytest.raises(PrivacyError, match="no fraction 'lengths'"):
        BudgetSplit(lengths=0.05, refine=0.605)


def test_an_early_stop_spends_the_rest(listed: Fit) -> None:
    statement = fitted(epsilon=0.3).privacy_
    assert [release.name for release in statement.releases][:2] == ["capped lengths", "unigram"]
    assert statement.releases[-1].name == "unigram again"
    assert sum(release.share for release in statement.releases) == pytest.approx(1.0, abs=1e-6)


def test_graph_and_report_show_it(listed: Fit) -> None:
    statement = fitted().privacy_
    graph = graph_of(statement)
    assert [edge.key for edge in graph.edges if "capped lengths" in edge.releases] == ["s1"]
    assert "how long documents are" in [part.name for part in budget_of(statement).parts]


def test_an_audit_attacks_it(listed: Fit) -> None:
    counts = make_lda_corpus(300, 20, 2, alpha0=0.1, mean_length=40, random_state=0)[0]
    estimator = PrivateSpectralLDA(2, epsilon=100.0, delta=1e-4, alpha0=0.1, refine_steps=1, noise_seed=3)
    result = audit_privacy(estimator, counts, trials=20, fits=10, confidence=0.999)
    attacked = {release.name: release for release in result.releases}
    assert attacked["capped lengths"].within
    assert 0.5 < attacked["capped lengths"].attained <= 1.0
    assert coverage(result, result.statement)["complete"]
    without = replace(result, releases=tuple(one for one in result.releases if one.name != "capped lengths"))
    assert coverage(without, result.statement)["not_attacked"] == ["capped lengths"]


def test_the_suite_of_all_releases_takes_it(listed: Fit) -> None:
    assert WITH_LENGTHS in release_suite.proved_fits()
    assert (WITH_LENGTHS, LENGTHS) in release_suite.every_release()
    check_made(WITH_LENGTHS)
    check_neighbours(WITH_LENGTHS, LENGTHS, grouped=False)
    check_noise(WITH_LENGTHS, LENGTHS)
    check_untainted(WITH_LENGTHS, grouped=False)
    check_order(WITH_LENGTHS)


def test_the_suite_asks_for_its_proof_page(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(AssertionError, match=r"no page lengths\.md"):
        check_description(LENGTHS)
    pages = tmp_path / "docs" / "proofs"
    pages.mkdir(parents=True)
    (pages / "lengths.md").write_text("A length over its cap lies in [0, 1], so one unit moves the sum by at most 1.")
    (pages / "index.md").write_text("| capped lengths | [lengths](lengths.md) |")
    monkeypatch.setattr(release_suite, "ROOT", tmp_path)
    check_description(LENGTHS)


def test_the_suite_is_not_blind(listed: Fit) -> None:
    """Half of its sensitivity declared."""
    halved = replace(LENGTHS, sensitivity=0.5)

    def with_halved(context: FitContext) -> PrivateModel:
        asked = context.ask(halved)
        context.release([asked], CappedLengths(asked.step))
        return sequential.model(context)

    wrong = replace(WITH_LENGTHS, releases=(halved, *sequential.RELEASES), model=with_halved)
    with pytest.raises(AssertionError, match="beyond the sensitivity"):
        check_neighbours(wrong, halved, grouped=False)


def test_a_release_that_is_not_listed_is_refused(listed: Fit, monkeypatch: pytest.MonkeyPatch) -> None:
    unlisted = replace(WITH_LENGTHS, releases=sequential.RELEASES)
    monkeypatch.setattr(choice, "SEQUENTIAL", unlisted)
    with pytest.raises(PrivacyError, match="'capped lengths' is not in the list"):
        fitted()
