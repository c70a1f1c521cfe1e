"""Neighbours that replace, empty, add or remove a unit: named everywhere, with their own noise, or refused.

Where the number of units is not public, nothing but its noisy value is said, written or used.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from private_support import captured_releases
from private_topics import (
    BudgetSplit,
    CandidateVocabulary,
    DurableLedger,
    InputError,
    PrivacyBudget,
    PrivacyError,
    PrivacyWarning,
    PrivateSpectralLDA,
    PrivateVariationalLDA,
    PrivateVocabulary,
    WordList,
    fit_texts,
    load,
    make_lda_corpus,
    make_vocabulary,
)
from private_topics.cli import app
from private_topics.corpus.made_up.letters import make_letters
from private_topics.estimators.saving import read_model, write_model
from private_topics.privacy.mechanisms import PrivateRun
from private_topics.privacy.neighbours import ADD_REMOVE, NEIGHBOURS, REPLACE, ZERO_OUT, Neighbours
from private_topics.releases.units import UNITS_SHARE
from private_topics.releases.vocabulary import units_needed
from private_topics.reports.verdict import verdict_of

COUNTS = make_lda_corpus(400, 30, 2, alpha0=0.1, mean_length=40, random_state=0)[0]
N_UNITS = 400
TEXTS = [letter.text for letter in make_letters(600, seed=2)]
WORDS = sorted(
    {word for letter in make_letters(200, seed=9) for word in letter.text.lower().split() if word.isalpha()}
)
BOTH = pytest.mark.parametrize("neighbours", [ZERO_OUT, ADD_REMOVE])
ALL = pytest.mark.parametrize("neighbours", NEIGHBOURS)


def private(neighbours: Neighbours, epsilon: float = 20.0, **settings: Any) -> PrivateSpectralLDA:
    defaults = {"delta": 1e-5, "alpha0": 0.1, "refine_steps": 1, "noise_seed": 3}
    return PrivateSpectralLDA(2, epsilon=epsilon, neighbours=neighbours, **{**defaults, **settings})


def noise_of(model: PrivateSpectralLDA) -> dict[str, float]:
    """Noise over the root of the share: that of the whole budget, but for a clip."""
    return {release.name: release.sigma * release.share**0.5 for release in model.privacy_.releases}


def says(text: str, number: int) -> bool:
    """Whether a text has this number, and not merely its digits in another one."""
    return re.search(rf"(?<![\w.]){number:,}(?![\w.]*\d)|(?<![\w.]){number}(?![\w.]*\d)", text) is not None


# -- what a model says -----------------------------------------------------------------------------------------------


@ALL
def test_statement_report_and_ledger_name_the_relation(neighbours: Neighbours, tmp_path: Path) -> None:
    ledger = DurableLedger.register(tmp_path / "budget.db", "corpus", 100.0, 1e-3, neighbours=neighbours)
    model = private(neighbours, ledger=ledger, noise_seed=None).fit(COUNTS)
    statement = model.privacy_
    assert statement.relation == neighbours
    words = {REPLACE: "replaced by any other", ZERO_OUT: "emptied (zero-out", ADD_REMOVE: "removed (add-remove"}
    assert words[neighbours] in statement.text
    assert words[neighbours] in verdict_of(statement).detail
    (row,) = ledger.entries()
    assert row.neighbours == neighbours
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert (again.privacy_, again.neighbours) == (statement, neighbours)
    page = tmp_path / "report.html"
    made = CliRunner().invoke(app, ["report", str(tmp_path / "model"), "--output", str(page)])
    assert made.exit_code == 0, made.output
    assert neighbours == REPLACE or f"({neighbours} neighbours)" in page.read_text(encoding="utf-8")


def test_a_file_of_old_is_for_replaced_units(tmp_path: Path) -> None:
    model = private(REPLACE).fit(COUNTS)
    model.save(tmp_path / "new")
    header, arrays = read_model(tmp_path / "new")
    del header["privacy"]["relation"], header["parameters"]["neighbours"], header["parameters"]["most_units"]
    del header["budget_split"]["units"]
    kept = ("class", "library", "parameters", "privacy", "supported_components", "spectrum", "budget_split")
    write_model(tmp_path / "old", {name: header[name] for name in kept}, arrays)
    old = load(tmp_path / "old")
    assert (old.neighbours, old.privacy_, old.budget_split) == (REPLACE, model.privacy_, None)


def test_a_relation_that_nobody_knows_is_no_statement() -> None:
    statement = private(REPLACE).fit(COUNTS).privacy_
    with pytest.raises(PrivacyError):
        type(statement).from_dict(statement.to_dict() | {"relation": "sometimes"})


def test_noise_is_smaller_by_root_two_or_two() -> None:
    noise = {neighbours: noise_of(private(neighbours).fit(COUNTS)) for neighbours in NEIGHBOURS}
    for neighbours in (ZERO_OUT, ADD_REMOVE):
        ratio = {name: noise[REPLACE][name] / noise[neighbours][name] for name in ("unigram", "refinement 1")}
        assert list(ratio.values()) == pytest.approx([2**0.5] * 2, rel=1e-9)
        same = noise[REPLACE]["second clip factors"] / noise[neighbours]["second clip factors"]
        assert same == pytest.approx(1.0, rel=1e-9)
    assert "number of units" not in noise[REPLACE] | noise[ZERO_OUT]


@ALL
def test_the_whole_budget_is_spent(neighbours: Neighbours) -> None:
    statement = private(neighbours).fit(COUNTS).privacy_
    assert sum(release.share for release in statement.releases) == pytest.approx(1.0, abs=1e-6)
    assert statement.epsilon_spent == pytest.approx(20.0, rel=1e-4)


# -- the number of units ---------------------------------------------------------------------------------------------


def test_the_number_of_units_is_released_first_and_alone_is_shown(tmp_path: Path) -> None:
    ledger = DurableLedger.register(tmp_path / "budget.db", "corpus", 100.0, 1e-3, neighbours=ADD_REMOVE)
    with captured_releases() as seen:
        model = private(ADD_REMOVE, 1.0, ledger=ledger).fit(COUNTS)
    entering, released = seen[0]
    assert (released.name, int(entering.aggregate[0])) == ("number of units", N_UNITS)
    assert released.query.sensitivity == 1.0
    statement = model.privacy_
    assert statement.releases[0].share == pytest.approx(UNITS_SHARE)
    assert statement.n_units == round(float(released.value[0])) != N_UNITS
    (row,) = ledger.entries()
    assert "n_units" not in row.settings  # which are written before noise is drawn
    assert row.results["n_units"] == statement.n_units
    model.save(tmp_path / "model")
    header, _ = read_model(tmp_path / "model")
    shown = replace(statement, private=True)  # as without a seed
    assert not says(shown.text, N_UNITS)
    for said in (json.dumps(header), verdict_of(shown).detail, str(row)):
        assert says(said, statement.n_units)
        assert not says(said, N_UNITS)
    assert f"about {statement.n_units:,} documents" in verdict_of(shown).detail


def test_the_warning_about_delta_knows_the_released_number() -> None:
    with captured_releases() as seen, pytest.warns(PrivacyWarning, match="not below one over") as warned:
        private(ADD_REMOVE, 1.0, delta=0.1).fit(COUNTS)
    said = next(str(warning.message) for warning in warned if "not below one over" in str(warning.message))
    assert f"number of units, {round(float(seen[0][1].value[0]))}:" in said
    assert not says(said, N_UNITS)


@pytest.mark.filterwarnings("ignore::private_topics.PrivacyWarning")
def test_a_corpus_of_one_unit_is_fitted_like_any_other() -> None:
    """Its neighbours have two: that there is only one must not show."""
    for counts in ([[1, 2, 0, 3, 1]], [[0, 0, 0, 0, 0]]):
        model = private(ADD_REMOVE, 1.0).fit(np.array(counts))
        assert model.privacy_.n_units >= 1
    for neighbours in (REPLACE, ZERO_OUT):
        with pytest.raises(InputError, match="at least two documents"):
            private(neighbours).fit(np.array([[1, 2, 0, 3, 1]]))


def test_more_units_than_allowed_are_refused_by_their_noisy_number(tmp_path: Path) -> None:
    ledger = DurableLedger.register(tmp_path / "budget.db", "corpus", 100.0, 1e-3, neighbours=ADD_REMOVE)
    with pytest.raises(PrivacyError, match=r"more units than .* allows, 100; .* stays charged"):
        private(ADD_REMOVE, 20.0, most_units=100, ledger=ledger).fit(COUNTS)
    assert len(ledger.entries()) == 1
    with captured_releases() as seen, pytest.MonkeyPatch.context() as patch:
        patch.setattr("private_topics.fits.private.release_units", lambda *_: 50)
        model = private(ADD_REMOVE, 20.0, most_units=100).fit(COUNTS)
    assert seen[0][1].name == "unigram"
    assert model.privacy_.n_units == 50


# -- refusals --------------------------------------------------------------------------------------------------------

OTHERS = (
    *({"configuration": number} for number in (1, 2, 3, 4)),
    {"configuration": 1, "delta": 0},
    {"configuration": 2, "calibration": "published", "allow_unproved": True},
)


@BOTH
@pytest.mark.parametrize("settings", OTHERS, ids=str)
def test_other_configurations_refuse(neighbours: Neighbours, settings: dict[str, Any]) -> None:
    with captured_releases() as seen, pytest.raises(InputError, match="belongs to configuration='sequential'"):
        private(neighbours, **settings).fit(COUNTS)
    assert not seen


@BOTH
def test_the_variational_baseline_refuses(neighbours: Neighbours) -> None:
    with (
        captured_releases() as seen,
        pytest.raises(InputError, match=r"'neighbours' .* must be one of \('replace',\)"),
    ):
        PrivateVariationalLDA(2, neighbours=neighbours).fit(COUNTS)
    assert not seen


@pytest.mark.parametrize(
    ("settings", "error", "match"),
    [
        ({"neighbours": "remove"}, InputError, "must be one of"),
        ({"neighbours": None}, InputError, "must be one of"),
        ({"neighbours": ZERO_OUT, "most_units": 1000}, InputError, "belongs to neighbours='add-remove'"),
        ({"neighbours": ADD_REMOVE, "most_units": 0}, InputError, "'most_units'"),
        ({"neighbours": ADD_REMOVE, "most_units": 2**35}, InputError, "'most_units'"),
        (
            {"neighbours": ADD_REMOVE, "budget_split": BudgetSplit()},
            PrivacyError,
            "a fraction for the number of units",
        ),
    ],
)
def test_settings_that_contradict_are_refused(settings: Any, error: Any, match: str) -> None:
    with captured_releases() as seen, pytest.raises(error, match=match):
        private(**settings).fit(COUNTS)
    assert not seen


def test_a_split_of_ones_own_pays_for_the_number_of_units() -> None:
    split = BudgetSplit(units=0.05, refine=BudgetSplit().refine - 0.05)
    statement = private(ADD_REMOVE, budget_split=split).fit(COUNTS).privacy_
    assert statement.releases[0].share == pytest.approx(0.05)


# -- texts and vocabularies ------------------------------------------------------------------------------------------


@ALL
@pytest.mark.parametrize("chosen", [False, True], ids=["private", "candidates"])
def test_texts_have_one_relation_in_both_stages(neighbours: Neighbours, chosen: bool, tmp_path: Path) -> None:
    ledger = DurableLedger.register(tmp_path / "budget.db", "letters", 200.0, 1e-2, neighbours=neighbours)
    wanted = CandidateVocabulary(WordList("public words", tuple(WORDS))) if chosen else PrivateVocabulary()
    model = fit_texts(private(neighbours, 40.0, ledger=ledger, noise_seed=4), TEXTS, wanted)
    lines = {release.name: release for release in model.privacy_.releases}
    words = lines["candidate words" if chosen else "vocabulary"]
    assert words.sensitivity == pytest.approx(2**0.5 if neighbours == REPLACE else 1.0, abs=1e-15)
    assert sum(release.share for release in lines.values()) == pytest.approx(1.0, abs=1e-6)
    (row,) = ledger.entries()
    assert row.neighbours == neighbours
    if neighbours == ADD_REMOVE:
        assert next(iter(lines)) == "number of units"
        assert row.results == {"n_units": model.privacy_.n_units, "n_words": model.n_features_in_}
        assert model.privacy_.n_units != len(TEXTS)
    else:
        assert row.settings["n_units"] == model.privacy_.n_units == len(TEXTS)


@BOTH
def test_a_unit_moves_the_weights_of_words_by_at_most_one(neighbours: Neighbours, monkeypatch: Any) -> None:
    """Lonely words included: the sum with and without a unit, in whole steps; one is reached."""
    weights: list[dict[str, int]] = []
    release_words = PrivateRun.release_words

    def watched(run: PrivateRun, query: Any, entering: Any, share: float, **rest: Any) -> Any:
        weights.append({word: int(weight) for word, weight in entering.items()})
        assert query.sensitivity == 1.0
        steps.append(query.step)
        return release_words(run, query, entering, share, **rest)

    steps: list[float] = []
    monkeypatch.setattr(PrivateRun, "release_words", watched)
    others = ["the same words", "the same words again"] * 400
    for text in ([""] if neighbours == ZERO_OUT else [])[:1] or [None], ["lonely"], ["lonely words of all kinds"]:
        texts = others + [one for one in text if one is not None]
        make_vocabulary(texts, PrivacyBudget(5.0, 1e-5), PrivateVocabulary(), neighbours=neighbours)
    without, *others_with = weights
    squares = [
        sum((found.get(word, 0) - without.get(word, 0)) ** 2 for word in found | without) * steps[0] ** 2
        for found in others_with
    ]
    assert max(squares) <= 1.0
    assert max(squares) > 0.999


def test_too_few_units_are_refused_by_their_noisy_number(tmp_path: Path) -> None:
    """Fifty where hundreds are needed: what is said is the noisy number, and it was charged."""
    ledger = DurableLedger.register(tmp_path / "budget.db", "letters", 200.0, 1e-2, neighbours=ADD_REMOVE)
    with (
        captured_releases() as seen,
        pytest.raises(InputError, match=r"with ([\d,]+) a word .* stays charged") as refused,
    ):
        fit_texts(private(ADD_REMOVE, 0.1, ledger=ledger), ["the same words"] * 53, PrivateVocabulary())
    released = max(1, round(float(seen[0][1].value[0])))
    assert released < units_needed(PrivateRun(PrivacyBudget(0.1, 1e-5), threshold_delta=1e-6), 0.1, 100)
    assert f"with {released:,} a word" in str(refused.value)
    assert (len(seen), len(ledger.entries())) == (1, 1)


def test_a_word_needs_the_sensitivity_of_its_relation() -> None:
    """The threshold of released words is for the neighbours of the run; a query for others is refused."""
    from private_topics.releases.vocabulary import vocabulary_query

    kind = {"threshold_delta": 1e-7, "noise_seed": 1}
    small = vocabulary_query(PrivateRun(PrivacyBudget(1.0, 1e-6), neighbours=ZERO_OUT, **kind), 1.0)
    with pytest.raises(PrivacyError, match="sensitivity"):
        PrivateRun(PrivacyBudget(1.0, 1e-6), **kind).release_words(
            small, {}, 1.0, threshold_delta=1e-7, most_words=100
        )


@ALL
def test_the_command_fits_for_each_relation(neighbours: Neighbours, tmp_path: Path) -> None:
    lines = "\n".join(json.dumps({"text": text}) for text in TEXTS)
    (tmp_path / "letters.jsonl").write_text(lines, encoding="utf-8")
    asked = ["--topics", "2", "--epsilon", "20", "--neighbours", neighbours, "--knowledge", "none", "--json"]
    asked += ["--vocabulary", "private", "--refine-steps", "1"]
    done = CliRunner().invoke(
        app, ["fit", str(tmp_path / "letters.jsonl"), "--output", str(tmp_path / "model"), *asked]
    )
    assert done.exit_code == 0, done.output
    statement = load(tmp_path / "model").privacy_
    assert statement.relation == neighbours
    assert says(done.output, statement.n_units)
    assert not says(done.output, len(TEXTS)) or statement.n_units == len(TEXTS)  # by chance, one time in ten


def test_the_command_refuses_what_the_estimator_refuses(tmp_path: Path) -> None:
    np.savetxt(tmp_path / "counts.txt", [[1, 2]])
    where = [str(tmp_path / "counts.txt"), "--output", str(tmp_path / "model")]
    without = CliRunner().invoke(app, ["fit", *where, "--no-privacy", "--neighbours", "zero-out"])
    assert without.exit_code == 2
    assert "contradicts --neighbours" in without.output.replace("\n", " ")
