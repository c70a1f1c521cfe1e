"""A released log-likelihood: right without noise, bounded per unit, charged, refused where not private."""

import numpy as np
import pytest
import scipy.sparse as sp

from private_topics import (
    BudgetLedger,
    DurableLedger,
    InputError,
    PrivacyError,
    PrivateSpectralLDA,
    SpectralLDA,
    make_lda_corpus,
    private_log_likelihood,
)
from private_topics.corpus.counts.blocks import MatrixBlocks
from private_topics.engines.local import LocalCorpus
from private_topics.inference.fold_in import fold_in
from private_topics.sums.scores import ClippedLikelihoods

STEP = 2.0**-30


class Model:
    def __init__(self, topics, prior):
        self.components_, self.doc_topic_prior_ = np.asarray(topics), np.asarray(prior)


@pytest.fixture(scope="module")
def corpus():
    counts, topics, alpha = make_lda_corpus(400, 30, 3, alpha0=0.5, mean_length=60, random_state=0)
    return counts, Model(topics, alpha)


def total(rows, model, floor=5.0, groups=None):
    summed = ClippedLikelihoods(np.ascontiguousarray(model.components_.T), model.doc_topic_prior_, floor, STEP)
    found = LocalCorpus.of(MatrixBlocks(sp.csr_array(np.asarray(rows, dtype=np.int32))), groups).total(summed)
    return float(found[0][0]) * STEP


def reference(counts, model, floor):
    """Written from the proof page, one document after the other."""
    word_topics = np.ascontiguousarray(model.components_.T)
    scores = []
    for row in np.asarray(counts.todense()):
        words = np.flatnonzero(row)
        if not len(words):
            scores.append(0.0)
            continue
        start, seen = np.array([0, len(words)], np.int64), row[words].astype(np.float64)
        gamma, _ = fold_in(start, words.astype(np.int32), seen, word_topics, model.doc_topic_prior_)
        weights = gamma[0] / gamma[0].sum()
        likelihood = seen @ np.log(np.maximum(word_topics[words] @ weights, 1e-300)) / seen.sum()
        scores.append(min(1.0, max(0.0, 1.0 + likelihood / floor)))
    return float(np.mean(scores))


def test_without_noise_it_is_the_mean_log_likelihood(corpus):
    counts, model = corpus
    found = private_log_likelihood(model, counts, epsilon=1e4, delta=1e-6, floor=6.0, public_model=True, noise_seed=0)
    assert found.log_likelihood == pytest.approx(6.0 * (reference(counts, model, 6.0) - 1.0), abs=1e-3)
    assert found.perplexity == pytest.approx(np.exp(-found.log_likelihood))
    assert found.noise < 1e-3


def test_an_empty_document_adds_nothing(corpus):
    _, model = corpus
    some = np.zeros((1, 30), int)
    some[0, :3] = 5
    assert total(np.zeros((2, 30)), model) == 0.0
    assert total(np.vstack([some, np.zeros((2, 30))]), model, floor=50.0) == total(some, model, floor=50.0) > 0.0


def test_better_topics_score_higher(corpus):
    counts, model = corpus
    flat = Model(np.full((3, 30), 1 / 30), model.doc_topic_prior_)
    values = [
        private_log_likelihood(each, counts, epsilon=5.0, delta=1e-6, public_model=True, noise_seed=1).log_likelihood
        for each in (model, flat)
    ]
    assert values[0] > values[1] + 0.1


SURE = Model([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], [0.5, 0.5])
DOCUMENTS = [[50, 0, 0], [0, 7, 0], [0, 0, 1], [10**6, 0, 10**6], [0, 0, 0], [1, 1, 1]]


def test_no_document_moves_the_sum_by_more_than_one():
    """A document that the model is sure of against one that it thinks impossible: the bound is attained."""
    others = [[3, 2, 0], [0, 4, 0]]
    totals = [total([*others, row], SURE) for row in DOCUMENTS]
    assert max(totals) - min(totals) <= 1.0
    assert max(totals) - min(totals) > 0.99


@pytest.mark.parametrize("count", [1, 10**8, 2**31 - 1])
def test_a_word_that_no_topic_has_counts_as_the_floor(count):
    """Its probability is bounded before anything is divided by it, and the score of its document is 0."""
    others = [[3, 2, 0], [0, 4, 0]]
    assert total([*others, [0, 0, count]], SURE) == total(others, SURE)
    tiny = Model([[1.0 - 1e-305, 0.0, 1e-305], [0.0, 1.0, 0.0]], [0.5, 0.5])
    assert total([*others, [0, 0, count]], tiny) == total(others, tiny)


