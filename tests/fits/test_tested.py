"""Fits that test their own topics: what they learn from, what they keep, and that every release stays in bounds."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from typer.testing import CliRunner

from private_topics import (
    BudgetSplit,
    InputError,
    ModelFileError,
    PrivacyError,
    PrivacyWarning,
    PrivateSpectralLDA,
    PublicKnowledge,
    load,
    make_lda_corpus,
    merge_topics,
    rename_topics,
    topics_of,
    write_report,
)
from private_topics.audit.neighbours import CENTRES, Base, extreme_units
from private_topics.audit.recording import Audited, record, replay
from private_topics.audit.sensitivity import Family
from private_topics.cli import app
from private_topics.corpus.counts.blocks import MatrixBlocks
from private_topics.corpus.made_up.letters import write_letters
from private_topics.engines.local import LocalCorpus
from private_topics.estimators.private import settings_of
from private_topics.fits.fit import after
from private_topics.fits.informed import MANY
from private_topics.fits.sequential import SEQUENTIAL
from private_topics.fits.tested import directions_of, seen_groups, tree_of
from private_topics.knowledge.shipped import shipped
from private_topics.releases.evidence import EVIDENCE, EVIDENCE_SHARE, NoisyEvidence, discovery_limit, limit_of
from private_topics.sums.evidence import Agreement, Learnt, learnt_counts
from private_topics.sums.unit_sums import NormedCounts

CORPUS, _, _ = make_lda_corpus(4_000, 60, 4, alpha0=0.3, mean_length=40, random_state=0)
WORDS = shipped("english").words[300:1800]
KNOWN = PublicKnowledge.english(WORDS)
FREQUENCIES = 1.0 / np.arange(10.0, 1510.0)
VECTORS: dict[str, Any] = {"knowledge": KNOWN, "n_components": 10, "epsilon": 1.0}
DATA: dict[str, Any] = {"epsilon": 10.0, "delta": 1e-5, "noise_seed": 0}


def without_topics(seed: int, documents: int = 2_000) -> sp.csr_array:
    """English words, drawn at random: vectors know what they mean, and no document is about anything."""
    draw = np.random.default_rng(seed)
    return sp.csr_array(draw.multinomial(40, FREQUENCIES / FREQUENCIES.sum(), size=documents))


def fitted(counts: Any, groups: Any = None, **settings: Any) -> PrivateSpectralLDA:
    with warnings.catch_warnings(action="ignore", category=PrivacyWarning):
        return PrivateSpectralLDA(**DATA | {"n_components": 4, "keep": "seen"} | settings).fit(counts, groups=groups)


def test_topics_that_are_there_are_kept_and_said_to_be_seen() -> None:
    model = fitted(CORPUS)
    assert len(model.components_) == 4
    assert model.evidence_ is not None
    assert model.evidence_.seen.all()
    assert model.evidence_.gain_low > 0.1
    assert "4 of 4 topics are seen" in model.evidence_.sentence
    assert model.privacy_.epsilon_spent <= 10.0
    assert model.privacy_.releases[-1].name == EVIDENCE.name
    assert model.components_.sum(axis=1) == pytest.approx(1.0)


def test_a_fit_is_tested_unless_it_is_told_not_to() -> None:
    with warnings.catch_warnings(action="ignore", category=PrivacyWarning):
        usual = PrivateSpectralLDA(4, **DATA).fit(CORPUS)
        untested = PrivateSpectralLDA(4, **DATA, keep="untested").fit(CORPUS)
        of_ones_own = PrivateSpectralLDA(4, **DATA, budget_split=BudgetSplit()).fit(CORPUS)
        published = PrivateSpectralLDA(4, **DATA, configuration=2).fit(CORPUS)
    assert usual.evidence_ is not None
    assert usual.evidence_ == fitted(CORPUS).evidence_
    for model in (untested, of_ones_own, published):
        assert model.evidence_ is None
        assert EVIDENCE.name not in [release.name for release in model.privacy_.releases]


@pytest.mark.statistical
def test_vectors_find_topics_where_there_are_none_and_the_test_takes_them_away() -> None:
    """One of a hundred corpora may keep more than one: of 20 more than 4 would have a probability below 1e-5."""
    kept = []
    for seed in range(20):
        counts = without_topics(seed)
        tested = fitted(counts, **VECTORS, noise_seed=seed)
        kept.append(len(tested.components_))
        if seed < 3:
            assert len(fitted(counts, keep="untested", **VECTORS, noise_seed=seed).components_) == 10
            assert EVIDENCE.name in [release.name for release in tested.privacy_.releases]
    assert sum(count > 1 for count in kept) <= 4


def test_a_fit_that_goes_on_without_its_vectors_keeps_the_share_of_the_test() -> None:
    """Vectors that say nothing of these words, looked at because a split of one's own pays for it."""
    vectors = np.random.default_rng(0).normal(size=(60, 3))
    useless = PublicKnowledge(vectors, np.full(60, np.nan), [("other", "other vectors", "0" * 64, 60)])
    split = BudgetSplit(**after(MANY, evidence=EVIDENCE_SHARE))
    model = fitted(CORPUS, knowledge=useless, budget_split=split)
    names = [release.name for release in model.privacy_.releases]
    assert {"public second moment 1", "frame second moment", EVIDENCE.name} <= set(names)
    assert model.privacy_.epsilon_spent == pytest.approx(model.epsilon, rel=1e-3)
    assert model.evidence_ is not None


