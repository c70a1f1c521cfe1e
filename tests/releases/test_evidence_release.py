"""Evidence for topics: sensitivity attacked, halves that share nothing, no number that is none, and what is seen.

Counts over many corpora have a false-alarm rate below 1e-6, over fixed seeds.
"""

from __future__ import annotations

import itertools
import math
import warnings
from copy import deepcopy
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from numba import njit

from private_support import LARGEST_COUNT, corpus_of_units, numba_threads
from private_topics import (
    BudgetLedger,
    InputError,
    PrivacyError,
    PrivacyWarning,
    PrivateSpectralLDA,
    SpectralLDA,
    evidence_of,
    make_lda_corpus,
)
from private_topics.corpus.counts.matrix import validate_counts
from private_topics.releases.evidence import LEVEL, limit_of
from private_topics.sums.evidence import (
    FEWEST_DEALT,
    HALF,
    NORM,
    SIXTEENTH,
    Agreement,
    _logarithm,
    dealt,
    learnt_counts,
    size_of,
)

STEP = 2.0**-32
TOPICS = np.array([[0.5, 0.49, 0.005, 0.005, 0.0], [0.005, 0.005, 0.49, 0.5, 0.0]])
PRIOR = np.array([0.1, 0.1])
MEAN = TOPICS.mean(axis=0)
FEW = [({0: 4, 2: 3},), ({1: 2, 3: 5},), ({},), ({4: 3},)]


def total(
    units: Any, topics: np.ndarray = TOPICS, prior: np.ndarray = PRIOR, held: int = HALF, **how: Any
) -> np.ndarray:
    summed = Agreement(np.ascontiguousarray(topics.T), prior, topics.mean(axis=0), held, STEP)
    found: np.ndarray = corpus_of_units(units, topics.shape[1], **how).total(summed)[0]
    return found


def documents(coins: int = HALF) -> list[dict[int, int]]:
    """Documents of one topic, of both, and such whose parts tell of different topics."""
    split = []
    for first, second, rest in itertools.product(range(1, 7), range(1, 7), range(1, 40)):
        if first + second + rest < FEWEST_DEALT:
            continue
        counts = validate_counts(sp.csr_array(np.array([[first, 0, second, 0, rest]])))
        held = dealt(counts.indptr, counts.indices, counts.data, coins).tolist()
        if held[:2] in ([0, second], [first, 0]):  # the last word is of no topic
            split.append((held[2], {0: first, 2: second, 4: rest}))
    assert split
    split.sort(key=lambda one: one[0])
    known = [{}, {0: 50, 1: 50}, {2: 50, 3: 50}, {0: 1}, {4: 9}, {0: LARGEST_COUNT}, {4: LARGEST_COUNT, 0: 5}]
    return [*known, *(document for _, document in split[:8]), dict.fromkeys(range(5), 3)]


@pytest.mark.parametrize("held", [HALF, SIXTEENTH])
@pytest.mark.parametrize("kind", ["documents", "users"])
def test_no_unit_moves_the_sum_beyond_its_sensitivity_and_one_nearly_reaches_it(kind: str, held: int) -> None:
    known = documents(held)
    units: list[Any] = [(document,) for document in known]
    if kind == "users":
        units += [tuple(known), (known[1],) * 30, (known[1], {}, {})]
    base = FEW if kind == "documents" else [*FEW, ({0: 2}, {2: 2})]
    empty = total(base, held=held)
    found = [(total([*base, unit], held=held) - empty).astype(np.float64) * STEP for unit in units]
    norms = [float(np.linalg.norm(one)) for one in found]
    apart = [float(np.linalg.norm(one - other)) for one, other in itertools.combinations(found, 2)]
    assert max(norms) <= 1.0
    assert max(apart) <= 2.0
    assert max(norms) > 0.9
    assert max(apart) > 1.8


