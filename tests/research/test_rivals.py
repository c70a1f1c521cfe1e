"""The table of all private methods: which cells it has, what it says of them, and that its page is the stored one."""

import math

import pytest

import rivals
from rival_cells import EQUAL, METHODS, NAMES, PUBLISHED, true_epsilon
from stored import between, read_csv


def row(corpus, method, epsilon, draw, score):
    return {"corpus": corpus, "method": method, "epsilon": epsilon, "draw": draw, "score": score, "topics": 10}


ROWS = [
    *(row("enron", "sequential", 1.0, draw, score) for draw, score in enumerate((440, 430, 450))),
    *(row("enron", "Gibbs", 1.0, draw, score) for draw, score in enumerate((400, 470, 430))),
    row("enron", "config 1 proved", 1.0, 0, ""),
    row("enron", "sequential", 3.0, 0, 380),
    row("enron", "Gibbs", 3.0, 0, 390),
    row("enron", "private words and Gibbs as published", 3.0, 0, 300),
]


def test_a_table_has_medians_ranges_and_refusals():
    table = rivals.table(ROWS, ["enron"], 1.0)
    assert "| Gibbs | 1 | **430 (400–470)** |" in table
    assert "| sequential | 1 | 440 (430–450) |" in table
    assert "| config 1 proved | 1 | refused |" in table


def test_losses_are_told_as_wins_are():
    verdicts = rivals.verdicts(ROWS, ["enron"])
    assert "The best of ours is better in 1 of 2, `sequential`, the default, in 1." in verdicts
    assert "| enron | 1 | sequential: 440 | 440 | Gibbs: 430 | **theirs** |" in verdicts
    assert "| enron | 3 | sequential: 380 | 380 | Gibbs: 390 | ours |" in verdicts


def test_what_has_no_guarantee_is_not_compared_with_what_has_one():
    assert "| private words and Gibbs as published | none | 300 (300–300) |" in rivals.table(ROWS, ["enron"], 3.0)
    assert "published" not in rivals.verdicts(ROWS, ["enron"])
    assert [true_epsilon(method, 3.0) for method in EQUAL] == [3.0] * len(EQUAL)
    assert [true_epsilon(method, 3.0) for method in PUBLISHED] == [300.0, 30_000.0, math.inf]


def test_every_corpus_has_every_method_but_for_english_words():
    cells = rivals.cells(list(NAMES), list(METHODS), range(2))
    assert len(cells) == len(set(cells))
    made_up = {method for corpus, method, _, _ in cells if corpus == "figure-2b"}
    assert set(METHODS) - made_up == {"sequential, English"}
    assert {epsilon for _, method, epsilon, _ in cells if method == "variational, not private"} == {0.0}


@pytest.mark.slow
def test_cells_are_stored_and_measured_once(tmp_path, capsys):
    path = tmp_path / "cells.csv"
    wanted = rivals.cells(["figure-2b"], ["unigram"], range(1))
    rivals.measure(tmp_path, wanted, path, 1)
    assert capsys.readouterr().out.count("unigram") == 2
    rivals.measure(tmp_path, wanted, path, 1)
    assert capsys.readouterr().out == ""
    assert sorted(rivals.key(row) for row in read_csv(path)) == sorted(wanted)


def test_the_page_says_what_the_cells_say():
    text = rivals.text_of(read_csv(rivals.CELLS))
    assert between(rivals.PAGE.read_text(encoding="utf-8"), "research/rivals.py") == text
    assert rivals.RESULT.read_text(encoding="utf-8").endswith(f"\n\n{text}\n")
