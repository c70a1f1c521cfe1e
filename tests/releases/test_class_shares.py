"""Topic shares of classes: sensitivity attacked, noise on every number, nothing but released values in the output.

Statistical tests have a false-alarm rate of 1e-6 each, over fixed noise seeds.
"""

from __future__ import annotations

import itertools
import json
import warnings
from copy import deepcopy
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from noise_support import as_recorded, standardised
from private_support import LARGEST_COUNT, captured_releases, corpus_of_units, numba_threads, replaced_aggregates
from private_topics import (
    BudgetLedger,
    DurableLedger,
    InputError,
    PrivacyBudget,
    PrivacyError,
    PrivacyWarning,
    PrivateSpectralLDA,
    class_shares,
    make_lda_corpus,
    write_shares,
)
from private_topics.privacy.neighbours import ADD_REMOVE, NEIGHBOURS, REPLACE, ZERO_OUT
from private_topics.releases.class_shares import CLASS_SHARES
from private_topics.releases.units import UNITS
from private_topics.sums.class_shares import ClassProportions, _add_proportions

N_WORDS, N_CLASSES = 6, 3
TOPICS = np.array(
    [[0.5, 0.3, 0.1, 0.1, 1e-9, 1e-9], [1e-9, 1e-9, 0.1, 0.1, 0.3, 0.5], [1e-9, 0.1, 0.4, 0.4, 0.1, 1e-9]]
)
PRIOR = np.array([0.1, 0.3, 0.2])
STEP = 2.0**-28
BASE = [({0: 3, N_WORDS: 1},), ({2: 2, 5: 1, N_WORDS + 2: 1},), ({},), ({1: 4},), ({4: 1, N_WORDS + 1: 1},)]
OFTEN = {0: LARGEST_COUNT}


def of_class(document: dict[int, int], *places: int) -> dict[int, int]:
    return {**document, **{N_WORDS + place: 1 for place in places}}


FAMILY: dict[str, list[tuple[dict[int, int], ...]]] = {
    "documents": [
        ({},), (of_class({}, 0),), ({0: 5},), (of_class(OFTEN, 0),), (of_class(OFTEN, 1),),
        (of_class({5: 10**6}, 0),),
        (of_class({word: 1 for word in range(6)}, 2),), (of_class({3: 1}, 1),), (of_class(OFTEN, 0, 1, 2),),
        (of_class({0: 7, N_WORDS: LARGEST_COUNT}, 1),),
    ],
    "users": [
        ({}, {}), tuple(of_class(OFTEN, 0) for _ in range(50)), (of_class(OFTEN, 0), of_class({5: 10**6}, 1)),
        tuple(of_class({5: 10**6}, 1) for _ in range(3)), (of_class({5: 9}, 1), {}, {}), (of_class(OFTEN, 2),),
        tuple(of_class({word: 3}, word % 3) for word in range(6)),
    ],
}  # fmt: skip


def total(units: list[Any], *, block_documents: int = 16_384) -> np.ndarray:
    corpus = corpus_of_units(units, N_WORDS + N_CLASSES, block_documents=block_documents)
    return corpus.total(ClassProportions(np.ascontiguousarray(TOPICS.T), PRIOR, N_CLASSES, 50, STEP))[0]


def squared(difference: np.ndarray) -> Fraction:
    return sum(int(entry) ** 2 for entry in difference.ravel()) * Fraction(STEP) ** 2


@pytest.mark.parametrize("kind", FAMILY)
def test_replacing_a_unit_moves_the_sum_by_at_most_the_declared_sensitivity(kind: str) -> None:
    """In rational arithmetic; 0.99 of √2 is reached, in one class and between two."""
    base = BASE if kind == "documents" else [*BASE, ({1: 1}, {2: 1})]
    sums = [total([*base, unit]) for unit in FAMILY[kind]]
    distances = [squared(one - two) for one, two in itertools.combinations(sums, 2)]
    declared = Fraction(CLASS_SHARES.sensitivity_to(REPLACE)) ** 2
    assert max(distances) <= declared
    assert max(distances) >= Fraction(99, 100) ** 2 * declared


@pytest.mark.parametrize("kind", FAMILY)
@pytest.mark.parametrize("neighbours", [ZERO_OUT, ADD_REMOVE])
def test_an_emptied_or_removed_unit_moves_it_by_at_most_one(kind: str, neighbours: Any) -> None:
    base = BASE if kind == "documents" else [*BASE, ({1: 1}, {2: 1})]
    empty = total([*base, ({},)]) if neighbours == ZERO_OUT else total(base)
    distances = [squared(total([*base, unit]) - empty) for unit in FAMILY[kind]]
    assert max(distances) <= Fraction(CLASS_SHARES.sensitivity_to(neighbours)) ** 2
    assert max(distances) >= Fraction(99, 100) ** 2


def test_a_document_adds_one_to_its_class_and_one_without_a_word_nothing() -> None:
    assert not total([(of_class({}, 1),)] * 3).any()
    assert not total([({0: 5},)] * 3).any()
    found = total([(of_class({0: 5}, 1),)] * 3) * STEP
    assert found[1].sum() == pytest.approx(3.0, abs=1e-6)
    assert not found[[0, 2]].any()
    several = total([(of_class({0: 5}, 2, 1),)] * 3) * STEP
    assert np.array_equal(several, found), "of several classes the first counts"


