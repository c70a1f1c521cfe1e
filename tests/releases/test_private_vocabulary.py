"""The private vocabulary: its sensitivity attacked, nothing but common words leaves, and what it costs."""

from __future__ import annotations

import gc
import itertools
import math
import random
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from private_support import context_of
from private_topics.corpus.counts.blocks import MatrixBlocks
from private_topics.corpus.counts.matrix import validate_counts
from private_topics.corpus.made_up.synthetic import make_lda_corpus
from private_topics.corpus.words.vocabulary import union_weights, user_units
from private_topics.engines.local import LocalCorpus
from private_topics.errors import InputError, PrivacyError
from private_topics.fits.fit import BudgetSplit
from private_topics.fits.sequential import SEQUENTIAL
from private_topics.privacy.budget import PrivacyBudget
from private_topics.privacy.curves import zcdp_delta
from private_topics.privacy.events import DiscreteThresholdEvent, ThresholdEvent
from private_topics.privacy.ledger.in_memory import BudgetLedger
from private_topics.privacy.mechanisms import PrivateRun, Query, ReleasedWords
from private_topics.privacy.neighbours import ADD_REMOVE
from private_topics.privacy.randomness import NoiseStream
from private_topics.privacy.set_union import SENSITIVITY, word_weight
from private_topics.privacy.statement import statement_of
from private_topics.releases.vocabulary import (
    release_vocabulary,
    units_needed,
    usual_units_needed,
    vocabulary_query,
)

BUDGET = PrivacyBudget(1.0, 1e-6)


def run_with(threshold_delta: float = 1e-7, budget: PrivacyBudget = BUDGET, **noise: Any) -> PrivateRun:
    return PrivateRun(budget, threshold_delta=threshold_delta, **noise)


def weights_of(units: Any, step: float, most: int) -> dict[str, int]:
    return union_weights(units, most, lambda count: word_weight(count, step))


def zipf_units(count: int, seed: int = 0, words: int = 400) -> list[list[str]]:
    draw = np.random.default_rng(seed)
    share = 1.0 / np.arange(1, words + 1)
    picks = draw.choice(words, size=(count, 30), p=share / share.sum())
    return [[f"w{word:03d}" for word in row] for row in picks]


# -- sensitivity -----------------------------------------------------------------------------------------------------


def squared_distance(first: dict[str, int], second: dict[str, int]) -> int:
    return sum((first.get(word, 0) - second.get(word, 0)) ** 2 for word in first.keys() | second.keys())


def test_replacing_a_unit_moves_the_sum_by_at_most_root_two() -> None:
    """Random and extreme units in one place of a random corpus, in integers; √2 is reached."""
    draw, step, most = random.Random(0), 2.0**-17, 20
    largest = Fraction(0)
    for _ in range(40):
        others = [[f"w{draw.randrange(60)}" for _ in range(draw.randrange(50))] for _ in range(6)]
        family = [
            [],
            ["w1"],
            ["new"],
            [f"w{number}" for number in range(60)],
            [f"new{number}" for number in range(most)],
            [f"new{number}" for number in range(10 * most)],
            [f"w{draw.randrange(60)}" for _ in range(draw.randrange(1, 40))],
        ]
        sums = [weights_of([*others, unit], step, most) for unit in family]
        for first, second in itertools.combinations(sums, 2):
            largest = max(largest, squared_distance(first, second) * Fraction(step) ** 2)
    assert largest <= 2
    assert largest > 2 - 1e-3
    assert Fraction(SENSITIVITY) ** 2 > 2


def test_a_broken_bound_would_be_seen() -> None:
    """The same corpora with an unbounded number of words, each of the weight of `most`, exceed √2."""
    step, most = 2.0**-17, 20
    sums = [
        union_weights([unit], 10**6, lambda count: word_weight(min(count, most), step))
        for unit in ([f"a{k}" for k in range(200)], ["b"])
    ]
    assert squared_distance(*sums) * Fraction(step) ** 2 > 2