def test_a_document_counts_the_same_in_any_company_order_and_number_of_threads() -> None:
    draw = np.random.default_rng(0)
    units = [({int(word): int(draw.integers(1, 9)) for word in draw.integers(0, 5, 4)},) for _ in range(80)]
    whole = total(units)
    assert np.array_equal(whole, total(units[::-1], block_documents=7))
    assert np.array_equal(whole, sum(total([unit]) for unit in units))
    with numba_threads(1):
        assert np.array_equal(whole, total(units))


@pytest.mark.parametrize(("coins", "part"), [(HALF, 1 / 2), (SIXTEENTH, 1 / 16)])
def test_parts_share_no_token_and_are_fair(coins: int, part: float) -> None:
    """Five standard errors: of the number held out, and of the spread of each entry's around its expectation."""
    counts = validate_counts(make_lda_corpus(3_000, 200, 3, mean_length=80, random_state=0)[0])
    held = dealt(counts.indptr, counts.indices, counts.data, coins)
    assert ((held >= 0) & (held <= counts.data)).all()
    tokens, variance = counts.data.sum(), part * (1.0 - part)
    assert abs(held.sum() - tokens * part) < 5.0 * math.sqrt(tokens * variance)
    spread = float(((held - counts.data * part) ** 2).sum() / (tokens * variance))
    assert spread == pytest.approx(1.0, abs=5.0 * math.sqrt(2.0 / (tokens * variance)) * 2.0), "coins, not turns"


def by_hand(document: dict[int, int], coins: int) -> list[int]:
    """The tokens held out of each word, from the proof page, in Python's integers."""
    every, golden = (1 << 64) - 1, 0x9E3779B97F4A7C15

    def mixed(x: int) -> int:
        x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & every
        x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & every
        return x ^ (x >> 31)

    seed = golden
    for word, count in sorted(document.items()):
        seed = mixed((mixed((seed + word * golden) & every) + count) & every)
    held = []
    if sum(document.values()) < 8:
        return [0] * len(document)
    for word, count in sorted(document.items()):
        bits, taken = mixed((seed + (word + 1) * golden) & every), 0
        for start in range(0, count if count <= 1024 else 0, 64):
            chosen = (1 << min(64, count - start)) - 1
            for _ in range(coins):
                chosen &= bits
                bits = mixed((bits + golden) & every)
            taken += chosen.bit_count()
        held.append(count >> coins if count > 1024 else taken)
    return held


@pytest.mark.parametrize("coins", [HALF, SIXTEENTH])
def test_the_dealing_is_that_of_the_proof_page(coins: int) -> None:
    for document in ({0: 1}, {3: 64, 4: 65}, {0: 7, 1: 200, 4: 1024}, {2: 1025}, {1: LARGEST_COUNT}, {}):
        row = [document.get(word, 0) for word in range(5)]
        counts = validate_counts(sp.csr_array(np.array([row, [1, 1, 1, 1, 1]])))
        held = dealt(counts.indptr, counts.indices, counts.data, coins)
        assert held[: counts.indptr[1]].tolist() == by_hand(document, coins)


def test_what_is_learnt_is_what_is_not_held_out() -> None:
    counts = validate_counts(make_lda_corpus(200, 50, 3, mean_length=20, random_state=0)[0])
    left = learnt_counts(counts)
    held = counts.copy()
    held.data = dealt(counts.indptr, counts.indices, counts.data, SIXTEENTH).astype(counts.data.dtype)
    assert (left + held != counts).nnz == 0
    assert (left.data > 0).all()
    assert (np.diff(left.indptr) < np.diff(counts.indptr)).any()
    some = learnt_counts(sp.csr_array(counts[50:60]))
    assert (some != left[50:60]).nnz == 0, "a document is dealt by itself"


