"""`class_shares` on texts: labels in fields or beside them, users, what is refused before anything is charged."""

from __future__ import annotations

import hashlib
import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from private_support import captured_releases
from private_topics import (
    BudgetLedger,
    ClassShares,
    DurableLedger,
    InputError,
    PrivacyBudget,
    PrivacyError,
    PrivacyWarning,
    PrivateSpectralLDA,
    SpectralLDA,
    WordList,
    block_words,
    class_shares,
    fit_texts,
    load,
    make_lda_corpus,
    open_texts,
    rename_topics,
)
from private_topics.corpus.made_up.letters import make_letters

LETTERS = list(make_letters(400, seed=2))
WARDS = ["north", "south", "west", "hidden"]
RECORDS = [
    {"text": letter.text, "patient": letter.patient, "ward": WARDS[number % 4]}
    for number, letter in enumerate(LETTERS)
]
WORDS = sorted({word for letter in LETTERS[:100] for word in letter.text.lower().split() if word.isalpha()})
SETTINGS: dict[str, Any] = {"delta": 1e-5, "noise_seed": 4}


@pytest.fixture(scope="module")
def model() -> PrivateSpectralLDA:
    with warnings.catch_warnings(action="ignore", category=PrivacyWarning):
        made = PrivateSpectralLDA(3, epsilon=30.0, delta=1e-5, refine_steps=1, noise_seed=1)
        return fit_texts(made, [letter.text for letter in LETTERS], WordList("words", tuple(WORDS)))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "letters.jsonl").write_text("".join(json.dumps(record) + "\n" for record in RECORDS))
    return tmp_path / "letters.jsonl"


def entering(*arguments: Any, **settings: Any) -> tuple[np.ndarray, ClassShares]:
    with captured_releases() as seen, warnings.catch_warnings(action="ignore", category=PrivacyWarning):
        found = class_shares(*arguments, **(SETTINGS | settings))
    (one, _), *_ = [pair for pair in seen if pair[0].query.name == "class shares"]
    return one.aggregate * one.query.step, found


def test_fields_labels_and_counts_give_the_same_sums(model: Any, path: Path) -> None:
    texts, labels = [record["text"] for record in RECORDS], np.array([record["ward"] for record in RECORDS])
    read, found = entering(model, open_texts(path, by="ward"), WARDS[:3])
    beside, other = entering(model, texts, WARDS[:3], labels=labels)
    assert np.array_equal(read, beside)
    assert (found.by, other.by) == ("ward", None)
    assert read.sum(axis=1) == pytest.approx([100.0] * 3, abs=0.01), "every letter has a known word"
    swapped, _ = entering(model, texts, ["west", "north"], labels=labels.tolist())
    assert np.array_equal(swapped, read[[2, 0]])
    assert found.classes == ("north", "south", "west")
    assert [words[:10] for words in found.words] == [tuple(words) for words in model.top_words(n=10)]


def test_users_add_the_average_of_their_letters(model: Any, path: Path) -> None:
    sums, found = entering(model, open_texts(path, by="ward", unit="patient"), WARDS)
    patients = {record["patient"] for record in RECORDS}
    assert sums.sum() == pytest.approx(len(patients), abs=0.01)
    pairs = [(record["text"], record["patient"]) for record in RECORDS]
    labels = [record["ward"] for record in RECORDS]
    assert np.array_equal(sums, entering(model, pairs, WARDS, labels=labels)[0])
    assert found.privacy.unit == "user"
    assert found.privacy.n_units == len(patients)
    in_north = [record["patient"] for record in RECORDS if record["ward"] == "north"]
    letters_of = {patient: [record["patient"] for record in RECORDS].count(patient) for patient in patients}
    assert sums[0].sum() == pytest.approx(sum(1 / letters_of[patient] for patient in in_north), abs=0.01)