def test_a_user_counts_as_much_as_a_document() -> None:
    step, most = 2.0**-17, 20
    draw = random.Random(1)
    others = [([f"w{draw.randrange(60)}" for _ in range(30)], draw.randrange(5)) for _ in range(20)]
    family = []
    for documents in ([["x"]], [[f"u{k}-{j}" for k in range(50)] for j in range(100)], [[]] * 7):
        pairs = [*others, *((document, "replaced") for document in documents)]
        draw.shuffle(pairs)
        units = user_units(*zip(*pairs, strict=True), most)
        family.append(weights_of(units, step, most))
    for first, second in itertools.combinations(family, 2):
        assert squared_distance(first, second) * Fraction(step) ** 2 <= 2


# -- what leaves -----------------------------------------------------------------------------------------------------


def reachable_strings(value: Any) -> set[str]:
    found, seen, waiting = set(), set(), [value]
    while waiting:
        item = waiting.pop()
        if id(item) in seen or isinstance(item, type):
            continue
        seen.add(id(item))
        if isinstance(item, str):
            found.add(item)
        waiting += gc.get_referents(item)
    return found


def test_nothing_below_the_threshold_leaves() -> None:
    run = run_with(noise_seed=2)
    query = vocabulary_query(run, 1.0)
    units = [["common", f"secret{number}"] for number in range(2_000)]
    weights = weights_of(units, query.step, 10)
    released = run.release_words(query, weights, 1.0, threshold_delta=1e-7, most_words=10)
    assert released.words == ("common",)
    assert released.value.shape == (1,)
    assert (released.value >= released.threshold).all()
    for value in (released, run.accountant.events):
        assert not any("secret" in text for text in reachable_strings(value))
    assert not any("secret" in word for word in release_vocabulary(run_with(), units, share=1.0))
    assert run.accountant.events[0].coordinates == 10  # the public cap, not the number of words


def test_an_empty_corpus_looks_like_one_without_common_words() -> None:
    events = []
    for units in ([], [[]], [["rare"], ["scarce"]]):
        run = run_with(noise_seed=3)
        assert release_vocabulary(run, units, share=0.4) == []
        events.append(run.accountant.events)
    assert events[0] == events[1] == events[2]


def test_the_result_does_not_depend_on_the_order_or_on_how_units_are_read() -> None:
    units = zipf_units(3_000)
    first = release_vocabulary(run_with(noise_seed=5), units, share=1.0, most_words_per_unit=12)
    assert len(first) > 20
    assert first == sorted(first)
    random.Random(0).shuffle(units)
    for again in (units, iter(units), (iter(unit) for unit in reversed(units)), ([*unit, *unit] for unit in units)):
        assert release_vocabulary(run_with(noise_seed=5), again, share=1.0, most_words_per_unit=12) == first


@pytest.mark.slow
def test_common_words_are_found() -> None:
    """At epsilon 1 a tenth of the budget names the words of more than a hundred or so of 3,000 units."""
    units = zipf_units(3_000)
    found = release_vocabulary(run_with(noise_seed=6), units, share=0.1, most_words_per_unit=30)
    documents = {word: sum(word in set(unit) for unit in units) for word in {w for unit in units for w in unit}}
    assert {word for word, count in documents.items() if count > 900} <= set(found)
    assert all(documents[word] > 30 for word in found)