def test_all_topics_are_kept_where_asked_and_marked() -> None:
    model = fitted(without_topics(0), keep="all", **VECTORS)
    assert len(model.components_) == 10
    assert model.evidence_ is not None
    assert not model.evidence_.seen.any()
    assert "None of the 10 topics is seen" in model.evidence_.sentence


def test_reports_and_tables_tell_what_the_texts_show(tmp_path: Path) -> None:
    pages = {}
    for name, model in {
        "real": fitted(CORPUS),
        "nothing": fitted(without_topics(0), **VECTORS),
        "hopeless": fitted(CORPUS[:300], epsilon=0.1),  # it carries one topic, and tests none
        "all": fitted(without_topics(0), keep="all", **VECTORS),
        "untested": fitted(CORPUS, keep="untested"),
    }.items():
        write_report(model, tmp_path / name)
        pages[name] = (tmp_path / name).read_text(encoding="utf-8")
        assert [topic.seen for topic in topics_of(model)] == (
            [None] * len(model.components_) if model.evidence_ is None else model.evidence_.seen.tolist()
        )
    assert "4 of 4 topics are seen in the texts beyond doubt" in pages["real"]
    assert pages["real"].count("Seen in your texts") == 4
    assert "No topic structure above the noise was found" in pages["nothing"]
    assert "No topic structure above the noise was found" in pages["hopeless"]
    assert "None of the 10 topics is seen" in pages["all"]
    assert pages["all"].count("Not beyond doubt in your texts") == 10
    assert pages["all"].count('class="unseen"') == 10
    assert not any(words in pages["untested"] for words in ("in your texts", "in the texts beyond"))


def test_the_command_says_what_the_texts_show(tmp_path: Path) -> None:
    write_letters(tmp_path / "letters.jsonl.gz", 3_000, seed=0)
    options = ["--topics", "3", "--epsilon", "10", "--delta", "1e-5", "-o", str(tmp_path / "model")]
    done = CliRunner().invoke(app, ["fit", str(tmp_path / "letters.jsonl.gz"), "--keep", "seen", *options])
    assert done.exit_code == 0
    assert "topics are seen in the texts beyond doubt" in " ".join(done.output.split())
    told = json.loads(CliRunner().invoke(app, ["topics", str(tmp_path / "model"), "--json"]).stdout)
    assert all(topic["seen"] and topic["evidence"] > 3.0 for topic in told)
    refused = CliRunner().invoke(app, ["fit", "x", "--no-privacy", "--keep", "all", "-o", "y"])
    assert "contradicts --keep" in " ".join(refused.output.split())