@pytest.mark.parametrize("prior", [np.full(2, 1e308), np.full(2, 5e-324)])
@pytest.mark.parametrize("topics", [TOPICS, np.full_like(TOPICS, np.nan), np.zeros_like(TOPICS)])
def test_what_is_no_number_reaches_no_integer(topics: np.ndarray, prior: np.ndarray) -> None:
    with np.errstate(all="ignore"):
        for document in documents():
            found = total([(document,), ({0: 3},)], topics, prior)
            assert np.linalg.norm(found.astype(np.float64)) * STEP <= 2.0


def test_the_logarithm() -> None:
    @njit
    def of(x):  # type: ignore[no-untyped-def]
        return _logarithm(x)

    numbers = [*np.exp(np.linspace(-640.0, 20.0, 4_001)), 1.0, 0.5, math.sqrt(0.5), np.nextafter(1.0, 0.0), 1e-280]
    assert max(abs(of(float(x)) - math.log(x)) for x in numbers) < 2e-13


def test_sizes_add_up() -> None:
    assert len(total(FEW)) == size_of(2) == 17
    assert pytest.approx(math.sqrt(2.7)) == NORM


# -- the function ----------------------------------------------------------------------------------------------------

CORPUS = make_lda_corpus(3_000, 60, 4, alpha0=0.3, mean_length=40, random_state=0)[0]
PUBLIC = SpectralLDA(4, random_state=0).fit(CORPUS[:1_000])


def shuffled(counts: Any, seed: int) -> sp.csr_array:
    """The same lengths and word frequencies, and no topics."""
    counts = sp.csr_array(counts)
    tokens = np.repeat(counts.indices, counts.data)
    np.random.default_rng(seed).shuffle(tokens)
    rows = np.repeat(np.arange(counts.shape[0]), np.asarray(counts.sum(axis=1)).ravel())
    return sp.csr_array((np.ones(len(tokens), np.int64), (rows, tokens)), shape=counts.shape)


def found(counts: Any, **settings: Any) -> Any:
    with warnings.catch_warnings(action="ignore", category=PrivacyWarning):
        return evidence_of(PUBLIC, counts, **{"delta": 1e-5, "public_model": True, "noise_seed": 0} | settings)


def test_topics_that_are_there_are_seen_and_explain_something() -> None:
    result = found(CORPUS[1_000:])
    assert result.n_seen == 4
    assert result.evidence.gain_low > 0.2
    assert (result.evidence.losses_low > 0.0).all()
    assert "4 of 4 topics are seen in the texts." in result.sentence
    assert result.to_dict()["topics"][0]["seen"] is True
    assert "This table satisfies" in found(CORPUS[1_000:], noise_seed=None).privacy.text


def test_few_documents_show_all_topics_together_before_they_show_one() -> None:
    few = CORPUS[1_000:1_150]
    result = found(few, epsilon=1.0, delta=1e-4)
    assert result.n_seen < 4
    assert result.evidence.seen_together
    assert result.to_dict()["all_topics"]["seen"] is True
    fewer = found(CORPUS[1_000:1_080], epsilon=0.5, delta=1e-4)
    assert fewer.n_seen == 0
    assert ("together they are" in fewer.sentence) == fewer.evidence.seen_together
    nothing = found(shuffled(few, 0), epsilon=1.0, delta=1e-4)
    assert not nothing.evidence.seen_together
    assert "no such structure above the noise" in nothing.sentence


@pytest.mark.statistical
def test_without_topics_they_are_seen_together_in_one_of_a_hundred() -> None:
    """More than 8 of 100 would have a probability below 1e-5."""
    seen = [
        found(shuffled(CORPUS[1_000:], seed), epsilon=3.0, noise_seed=seed).evidence.together for seed in range(100)
    ]
    assert sum(one > limit_of(1) for one in seen) <= 8
    assert abs(float(np.mean(seen))) < 0.5
    assert 0.1 < float(np.std(seen)) < 1.2, "the bound on what sampling adds is generous"