def test_years_may_be_numbers_and_missing() -> None:
    counts = make_lda_corpus(200, 20, 2, alpha0=0.1, mean_length=30, random_state=0)[0]
    with warnings.catch_warnings(action="ignore", category=PrivacyWarning):
        fitted = PrivateSpectralLDA(2, epsilon=20.0, delta=1e-5, noise_seed=1).fit(counts)
    years = np.array([2019.0] * 80 + [2020.0] * 60 + [np.nan] * 60)
    sums, _ = entering(fitted, counts, [2019, 2020, 2021], labels=years)
    assert sums.sum(axis=1) == pytest.approx([80.0, 60.0, 0.0], abs=0.01)
    whole, _ = entering(fitted, counts, ["2019", "2020"], labels=[2019] * 80 + ["2020"] * 60 + [None] * 60)
    assert np.array_equal(whole, sums[:2])
    grouped, found = entering(fitted, counts, [2019], labels=years, groups=np.arange(200) // 4)
    assert grouped.sum() == pytest.approx(20.0, abs=0.01)
    assert found.privacy.unit == "user"


def test_a_ledger_has_its_cost_its_settings_and_the_digest_of_the_file(
    model: Any, path: Path, tmp_path: Path
) -> None:
    ledger = DurableLedger.register(tmp_path / "ledger.db", "letters", 3.0, 2e-5)
    ledger.finish(ledger.reserve(PrivacyBudget(0.01, 1e-9), unit="document"), digest=model._file_digest())
    found = entering(model, open_texts(path, by="ward"), WARDS[:3], ledger=ledger, epsilon=2.0)[1]
    _, entry = ledger.entries()
    assert (entry.what, entry.unit, entry.state) == ("class shares", "document", "finished")
    assert (entry.reservation.budget.epsilon, entry.settings["classes"], entry.settings["by"]) == (2.0, 3, "ward")
    assert any(entry.settings["model"] in line for line in found.privacy.public)
    assert entry.digest == hashlib.sha256(found.to_json().encode()).hexdigest()
    with captured_releases() as seen, pytest.raises(PrivacyError, match="budget"):
        class_shares(model, open_texts(path, by="ward"), WARDS[:3], ledger=ledger, epsilon=2.9, **SETTINGS)
    assert seen == []
    assert len(ledger.entries()) == 2


def test_the_ledger_must_list_the_fit_of_the_model(model: Any, path: Path, tmp_path: Path) -> None:
    """Another corpus' row does not count, nor one without a digest; edits and later versions of the library change
    the file that would be written, not the fit."""
    for corpus in ("letters", "others"):
        DurableLedger.register(tmp_path / "ledger.db", corpus, 30.0, 1e-3)
    ledger, others = (DurableLedger(tmp_path / "ledger.db", corpus) for corpus in ("letters", "others"))
    row = PrivacyBudget(0.01, 1e-9)
    ledger.reserve(row, unit="document")
    others.finish(others.reserve(row, unit="document"), digest=model._file_digest())
    texts = open_texts(path, by="ward")
    with captured_releases() as seen, pytest.raises(PrivacyError, match="does not list the fit of this model"):
        class_shares(model, texts, WARDS[:3], ledger=ledger, **SETTINGS)
    assert seen == []
    assert len(ledger.entries()) == 1
    class_shares(model, texts, WARDS[:3], ledger=ledger, unlisted_model=True, **SETTINGS)
    assert ledger.entries()[-1].settings["unlisted_model"] is True
    class_shares(model, texts, WARDS[:3], ledger=others, **SETTINGS)
    assert "unlisted_model" not in others.entries()[-1].settings
    edited = block_words(rename_topics(model, {0: "first"}), model.top_words()[0][:1])
    class_shares(edited, texts, WARDS[:3], ledger=others, **SETTINGS)
    assert len(others.entries()) == 3


def test_a_later_version_of_the_library_knows_a_fit_again(
    model: Any, path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = DurableLedger.register(tmp_path / "ledger.db", "letters", 30.0, 1e-3)
    ledger.finish(ledger.reserve(PrivacyBudget(0.01, 1e-9), unit="document"), digest=model._file_digest())
    model.save(tmp_path / "model")
    monkeypatch.setattr("private_topics.estimators.base.__version__", "9.9")
    read, texts = load(tmp_path / "model"), open_texts(path, by="ward")
    read.save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "model").read_bytes()
    for known in (read, rename_topics(read, {0: "first"})):
        class_shares(known, texts, WARDS[:3], ledger=ledger, **SETTINGS)


def test_the_model_file_is_the_one_that_the_statement_names(model: Any, path: Path, tmp_path: Path) -> None:
    model.save(tmp_path / "model")
    found = entering(load(tmp_path / "model"), open_texts(path, by="ward"), WARDS)[1]
    assert hashlib.sha256((tmp_path / "model").read_bytes()).hexdigest() in " ".join(found.privacy.public)
    assert "NOT PRIVATE" in found.privacy.text
    assert found.privacy.releases[0].proof == "class_shares"


def test_refused_before_it_is_charged(model: Any, path: Path) -> None:
    ledger = BudgetLedger(100.0, 1e-2)
    texts, labels = ["a b", "c d"], ["north", "south"]
    plain = SpectralLDA(2, random_state=0).fit(make_lda_corpus(50, 20, 2, random_state=0)[0])
    cases: list[tuple[type[Exception], str, tuple[Any, ...], dict[str, Any]]] = [
        (PrivacyError, "without a proved guarantee", (plain, texts, WARDS), {"labels": labels}),
        (PrivacyError, "without a proved guarantee", (model, texts, WARDS), {"labels": labels, "noise_seed": None}),
        (PrivacyError, "strict=True", (model, open_texts(path, by="ward", strict=True), WARDS), {}),
        (InputError, "needs the class of each text", (model, texts, WARDS), {}),
        (InputError, "needs the class of each text", (model, open_texts(path), WARDS), {}),
        (InputError, "one label for each document", (model, texts, WARDS), {"labels": ["north"]}),
        (InputError, "one label for each document", (model, texts, WARDS), {"labels": ["north"] * 3}),
        (InputError, "'labels' parameter", (model, texts, WARDS), {"labels": [("north",), "south"]}),
        (InputError, "'classes' parameter", (model, texts, "north"), {"labels": labels}),
        (InputError, "'classes' parameter", (model, texts, []), {"labels": labels}),
        (InputError, "'classes' parameter", (model, texts, ["north", " north"]), {"labels": labels}),
        (InputError, "'classes' parameter", (model, texts, ["north", ""]), {"labels": labels}),
        (InputError, "'classes' parameter", (model, texts, [("north",)]), {"labels": labels}),
        (InputError, "'neighbours' parameter", (model, texts, WARDS), {"labels": labels, "neighbours": "other"}),
        (InputError, "'most_units' parameter", (model, texts, WARDS), {"labels": labels, "most_units": 5}),
        (InputError, "at least two documents", (model, texts[:1], WARDS), {"labels": labels[:1]}),
        (
            InputError,
            "there are 399 in all",
            (model, [*texts, "e"] * 133, WARDS),
            {"labels": 399 * ["a"], "epsilon": 0.01},
        ),
        (InputError, "features", (model, np.ones((2, 3), int), WARDS), {"labels": labels}),
    ]
    with captured_releases() as seen:
        for kind, message, arguments, settings in cases:
            with pytest.raises(kind, match=message):
                class_shares(*arguments, **(SETTINGS | {"ledger": ledger} | settings))
    assert seen == []
    assert ledger.spent == ()


def test_tables_for_people_and_machines(model: Any, path: Path) -> None:
    found = entering(model, open_texts(path, by="ward"), ["north", "nobody", "=1+1,"], epsilon=8.0)[1]
    data = json.loads(found.to_json())
    assert [one["class"] for one in data["classes"]] == ["north", "nobody", "=1+1,"]
    assert [one["enough"] for one in data["classes"]] == [True, False, False]
    assert data["classes"][1]["shares"] is None
    assert data["classes"][0]["shares"] == found.shares[0].tolist()
    assert sum(data["classes"][0]["released"]) == pytest.approx(data["classes"][0]["size"])
    assert data["privacy"]["configuration"] == "class shares"
    lines = found.to_csv().splitlines()
    assert len(lines) == 1 + 3 * len(found.words)
    assert lines[-1].startswith('"=1+1,",')
    assert lines[-1].endswith(",,,")
    assert [len(row) for row in found.rows()] == [2 + len(found.words), 2, 2]