def test_what_is_no_number_adds_nothing() -> None:
    """With an enormous prior the posterior of every document is no number: nothing may reach the integers."""
    word_topics, prior = np.ascontiguousarray(TOPICS.T), np.full(3, 1e308)
    corpus = corpus_of_units([(of_class(OFTEN, 0),), (of_class({5: 3}, 1),)], N_WORDS + N_CLASSES)
    (found,) = corpus.total(ClassProportions(word_topics, prior, N_CLASSES, 50, STEP))
    assert not found.any()


def test_a_word_without_a_topic_leaves_the_prior() -> None:
    """However often it occurs: its probability is bounded before anything is divided by it."""
    topics = TOPICS.copy()
    topics[:, 0] = 0.0
    for document in ({0: 1}, {0: 2**31 - 1}):
        corpus = corpus_of_units([(of_class(document, 0),), (of_class({5: 3}, 1),)], N_WORDS + N_CLASSES)
        (found,) = corpus.total(ClassProportions(np.ascontiguousarray(topics.T), PRIOR, N_CLASSES, 50, STEP))
        assert found[0] * STEP == pytest.approx(PRIOR / PRIOR.sum(), abs=1e-6)
        assert found[1].sum() * STEP == pytest.approx(1.0, abs=1e-6)
        assert not found[2].any()


def test_an_infinite_mass_adds_nothing_to_the_integers() -> None:
    gamma = np.array([[np.inf, 1.0], [1.0, 3.0], [np.nan, 1.0]])
    parts = np.zeros((1, 2, 2), np.int64)
    _add_proportions(np.array([0, 1, 2, 3]), np.array([0, 1, 0]), gamma, np.full(3, 2.0**20), parts)
    assert parts[0].tolist() == [[0, 0], [2**18, 3 * 2**18]]


def test_a_user_counts_once_however_many_documents_there_are() -> None:
    many = tuple(of_class({0: 5}, 1) for _ in range(40))
    assert (total([many, ({},)]) * STEP).sum() == pytest.approx(1.0, abs=1e-6)
    halves = total([(of_class({0: 5}, 1), of_class({5: 5}, 2)), ({},)]) * STEP
    assert halves.sum(axis=1) == pytest.approx([0.0, 0.5, 0.5], abs=1e-6)


def test_order_blocks_and_threads_do_not_matter() -> None:
    draw = np.random.default_rng(0)
    units = [
        (of_class({int(word): int(draw.integers(1, 9)) for word in draw.integers(0, 6, 4)}, int(draw.integers(3))),)
        for _ in range(60)
    ]
    whole = total(units)
    assert np.array_equal(whole, total(units[::-1], block_documents=7))
    with numba_threads(1):
        assert np.array_equal(whole, total(units, block_documents=1))


# -- the function: noise, taint, what it leaves behind ---------------------------------------------------------------

COUNTS = make_lda_corpus(400, 30, 2, alpha0=0.1, mean_length=40, random_state=0)[0]
OTHER = make_lda_corpus(400, 30, 2, alpha0=3.0, mean_length=10, random_state=1)[0]
CLASSES = ["a", "b", "nobody"]
LABELS = ["a"] * 250 + ["b"] * 149 + ["secret"]


@pytest.fixture(scope="module")
def models() -> dict[str, PrivateSpectralLDA]:
    settings = {"delta": 1e-5, "alpha0": 0.1, "refine_steps": 1, "noise_seed": 3}
    with warnings.catch_warnings(action="ignore", category=PrivacyWarning):
        return {
            relation: PrivateSpectralLDA(2, epsilon=20.0, neighbours=relation, **settings).fit(COUNTS)
            for relation in NEIGHBOURS
        }


def released(model: Any, counts: Any = COUNTS, labels: Any = LABELS, **settings: Any) -> Any:
    with warnings.catch_warnings(action="ignore", category=PrivacyWarning):
        return class_shares(model, counts, CLASSES, labels=labels, **({"delta": 1e-5, "noise_seed": 5} | settings))


@pytest.mark.parametrize("neighbours", NEIGHBOURS)
def test_every_number_has_the_noise_that_is_recorded(models: Any, neighbours: Any) -> None:
    residuals: dict[str, list[np.ndarray]] = {}
    for noise_seed in range(20):
        with captured_releases() as seen:
            found = released(models[neighbours], noise_seed=noise_seed)
        *_, (entering, last) = seen
        assert last.value is found.released
        assert (last.value != entering.aggregate * entering.query.step).all()
        for one, value in seen:
            residuals.setdefault(value.name, []).append(standardised(one, value))
    assert set(residuals) == {CLASS_SHARES.name, *([UNITS.name] if neighbours == ADD_REMOVE else [])}
    assert all(as_recorded(np.concatenate(parts)) for parts in residuals.values())