def test_the_evidence_is_for_the_topics_as_they_were(tmp_path: Path) -> None:
    model = fitted(CORPUS)
    assert model.evidence_ is not None
    assert rename_topics(model, {0: "first"}).evidence_.to_dict() == model.evidence_.to_dict()
    assert merge_topics(model, [0, 1]).evidence_ is None
    header, arrays = model._parts()
    for wrong in ({"seen": [True]}, {"gain": float("nan")}, {"losses": ["x"] * 4}, {"deviations": [[1.0] * 4]}):
        damaged = {**header, "evidence": {**header["evidence"], **wrong}}
        with pytest.raises(ModelFileError):
            PrivateSpectralLDA._from_parts(damaged, arrays, "a file")


def test_a_fit_learns_nothing_but_frequencies_from_the_words_that_test_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the sums after the first see, and all that they see, is what is left of the documents."""
    asked: list[Any] = []
    total = LocalCorpus.total
    monkeypatch.setattr(LocalCorpus, "total", lambda self, of: (asked.append(of), total(self, of))[1])
    fitted(CORPUS)
    assert len(asked) > 4
    whole = [one for one in asked if not isinstance(one, Learnt)]
    assert all(isinstance(one, NormedCounts | Agreement) for one in whole)
    assert sum(isinstance(one, Agreement) for one in whole) == 1
    inner = next(one for one in asked if isinstance(one, Learnt))
    left = LocalCorpus(MatrixBlocks(learnt_counts(LocalCorpus.of(MatrixBlocks(CORPUS)).blocks.counts)))
    expected = total(left, inner.of)
    assert all(map(np.array_equal, total(LocalCorpus.of(MatrixBlocks(CORPUS)), inner), expected))


@pytest.mark.parametrize("neighbours", ["replace", "zero-out", "add-remove"])
@pytest.mark.parametrize("grouped", [False, True])
def test_no_neighbour_moves_a_release_beyond_its_sensitivity(neighbours: Any, grouped: bool) -> None:
    counts = CORPUS[:600]
    base = Base.of(counts, np.arange(600) // 3) if grouped else Base.of(counts)
    with warnings.catch_warnings(action="ignore", category=PrivacyWarning):
        model = PrivateSpectralLDA(3, **DATA | {"epsilon": 300.0}, keep="seen", neighbours=neighbours)
        audited = Audited(settings_of(model))
        first, run = record(audited, *base.replaced([base.first_unit()]))
        members, told_apart = {"as it was": [entering for entering, _ in run.seen]}, []
        for name, unit in extreme_units(base, first, neighbours=neighbours).items():
            fitted_to, members[name] = replay(audited, run.seen, *base.replaced([unit]))
            told_apart += [] if first.like(fitted_to) else [name]
    family = Family(tuple(released.event for _, released in run.seen), members, CENTRES[neighbours])
    names = [event.name for event in family.events]
    assert EVIDENCE.name in names
    assert first.model.evidence is not None
    assert told_apart == []
    assert all(family.farthest(place).within for place in range(len(names)))
    assert family.farthest(names.index(EVIDENCE.name)).ratio > 0.3


def test_the_evidence_stays_with_the_model(tmp_path: Any) -> None:
    model = fitted(CORPUS)
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert model.evidence_ is not None
    assert again.evidence_.to_dict() == model.evidence_.to_dict()
    assert again.keep == "seen"
    own = fitted(CORPUS, keep=None, budget_split=BudgetSplit())
    own.save(tmp_path / "own")
    assert load(tmp_path / "own").keep == "untested", "its split is the usual one, which None would mean"
    assert fitted(CORPUS, keep="untested").evidence_ is None


def test_settings_that_contradict_each_other_are_refused() -> None:
    with pytest.raises(InputError, match="'keep' parameter of PrivateSpectralLDA must be None or"):
        fitted(CORPUS, keep="some")
    with pytest.raises(InputError, match="belongs to configuration='sequential'"):
        fitted(CORPUS, configuration=2)
    paid = BudgetSplit(**after(SEQUENTIAL.fractions, evidence=EVIDENCE_SHARE))
    with pytest.raises(PrivacyError, match="must leave nothing for evidence"):
        fitted(CORPUS, keep="untested", budget_split=paid)
    with pytest.raises(PrivacyError, match="needs a fraction for the test"):
        fitted(CORPUS, budget_split=BudgetSplit())


def test_one_topic_needs_no_test_and_its_share_is_not_lost() -> None:
    with warnings.catch_warnings(action="ignore", category=PrivacyWarning):
        alone = PrivateSpectralLDA(1, **DATA, keep="seen").fit(CORPUS)
        hopeless = PrivateSpectralLDA(4, **DATA | {"epsilon": 0.2}, keep="seen").fit(CORPUS[:300])
    for model in (alone, hopeless):
        assert len(model.components_) == 1
        assert model.evidence_ is None
        assert EVIDENCE.name not in [release.name for release in model.privacy_.releases]
        assert model.privacy_.epsilon_spent == pytest.approx(model.epsilon, rel=1e-3)


# -- which topics are kept -------------------------------------------------------------------------------------------


def noisy(products: np.ndarray, noise: float = 0.01) -> NoisyEvidence:
    k = len(products)
    trace = float(np.trace(products))
    none = np.zeros(k)
    return NoisyEvidence(products, np.full((k, k), -1.0), none, none, none, 0.1, trace, 1.0, noise, 10**9)


PAIRS = np.array([[0.4, 0.4, 0.1, 0.1, 0.0, 0.0], [0.3, 0.5, 0.1, 0.1, 0.0, 0.0],
                  [0.1, 0.1, 0.4, 0.4, 0.0, 0.0], [0.1, 0.1, 0.5, 0.3, 0.0, 0.0]])  # fmt: skip
ALIKE = directions_of(PAIRS, np.ones(4))


def groups(products: Any) -> list[tuple[int, ...]]:
    return sorted(seen_groups(noisy(np.asarray(products)), tree_of(ALIKE), ALIKE))


def test_topics_that_are_alike_are_joined_first() -> None:
    assert set(tree_of(ALIKE)) == {(0,), (1,), (2,), (3,), (0, 1), (2, 3), (0, 1, 2, 3)}


def test_nothing_seen_is_one_topic_and_everything_seen_is_all() -> None:
    assert groups(np.zeros((4, 4))) == [(0, 1, 2, 3)]
    assert groups(0.2 * np.eye(4)) == [(0,), (1,), (2,), (3,)]


def test_twins_that_are_only_seen_together_stay_together() -> None:
    together = np.kron(np.eye(2), np.full((2, 2), 0.04))
    together[[0, 1, 2, 3], [0, 1, 2, 3]] = 0.002
    assert groups(together * [[1.0], [1.0], [1.0], [1.0]]) == [(0, 1), (2, 3)]


def test_what_is_not_seen_goes_to_the_nearest() -> None:
    products = np.diag([0.2, -0.02, 0.2, 0.2])
    assert groups(products) == [(0, 1), (2,), (3,)]


def test_many_weak_topics_show_together() -> None:
    weak = 0.9 * limit_of(2) * 0.01
    assert groups(weak * np.eye(4)) == [(0,), (1,), (2,), (3,)]
    assert groups(np.diag([weak, 0.0, 0.0, 0.0])) == [(0, 1, 2, 3)]


def test_one_strong_topic_shows_by_itself() -> None:
    """At half of the level for all topics and joined groups; their sum has the other half."""
    barely = 0.01 * limit_of(12)
    against = np.diag([0.0, -barely, 0.0, 0.0])
    assert groups(np.diag([1.01 * barely, 0.0, 0.0, 0.0]) + against) != [(0, 1, 2, 3)]
    assert groups(np.diag([0.99 * barely, 0.0, 0.0, 0.0]) + against) == [(0, 1, 2, 3)]


def test_the_limit_of_discoveries() -> None:
    """A fifth may be noise; twice as many are as are below zero, and two more."""
    assert discovery_limit([9.0] * 4) == pytest.approx(0.2533, abs=1e-3)  # 0.2 · 4 of 2
    assert discovery_limit([9.0, 0.1, -1.0, -1.0]) == pytest.approx(1.6449, abs=1e-3)  # 0.2 · 1 of 4
    assert discovery_limit([9.0, 9.0, 9.0, -1.0]) == pytest.approx(1.0364, abs=1e-3)  # 0.2 · 3 of 4
    assert discovery_limit([0.0, 0.0]) == pytest.approx(1.2816, abs=1e-3)
    assert discovery_limit([9.0] * 30) == 0.0, "none below zero is kept"