@pytest.mark.parametrize("broken", [Model(SURE.components_, [1e308, 1e308]), Model([[np.nan, 1, 0]] * 2, [0.5, 0.5])])
def test_a_likelihood_that_is_no_number_scores_nothing(broken):
    with np.errstate(all="ignore"):
        assert total([[1, 1, 1], [0, 0, 9], [0, 0, 2**31 - 1]], broken) == 0.0


def test_one_document_decides_no_error(corpus):
    """Before, 2^31 - 1 times a word without a topic ended the call."""
    counts, _ = corpus
    dense = np.asarray(counts.todense())[:, :3]
    for row in ([0, 0, 2**31 - 1], [0, 0, 0]):
        found = private_log_likelihood(
            SURE, np.vstack([dense, row]), epsilon=1.0, delta=1e-6, public_model=True, noise_seed=0
        )
        assert np.isfinite(found.log_likelihood)


def test_no_user_moves_the_sum_by_more_than_one():
    """Ten documents of one user, all good or all bad."""
    good, bad = (total([[5, 0, 0]] + [row] * 10, SURE, groups=[0] + [1] * 10) for row in ([9, 0, 0], [0, 0, 9]))
    assert 0.98 < good - bad <= 1.0


def test_a_document_counts_the_same_in_any_company():
    counts, topics, alpha = make_lda_corpus(50, 30, 3, alpha0=0.5, random_state=3)
    rows, model = np.asarray(counts.todense()), Model(topics, alpha)
    assert total(rows, model) == pytest.approx(sum(total(row[None], model) for row in rows), abs=0.0)


def test_every_call_is_charged(corpus):
    counts, model = corpus
    ledger = BudgetLedger(0.7, 1e-6)
    settings = {"epsilon": 0.6, "delta": 5e-7, "public_model": True, "ledger": ledger}
    statement = private_log_likelihood(model, counts, **settings).privacy
    assert [line.name for line in statement.releases] == ["log-likelihood"]
    assert statement.epsilon_spent == pytest.approx(0.6, rel=1e-6)
    with pytest.raises(PrivacyError):
        private_log_likelihood(model, counts, **settings)


def test_a_durable_ledger_keeps_a_row_of_it(corpus, tmp_path):
    counts, model = corpus
    ledger = DurableLedger.register(tmp_path / "ledger.db", "notes", 1.0, 1e-5)
    private_log_likelihood(model, counts, epsilon=0.5, delta=1e-6, public_model=True, ledger=ledger)
    (entry,) = ledger.entries()
    assert entry.what == "likelihood"
    assert ledger.epsilon_spent > 0.0


def test_a_model_that_is_not_private_is_refused(corpus):
    counts, model = corpus
    for each in (SpectralLDA(3).fit(counts), model):
        with pytest.raises(PrivacyError, match="public_model=True"):
            private_log_likelihood(each, counts, epsilon=1.0, delta=1e-6)
    seeded = PrivateSpectralLDA(3, epsilon=1.0, delta=1e-6, noise_seed=0).fit(counts)
    with pytest.raises(PrivacyError, match="public_model=True"):
        private_log_likelihood(seeded, counts, epsilon=1.0, delta=1e-6)
    released = PrivateSpectralLDA(3, epsilon=1.0, delta=1e-6).fit(counts)
    assert private_log_likelihood(released, counts, epsilon=1.0, delta=1e-6).noise > 0.0


def test_a_model_without_a_proof_is_refused(corpus):
    counts, _ = corpus
    aimed = PrivateSpectralLDA(
        3, epsilon=5.0, delta=1e-6, configuration=1, calibration="published", allow_unproved=True
    ).fit(counts)
    assert aimed.privacy_.private
    assert not aimed.privacy_.proved
    with pytest.raises(PrivacyError, match="without a proved guarantee"):
        private_log_likelihood(aimed, counts, epsilon=1.0, delta=1e-6)