def test_noise_is_smaller_where_neighbours_are_closer(models: Any) -> None:
    found = {relation: released(models[relation]) for relation in NEIGHBOURS}
    assert found[REPLACE].sigma == pytest.approx(2.0**0.5 * found[ZERO_OUT].sigma)
    assert found[ZERO_OUT].sigma < found[ADD_REMOVE].sigma < 1.01 * found[ZERO_OUT].sigma
    assert [found[relation].privacy.relation for relation in NEIGHBOURS] == list(NEIGHBOURS)


def left_behind(model: Any, counts: Any, labels: Any, folder: Path) -> list[str]:
    """Everything that a run writes or shows, its ledger included."""
    neighbours = model.neighbours
    ledger = DurableLedger.register(folder / "ledger.db", "corpus", 20.0, 1e-3, neighbours=neighbours)
    ledger.finish(ledger.reserve(PrivacyBudget(0.1, 1e-9), unit="document"), digest=model._file_digest())
    found = released(model, counts, labels, ledger=ledger)
    write_shares(found, folder / "page.html", date="a day")
    entry = ledger.entries()[-1]
    noted = json.dumps([dict(entry.settings), dict(entry.results), entry.digest, entry.state])
    (folder / "ledger.db").unlink()
    return [found.to_json(), found.to_csv(), str(found), str(found.rows()), (folder / "page.html").read_text(), noted]


@pytest.mark.parametrize("neighbours", NEIGHBOURS)
def test_nothing_but_released_values_is_left_behind(models: Any, neighbours: Any, tmp_path: Path) -> None:
    """The aggregates of one corpus put in the place of another's: nothing of that one shows anywhere."""
    with captured_releases() as seen:
        released(models[neighbours])
    reference = {entering.query.name: entering.aggregate for entering, _ in seen}
    more = 1 if neighbours == ADD_REMOVE else 0
    rows = [*range(400), *range(more)]
    corpora = [(COUNTS, LABELS), (OTHER[rows], ["b"] * (100 + more) + [None] * 100 + ["quixotic"] * 200)]
    with replaced_aggregates(lambda query, _: reference[query.name]):
        first, second = (left_behind(models[neighbours], *corpus, tmp_path) for corpus in corpora)
    assert first == second
    assert "nobody" in first[0]
    assert not any("secret" in text for text in first)


def test_without_noise_it_is_the_average_of_transform(models: Any) -> None:
    model = models[REPLACE]
    found = released(model, epsilon=1e7, delta=0.5)
    for row, name in enumerate(("a", "b")):
        inside = np.array(LABELS) == name
        np.testing.assert_allclose(found.shares[row], model.transform(COUNTS)[inside].mean(axis=0), atol=3e-4)
        assert found.sizes[row] == pytest.approx(inside.sum(), abs=0.1)
    assert found.enough.tolist() == [True, True, False]
    assert np.isnan(found.shares[2]).all()


def test_the_units_are_those_of_the_model() -> None:
    """A table that protects documents would say of users what their model does not."""
    groups, ledger = np.arange(400) // 2, BudgetLedger(20.0, 1e-3)
    settings = {"epsilon": 20.0, "delta": 1e-5, "alpha0": 0.1, "noise_seed": 3}
    with warnings.catch_warnings(action="ignore", category=PrivacyWarning):
        of_users = PrivateSpectralLDA(2, **settings).fit(COUNTS, groups=groups)
    with pytest.raises(PrivacyError, match="The model protects one user"):
        released(of_users, ledger=ledger)
    assert ledger.spent == ()
    assert released(of_users, groups=groups).privacy.unit == "user"


@pytest.mark.parametrize("neighbours", [REPLACE, ZERO_OUT])
def test_a_number_of_units_that_the_model_keeps_private_is_not_stated(models: Any, neighbours: Any) -> None:
    """Before, the table said: "the number of documents (400)"."""
    ledger = BudgetLedger(20.0, 1e-3, neighbours=neighbours)
    with pytest.raises(InputError, match=r"'neighbours' parameter of class_shares must be 'add-remove'"):
        released(models[ADD_REMOVE], neighbours=neighbours, ledger=ledger)
    assert ledger.spent == ()
    assert "(400)" not in str(released(models[ADD_REMOVE]).privacy.public)
    assert released(models[neighbours], neighbours=ADD_REMOVE).privacy.relation == ADD_REMOVE


@pytest.mark.parametrize("prior", [np.full(3, 0.1), np.full(1, 0.1), np.zeros(2), np.full(2, np.nan)])
def test_a_model_that_can_be_none_is_refused_before_texts_are_read(models: Any, prior: np.ndarray) -> None:
    broken, ledger = deepcopy(models[REPLACE]), BudgetLedger(20.0, 1e-3)
    broken.doc_topic_prior_ = prior
    with pytest.raises(InputError, match="a prior of one positive number"):
        released(broken, ledger=ledger)
    assert ledger.spent == ()


def test_an_unproved_model_is_refused(models: Any) -> None:
    """Whether its corpus is said to be another one or not."""
    for unlisted in (False, True):
        with pytest.raises(PrivacyError, match="without a proved guarantee"):
            released(models[REPLACE], noise_seed=None, unlisted_model=unlisted)