@pytest.mark.statistical
@pytest.mark.parametrize(("words", "needed"), [(1, 114), (100, 1_140)])
def test_as_many_units_as_are_needed_name_a_word_every_other_time(words: int, needed: int) -> None:
    """2,000 words, each shared by so many units of `words` words; the false-alarm rate is below 1e-6 a line."""
    assert units_needed(run_with(), 0.1, 100, words) == needed
    for units, lowest, highest in ((needed, 850, 1_250), (needed // 2, 0, 40), (2 * needed, 1_990, 2_000)):
        run = run_with(noise_seed=units)
        query = vocabulary_query(run, 0.1)
        weights = {f"w{number}": units * word_weight(words, query.step) for number in range(2_000)}
        released = run.release_words(query, weights, 0.1, threshold_delta=1e-7, most_words=100)
        assert lowest <= len(released.words) <= highest


def test_what_a_fit_needs_by_default() -> None:
    assert usual_units_needed(BUDGET) == (1_140, 114)
    assert usual_units_needed(PrivacyBudget(1e-9, 1e-6)) == (math.inf, math.inf)
    added = PrivateRun(BUDGET, threshold_delta=0.1 * BUDGET.delta, neighbours=ADD_REMOVE)
    assert usual_units_needed(BUDGET, ADD_REMOVE)[0] == units_needed(added, 0.1, 100, 100) < 1_140
    with pytest.raises(InputError, match="most_words_per_unit"):
        units_needed(run_with(), 0.1, 0)


def test_size_keeps_the_largest_noisy_weights() -> None:
    units = zipf_units(3_000)
    everything = release_vocabulary(run_with(noise_seed=5), units, share=1.0)
    run = run_with(noise_seed=5)
    query = vocabulary_query(run, 1.0)
    released = run.release_words(query, weights_of(units, query.step, 100), 1.0, threshold_delta=1e-7, most_words=100)
    order = np.argsort(-released.value)
    for size in (1, 5, len(everything), 10**6):
        kept = release_vocabulary(run_with(noise_seed=5), units, share=1.0, size=size)
        assert kept == sorted(released.words[index] for index in order[:size])


# -- accounting ------------------------------------------------------------------------------------------------------


def texts_of(counts: sp.csr_array) -> list[list[str]]:
    return [[f"w{word:03d}" for word in counts[[row]].indices] for row in range(counts.shape[0])]


@pytest.mark.filterwarnings("ignore::private_topics.errors.PrivacyWarning")
def test_a_fit_with_its_vocabulary_stays_within_the_budget() -> None:
    """The words are released first, then every release of the fit over them, all from one budget."""
    counts = make_lda_corpus(2_000, 60, 2, alpha0=0.1, random_state=0)[0]
    units = texts_of(counts)
    budget, split = PrivacyBudget(10.0, 1e-6), BudgetSplit(vocabulary=0.1, refine=0.555)
    ledger = BudgetLedger(10.0, 1e-6)
    run = run_with(1e-7, budget, reserve=ledger.reserve)
    words = release_vocabulary(run, units, share=split.vocabulary)
    assert len(ledger.spent) == 1
    assert len(words) > 30
    kept = validate_counts(counts[:, [int(word[1:]) for word in words]])
    corpus = LocalCorpus.of(MatrixBlocks(kept))
    SEQUENTIAL.model(context_of(SEQUENTIAL, run, corpus, n_topics=2, refine_steps=1, split=split))
    assert len(run.accountant.events) > 8
    assert run.accountant.delta(10.0) <= 1e-6
    assert run.accountant.epsilon(1e-6) == pytest.approx(10.0, rel=1e-3)
    assert len(ledger.spent) == 1
    assert ledger.epsilon_spent <= 10.0
    statement = statement_of(
        run, grouped=False, n_units=len(units), configuration="sequential", public=(), components=""
    )
    assert statement.releases[0].name == "vocabulary"
    assert statement.releases[0].share == pytest.approx(0.1)
    assert statement.releases[0].proof == "vocabulary"


@pytest.mark.parametrize("sampler", ["fast", "exact"])
def test_shares_that_sum_to_one_fit(sampler: str) -> None:
    for epsilon, delta, aside in ((0.1, 1e-5, 1e-6), (1.0, 1e-6, 9e-7), (20.0, 1e-9, 1e-12)):
        run = run_with(aside, PrivacyBudget(epsilon, delta), sampler=sampler)
        release_vocabulary(run, [["a"]], share=0.3, threshold_delta=aside / 2)
        release_vocabulary(run, [["a"]], share=0.2, threshold_delta=aside / 2)
        query = Query("rest", "scalar", 1.0, 2.0**-20 * run.sigma(Query("q", "scalar", 1.0, 1.0, "p"), 0.5), "p")
        run.release(query, np.int64(0), 0.5)
        assert run.accountant.delta(epsilon) <= delta
        assert run.accountant.epsilon(delta) == pytest.approx(epsilon, rel=1e-4)


def test_the_exact_sampler_is_priced_in_zcdp() -> None:
    run = run_with(sampler="exact")
    release_vocabulary(run, [["a"], ["b"]], share=0.5)
    (event,) = run.accountant.events
    assert isinstance(event, DiscreteThresholdEvent)
    expected = zcdp_delta(event.mu**2 / 2, 1.0 + math.log1p(-1e-7)) + 1e-7
    assert run.accountant.delta(1.0) == pytest.approx(expected, rel=1e-9)


def test_refused_before_anything_is_charged_or_drawn(drawn: list[int]) -> None:
    def never(*arguments: Any, **kind: Any) -> None:
        raise AssertionError("reserved")

    with pytest.raises(PrivacyError, match="part of delta"):
        release_vocabulary(PrivateRun(BUDGET, reserve=never), [["a"]], share=0.1)
    for bad in ({"threshold_delta": 2e-7}, {"threshold_delta": 0.0}, {"threshold_delta": math.nan}, {"share": 0.0},
                {"share": 1.5}):  # fmt: skip
        run = run_with(reserve=never)
        with pytest.raises(PrivacyError):
            release_vocabulary(run, [["a"]], **{"share": 0.1, **bad})
        assert run.accountant.events == ()
    for bad in ({"most_words_per_unit": 0}, {"most_words_per_unit": 2.0}, {"most_words_per_unit": True},
                {"most_words_per_unit": 2**21}, {"size": 0}, {"size": 1.5}, {"size": True}):  # fmt: skip
        with pytest.raises(InputError):
            release_vocabulary(run_with(reserve=never), [["a"]], share=0.1, **bad)
    assert drawn == []


def test_overspending_is_refused(drawn: list[int]) -> None:
    run = run_with()
    release_vocabulary(run, [["a"]], share=0.9, threshold_delta=0.5e-7)
    before = len(drawn)
    with pytest.raises(PrivacyError, match="exceed the privacy budget"):
        release_vocabulary(run, [["a"]], share=0.2, threshold_delta=0.5e-7)
    with pytest.raises(PrivacyError, match="sets aside"):
        release_vocabulary(run, [["a"]], share=0.05, threshold_delta=0.6e-7)
    assert len(run.accountant.events) == 1
    assert len(drawn) == before


def test_the_ledger_hears_of_the_threshold() -> None:
    heard: list[dict[str, Any]] = []

    def reserve(budget: PrivacyBudget, **kind: Any) -> None:
        heard.append(kind)

    release_vocabulary(run_with(3e-8, reserve=reserve), [["a"]], share=0.1)
    release_vocabulary(run_with(3e-8, reserve=reserve, sampler="exact"), [["a"]], share=0.1)
    assert heard == [{"threshold_delta": 3e-8}, {"exact": True, "threshold_delta": 3e-8}]


def test_recorded_before_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*arguments: Any) -> None:
        raise RuntimeError("no entropy")

    monkeypatch.setattr(NoiseStream, "rounded_gaussian", broken)
    run = run_with()
    with pytest.raises(RuntimeError, match="no entropy"):
        release_vocabulary(run, [["a"]], share=0.5)
    assert isinstance(run.accountant.events[0], ThresholdEvent)


def test_released_words_cannot_be_forged() -> None:
    run = run_with()
    query = vocabulary_query(run, 0.5)
    released = run.release_words(query, {"a": 1}, 0.5, threshold_delta=1e-7, most_words=1)
    with pytest.raises(PrivacyError, match=r"PrivateRun\.release"):
        ReleasedWords(np.zeros(1), query, released.event, words=("a",), threshold=0.0)
    wrong = Query("vocabulary", "vector", 1.0, query.step, "vocabulary")
    with pytest.raises(PrivacyError, match="√2"):
        run_with().release_words(wrong, {"a": 1}, 0.5, threshold_delta=1e-7, most_words=1)
    with pytest.raises(InputError, match="leaves the lattice"):
        run_with().release_words(query, {"a": 2**62}, 0.5, threshold_delta=1e-7, most_words=1)


@pytest.mark.parametrize("aside", [-1e-9, 1e-6, 1.0, math.nan])
def test_a_senseless_part_of_delta_is_refused(aside: float) -> None:
    with pytest.raises(PrivacyError, match="threshold_delta"):
        run_with(aside)