def test_the_units_are_those_of_the_model(corpus):
    counts, _ = corpus
    groups = np.arange(400) // 2
    of_users = PrivateSpectralLDA(3, epsilon=1.0, delta=1e-6).fit(counts, groups=groups)
    ledger = BudgetLedger(1.0, 1e-6)
    with pytest.raises(PrivacyError, match="protects one user"):
        private_log_likelihood(of_users, counts, epsilon=1.0, delta=1e-6, ledger=ledger)
    assert ledger.spent == ()
    assert private_log_likelihood(of_users, counts, groups=groups, epsilon=1.0, delta=1e-6).privacy.unit == "user"


def test_a_statement_goes_before_the_word_of_the_caller(corpus):
    """`public_model` is for models without one: not for what is unproved, nor to protect documents alone."""
    counts, _ = corpus
    published = {"configuration": 1, "calibration": "published", "allow_unproved": True}
    ledger, settings = BudgetLedger(1.0, 1e-6), {"epsilon": 1.0, "delta": 1e-6, "public_model": True}
    for more in (published, {"noise_seed": 0}):
        unproved = PrivateSpectralLDA(3, epsilon=5.0, delta=1e-6, **more).fit(counts)
        with pytest.raises(PrivacyError, match="without a proved guarantee"):
            private_log_likelihood(unproved, counts, ledger=ledger, **settings)
    of_users = PrivateSpectralLDA(3, epsilon=1.0, delta=1e-6).fit(counts, groups=np.arange(400) // 2)
    with pytest.raises(PrivacyError, match="protects one user"):
        private_log_likelihood(of_users, counts, ledger=ledger, **settings)
    assert ledger.spent == ()


@pytest.mark.parametrize("public_model", [False, True])
def test_a_model_that_keeps_the_number_of_documents_private_is_refused(corpus, public_model):
    """The statement would show it: "the number of documents (400)"."""
    counts, _ = corpus
    hidden = PrivateSpectralLDA(3, epsilon=1.0, delta=1e-6, neighbours="add-remove").fit(counts)
    ledger = BudgetLedger(1.0, 1e-6)
    with pytest.raises(InputError, match="keeps the number of documents private"):
        private_log_likelihood(hidden, counts, epsilon=1.0, delta=1e-6, public_model=public_model, ledger=ledger)
    assert ledger.spent == ()


BROKEN = {
    "a longer prior": ([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], [0.5, 0.5, 0.5]),
    "a shorter prior": ([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], [0.5]),
    "a prior of zero": ([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], [0.0, 0.0]),
    "a negative prior": ([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], [-0.5, 0.5]),
    "a prior that is no number": ([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], [np.nan, 0.5]),
    "sums of two": ([[1.0, 1.0, 0.0], [0.0, 1.0, 1.0]], [0.5, 0.5]),
    "negative probabilities": ([[2.0, -1.0, 0.0], [0.0, 1.0, 0.0]], [0.5, 0.5]),
    "no topics": (np.zeros((0, 3)), []),
    "one row": ([1.0, 0.0, 0.0], [0.5]),
}


@pytest.mark.parametrize("broken", BROKEN.values(), ids=BROKEN)
def test_a_model_that_can_be_none_is_refused_before_documents_are_read(broken):
    """Before, a longer prior was read past its end, and one of zero ended the call at a word that no topic has."""
    ledger = BudgetLedger(1.0, 1e-6)
    with pytest.raises(InputError, match="a prior of one positive number"):
        private_log_likelihood(
            Model(*broken), [[0, 0, 5], [1, 2, 3]], epsilon=1.0, delta=1e-6, public_model=True, ledger=ledger
        )
    assert ledger.spent == ()


def test_its_statement_is_about_a_number(corpus):
    counts, model = corpus
    found = private_log_likelihood(model, counts, epsilon=1.0, delta=1e-6, public_model=True)
    assert found.privacy.text.startswith("This number satisfies (1, 1e-06)-differential privacy.")


def test_wrong_settings_are_refused_before_anything_is_charged(corpus):
    counts, model = corpus
    for change in ({"floor": 0.0}, {"floor": float("nan")}, {"floor": True}, {"floor": 10**400}, {"floor": 1e-9}):
        with pytest.raises(InputError, match="'floor' parameter"):
            private_log_likelihood(model, counts, epsilon=1.0, delta=1e-6, public_model=True, **change)
    with pytest.raises(InputError, match="as many columns"):
        private_log_likelihood(model, counts[:, :20], epsilon=1.0, delta=1e-6, public_model=True)
    with pytest.raises(InputError, match="fitted topic model"):
        private_log_likelihood(object(), counts, epsilon=1.0, delta=1e-6)