def test_one_that_is_not_there_is_not() -> None:
    odd = deepcopy(PUBLIC)
    odd.components_[3] = np.random.default_rng(0).dirichlet(np.full(60, 0.1))
    with warnings.catch_warnings(action="ignore", category=PrivacyWarning):
        result = evidence_of(odd, CORPUS[1_000:], delta=1e-5, public_model=True, noise_seed=0)
    assert result.evidence.seen[:3].sum() >= 2
    assert result.evidence.deviations[3] < result.evidence.deviations[:3].max() / 2


@pytest.mark.statistical
@pytest.mark.parametrize(("units", "epsilon"), [(300, 1.0), (2_000, 1.0), (2_000, 30.0)])
def test_shuffled_texts_show_no_topic(units: int, epsilon: float) -> None:
    """At most LEVEL of them do: of 60 more than 8 would have a probability below 1e-6."""
    seen = [found(shuffled(CORPUS[1_000 : 1_000 + units], seed), epsilon=epsilon, noise_seed=seed).n_seen > 0
            for seed in range(60)]  # fmt: skip
    assert LEVEL == 0.01
    assert sum(seen) <= 8


@pytest.mark.statistical
def test_without_topics_deviations_are_those_of_noise() -> None:
    """Their mean over 60 corpora and four topics: five standard errors are 0.33."""
    values = [found(shuffled(CORPUS[1_000:], seed), epsilon=10.0, noise_seed=seed).evidence.deviations
              for seed in range(60)]  # fmt: skip
    assert abs(float(np.mean(values))) < 0.33
    assert float(np.std(values)) < 1.3


@pytest.mark.statistical
def test_intervals_cover_the_exact_averages_nine_times_in_ten() -> None:
    """Of 400 draws, the interval of all topics together and one of a topic: 7 standard errors of 0.9 are 0.105."""
    exact = found(CORPUS[1_000:], epsilon=1e4).evidence
    draws = [found(CORPUS[1_000:], epsilon=1.0, noise_seed=seed).evidence for seed in range(400)]
    whole = np.mean([one.gain_low <= exact.gain <= one.gain_high for one in draws])
    of_topics = np.mean([(one.losses_low <= exact.losses) & (exact.losses <= one.losses_high) for one in draws])
    assert whole == pytest.approx(0.9, abs=0.105)
    assert of_topics == pytest.approx(0.9, abs=0.05)


def short_documents(seed: int, documents: int = 20_000, length: int = 3, words: int = 30) -> sp.csr_array:
    """Words drawn at random; most bags of so few come again and again."""
    frequencies = 1.0 / np.arange(1.0, words + 1)
    drawn = np.random.default_rng(seed).multinomial(length, frequencies / frequencies.sum(), size=documents)
    return sp.csr_array(drawn)


def test_short_documents_stay_whole_and_show_nothing() -> None:
    """Equal documents are dealt alike: cut by their own coins, half of such corpora showed a topic."""
    for length, whole in ((7, True), (8, False)):
        counts = validate_counts(short_documents(0, 500, length))
        for coins in (HALF, SIXTEENTH):
            assert (dealt(counts.indptr, counts.indices, counts.data, coins).sum() == 0) == whole
    kept = []
    for seed in range(4):
        with warnings.catch_warnings(action="ignore", category=PrivacyWarning):
            model = PrivateSpectralLDA(5, noise_seed=seed).fit(short_documents(seed, 50_000))
        kept.append(len(model.components_))
    assert kept == [1] * 4


def test_more_dilution_is_less_evidence() -> None:
    real = CORPUS[1_000:]
    mixed = [sp.vstack([real[: 2_000 - count], shuffled(real[2_000 - count :], 1)]) if count else real
             for count in (0, 1_000, 1_600, 1_900)]  # fmt: skip
    gains = [found(one, epsilon=30.0).evidence.gain for one in mixed]
    assert gains == sorted(gains, reverse=True)


