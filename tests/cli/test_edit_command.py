"""`edit`, `fit --block-words` and what `topics` shows of labels, names and hints."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_support import ran, run
from scipy.sparse import save_npz

import private_topics
from private_topics import DurableLedger

TEXTS = ["The nurse anna was kind, nbsp href", "Parking the car was the cost", "The soup of maria was cold"] * 200
WORDS = "nurse anna kind parking car cost soup maria cold nbsp href".split()  # noqa: SIM905


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("edits")
    (made / "texts.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in TEXTS))
    (made / "words.txt").write_text("\n".join(WORDS) + "\n")
    (made / "block.txt").write_text("Anna\nMaria\n")
    result = fit(made, "model")
    assert "hint: Markup is among the top words" in result.stderr
    assert "name a person?" in result.stderr
    assert "anna" in result.stderr
    return made


def fit(folder: Path, output: str, *more: object) -> object:
    source, words = folder / "texts.jsonl", folder / "words.txt"
    return ran(
        "fit", source, "--vocabulary", words, "-k", 3, "--epsilon", 60, "--keep", "all", *more, "-o", folder / output
    )


def test_blocked_words_of_a_fit_are_not_in_its_model(folder: Path) -> None:
    ran("budget", "register", folder / "ledger.db", "--corpus", "texts", "--epsilon", 100, "--delta", "1e-4")
    charged = "--ledger", folder / "ledger.db", "--corpus", "texts"
    result = fit(folder, "blocked", "--block-words", folder / "block.txt", *charged, "--json")
    assert "2 words blocked" in result.stderr
    assert "anna" not in result.output
    assert json.loads(result.stdout)["possible_names"] == []
    model = private_topics.load(folder / "blocked")
    assert not {"anna", "maria"} & set(model.feature_names_in_)
    assert model.privacy_.proved
    assert model.edits_.blocked_words == 2
    [entry] = DurableLedger(folder / "ledger.db", "texts").entries()
    assert entry.digest == model.edits_.released  # what was paid for can be told from what was written


def test_a_list_that_cannot_be_read_costs_nothing(folder: Path) -> None:
    source, output = folder / "texts.jsonl", folder / "none"
    assert run("fit", source, "--block-words", folder / "missing.txt", "-o", output).exit_code == 1
    assert not output.exists()


def test_counts_without_names_have_no_words_to_block(folder: Path, tmp_path: Path) -> None:
    X, *_ = private_topics.make_lda_corpus(50, 20, 2, random_state=0)
    save_npz(tmp_path / "counts.npz", X)
    assert run("fit", tmp_path / "counts.npz", "--block-words", "anna", "-o", tmp_path / "model").exit_code == 2
    assert not (tmp_path / "model").exists()


def test_a_model_of_blocked_words_alone_is_kept_as_released(folder: Path) -> None:
    result = fit(folder, "all", "--block-words", ",".join(WORDS))
    assert "as it was released" in result.stderr
    assert private_topics.load(folder / "all").n_features_in_ == len(WORDS)


def test_edit(folder: Path, tmp_path: Path) -> None:
    before = private_topics.load(folder / "model")
    options = ["--rename", "2=Meals of the day", "--merge", "0,1", "--block-words", "anna"]
    result = ran("edit", folder / "model", "-o", tmp_path / "new", *options)
    assert "1 word blocked, 1 topic merged into others, 1 topic named by hand" in result.stderr
    after = private_topics.load(tmp_path / "new")
    assert after.privacy_ == before.privacy_
    assert len(after.components_) == len(before.components_) - 1
    assert after.topic_labels_ == [None, "Meals of the day"]  # numbered as before, in all options
    shown = ran("topics", tmp_path / "new")
    assert shown.stdout.splitlines()[1].split("\t")[3] == "Meals of the day"
    assert "Edited after the release" in shown.stderr
    assert "1 word blocked" in shown.stderr
    again = run("edit", folder / "model", "-o", tmp_path / "new", "--drop", 0)
    assert again.exit_code == 1
    assert "--force" in again.stderr
    ran("edit", folder / "model", "-o", tmp_path / "new", "--drop", 0, "--force")
    assert len(private_topics.load(tmp_path / "new").components_) == len(before.components_) - 1
    ran("report", tmp_path / "new", "-o", tmp_path / "new.html")
    page = (tmp_path / "new.html").read_text(encoding="utf-8")
    assert "1 topic dropped" in page
    assert before._file_digest() in page


@pytest.mark.parametrize(
    "options",
    [[], ["--rename", "meals"], ["--rename", "x=meals"], ["--merge", "a,b"], ["--block-words", ","]],
)
def test_bad_usage_is_told_from_a_failed_run(folder: Path, tmp_path: Path, options: list[str]) -> None:
    assert run("edit", folder / "model", "-o", tmp_path / "new", *options).exit_code == 2
    assert run("edit", folder / "model", "-o", tmp_path / "new", "--drop", 99).exit_code == 1
    assert not (tmp_path / "new").exists()


def test_topics_by_word_relevance_and_label(folder: Path) -> None:
    facts = json.loads(ran("topics", folder / "model", "--json", "--relevance", 0.3).stdout)
    model = private_topics.load(folder / "model")
    assert [fact["words"] for fact in facts] == model.top_words(relevance=0.3)
    assert [fact["label"] for fact in facts] == private_topics.labels_of(model)
    columns = {word: column for column, word in enumerate(model.feature_names_in_)}
    ratios = private_topics.lift(model.components_, model.doc_topic_prior_)
    for topic, fact in enumerate(facts):
        assert fact["lift"] == pytest.approx([ratios[topic, columns[word]] for word in fact["words"]])
    assert {name for fact in facts for name in fact["possible_names"]} == {"anna", "maria"}
    found = json.loads(ran("topics", folder / "model", "--find", "Soup", "--json").stdout)
    assert found[0]["topic"] == private_topics.find_topics(model, "soup")[0].topic
    assert found[0]["part_of_its_uses"] == max(fact["part_of_its_uses"] for fact in found)
    assert ran("topics", folder / "model", "--find", "unheard").stdout == ""
    assert "name a person?" in ran("topics", folder / "model").stderr


def test_the_report_asks_for_names(folder: Path, tmp_path: Path) -> None:
    ran("report", folder / "model", "-o", tmp_path / "page.html")
    signed = (tmp_path / "page.html").read_text(encoding="utf-8").split('id="sign-off"')[1]
    assert "No word names a person" in signed
    assert "<bdi>anna</bdi>, <bdi>maria</bdi>" in signed
    assert "Markup is among the top words" in signed
    assert "Edited after" not in signed


def test_a_fit_without_privacy_quotes_no_word(folder: Path, tmp_path: Path) -> None:
    """Its words are those of the texts, and messages end in log files."""
    words = "--vocabulary", folder / "words.txt"
    result = ran("fit", folder / "texts.jsonl", "--no-privacy", *words, "-k", 2, "--json", "-o", tmp_path / "model")
    assert not any(word in result.output for word in ("anna", "maria", "nbsp", "href"))