def test_every_call_is_charged_and_what_is_not_proved_is_refused() -> None:
    ledger = BudgetLedger(0.7, 1e-4)
    found(CORPUS[1_000:], epsilon=0.6, noise_seed=None, ledger=ledger)
    with pytest.raises(PrivacyError, match="exceed the corpus's total"):
        found(CORPUS[1_000:], epsilon=0.6, noise_seed=None, ledger=ledger)
    with pytest.raises(PrivacyError, match="without a proved guarantee"):
        evidence_of(PUBLIC, CORPUS[1_000:])
    with warnings.catch_warnings(action="ignore", category=PrivacyWarning):
        of_users = PrivateSpectralLDA(2, delta=1e-5).fit(CORPUS[:1_000], groups=np.arange(1_000) // 2)
    with pytest.raises(PrivacyError, match="protects one user"):
        evidence_of(of_users, CORPUS[1_000:])


def test_a_statement_goes_before_the_word_of_the_caller() -> None:
    """`public_model` is for models without one: not for what is unproved, nor to protect documents alone."""
    published = {"configuration": 1, "calibration": "published", "allow_unproved": True}
    ledger = BudgetLedger(1.0, 1e-4)
    with warnings.catch_warnings(action="ignore", category=PrivacyWarning):
        unproved = [
            PrivateSpectralLDA(2, delta=1e-5, **more).fit(CORPUS[:1_000]) for more in (published, {"noise_seed": 0})
        ]
        of_users = PrivateSpectralLDA(2, delta=1e-5).fit(CORPUS[:1_000], groups=np.arange(1_000) // 2)
    for model in unproved:
        with pytest.raises(PrivacyError, match="without a proved guarantee"):
            evidence_of(model, CORPUS[1_000:], public_model=True, ledger=ledger)
    with pytest.raises(PrivacyError, match="protects one user"):
        evidence_of(of_users, CORPUS[1_000:], public_model=True, ledger=ledger)
    assert ledger.spent == ()


@pytest.mark.parametrize("public_model", [False, True])
def test_the_relation_is_that_of_the_model_unless_the_caller_knows_better(public_model: bool) -> None:
    """Under add-remove the number of texts is not stated; other texts may be of a number that is public."""
    with warnings.catch_warnings(action="ignore", category=PrivacyWarning):
        model = PrivateSpectralLDA(2, delta=1e-5, neighbours="add-remove").fit(CORPUS[:1_000])
        settings: dict[str, Any] = {"delta": 1e-5, "public_model": public_model}
        hidden = evidence_of(model, CORPUS[1_000:], **settings).privacy
        stated = evidence_of(model, CORPUS[1_000:], neighbours="replace", **settings).privacy
        without = evidence_of(PUBLIC, CORPUS[1_000:], delta=1e-5, public_model=True).privacy
    assert [one.relation for one in (hidden, stated, without)] == ["add-remove", "replace", "replace"]
    assert "2,000" not in str(hidden.public)
    assert "2,000" in str(stated.public)


@pytest.mark.parametrize("prior", [np.full(5, 0.1), np.full(3, 0.1), np.zeros(4), np.full(4, np.nan)])
def test_a_model_that_can_be_none_is_refused_before_texts_are_read(prior: np.ndarray) -> None:
    broken, ledger = deepcopy(PUBLIC), BudgetLedger(1.0, 1e-4)
    broken.doc_topic_prior_ = prior
    with pytest.raises(InputError, match="a prior of one positive number"):
        found_by(broken, ledger)
    narrow = deepcopy(PUBLIC)
    narrow.components_ = np.full((4, 59), 1.0 / 59)
    with pytest.raises(InputError, match="must hold a probability of each word"):
        found_by(narrow, ledger)
    assert ledger.spent == ()


def found_by(model: Any, ledger: Any) -> Any:
    return evidence_of(model, CORPUS[1_000:], delta=1e-5, public_model=True, ledger=ledger)
