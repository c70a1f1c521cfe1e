"""VariationalLDA and PrivateVariationalLDA as estimators: conventions, statement, files, ledger, users, limits."""

from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

import private_topics
from private_support import captured_releases
from private_topics import (
    BudgetLedger,
    DurableLedger,
    InputError,
    ModelFileError,
    PrivacyError,
    PrivacyWarning,
    PrivateSpectralLDA,
    PrivateVariationalLDA,
    VariationalLDA,
    make_lda_corpus,
)
from private_topics.evaluation import unigram_perplexity
from private_topics.privacy.curves import gdp_epsilon
from private_topics.privacy.statement import PrivacyStatement
from private_topics.privacy.subsampled import NON_NEGATIVE
from private_topics.privacy.subsampling import subsampled_delta

pytestmark = pytest.mark.filterwarnings("ignore::private_topics.PrivacyWarning")

FEW = {"steps": 4, "sampling_rate": 0.3}


@pytest.fixture(scope="module")
def corpus():
    return make_lda_corpus(6000, 80, 3, alpha0=0.3, mean_length=50, random_state=0)


@pytest.fixture(scope="module")
def model(corpus):
    return PrivateVariationalLDA(3, epsilon=3.0, delta=1e-6, alpha0=0.3, steps=40, random_state=0).fit(corpus[0])


@parametrize_with_checks(
    [
        VariationalLDA(n_components=2, steps=5),
        PrivateVariationalLDA(n_components=2, steps=5, noise_seed=1, delta=1e-3),
    ]
)
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


@pytest.mark.parametrize("kind", [VariationalLDA, PrivateVariationalLDA])
def test_fitted_attributes(kind, corpus):
    estimator = kind(3, alpha0=0.3, **FEW)
    parameters = estimator.get_params()
    assert estimator.fit(corpus[0]) is estimator
    assert estimator.get_params() == parameters
    assert estimator.components_.shape == (3, 80)
    assert estimator.components_.min() >= 0
    np.testing.assert_allclose(estimator.components_.sum(axis=1), 1.0, atol=1e-9)
    np.testing.assert_allclose(estimator.doc_topic_prior_, 0.1)
    np.testing.assert_allclose(estimator.transform(corpus[0][:5]).sum(axis=1), 1.0)


def test_learns_something(model, corpus):
    """16.3 against 31.4 of the unigram model when this was written; noise moves it by a tenth."""
    assert model.perplexity(corpus[0][:1000]) < 0.6 * unigram_perplexity(corpus[0], corpus[0][:1000])


def test_statement(model):
    statement = model.privacy_
    assert (statement.epsilon, statement.delta, statement.unit) == (3.0, 1e-6, "document")
    assert statement.proved
    assert statement.private
    assert statement.configuration == "variational"
    assert 0.99 * 3.0 <= statement.epsilon_spent <= 3.0
    (line,) = statement.releases
    assert line.share == pytest.approx(1.0)
    assert line.coordinates == 240
    assert line.proof == "variational"
    assert (Path(__file__).resolve().parents[2] / "docs" / "proofs" / f"{line.proof}.md").exists()
    rate = 1000 / 6000
    assert line.name == f"40 minibatches, rate {rate:g}"
    assert subsampled_delta(line.sensitivity / line.sigma, NON_NEGATIVE, rate, 40, 3.0) <= 1e-6
    for word in (
        "document",
        "replaced",
        "1e-06",
        "loss distributions",
        "not which documents",
        "probability 0.166667",
    ):
        assert word in statement.text
    assert line.name in statement.table()
    assert PrivacyStatement.from_dict(statement.to_dict()) == statement


def test_full_batches_are_accounted_in_closed_form(corpus):
    statement = PrivateVariationalLDA(3, sampling_rate=1.0, steps=3).fit(corpus[0][:500]).privacy_
    assert statement.accounting == "Gaussian differential privacy"
    (line,) = statement.releases
    assert gdp_epsilon(np.sqrt(3) * line.sensitivity / line.sigma, 1e-6) == pytest.approx(1.0, rel=1e-6)


def test_one_release_per_step_at_one_noise(corpus):
    with captured_releases() as seen:
        fitted = PrivateVariationalLDA(3, **FEW).fit(corpus[0])
    assert len(seen) == 4
    (line,) = fitted.privacy_.releases
    assert {released.sigma for _, released in seen} == {line.sigma}


def test_seeded_noise_is_not_private(corpus):
    first, again = (PrivateVariationalLDA(3, noise_seed=7, **FEW).fit(corpus[0]) for _ in range(2))
    assert not first.privacy_.private
    assert first.privacy_.text.startswith("NOT PRIVATE")
    np.testing.assert_array_equal(first.components_, again.components_)


def test_random_state_fixes_neither_noise_nor_minibatches(corpus):
    first, second = (PrivateVariationalLDA(3, random_state=0, **FEW).fit(corpus[0]) for _ in range(2))
    assert (first.components_ != second.components_).mean() > 0.9


def test_plain_fits_repeat_and_seeds_matter(corpus):
    first, again, other = (VariationalLDA(3, random_state=seed, **FEW).fit(corpus[0]) for seed in (0, 0, 1))
    np.testing.assert_array_equal(first.components_, again.components_)
    assert (first.components_ != other.components_).any()


@pytest.mark.parametrize("kind", [VariationalLDA, PrivateVariationalLDA])
def test_threads_and_blocks_do_not_change_the_result(kind, corpus):
    X = corpus[0][:900]
    seed = {"random_state": 0} if kind is VariationalLDA else {"noise_seed": 0}
    expected = kind(3, n_jobs=1, **seed, **FEW).fit(X).components_
    for other, jobs in ((X, 2), ([X[:400], X[400:]], 1), (X.toarray(), 1), (sp.csc_array(X), 1)):
        np.testing.assert_allclose(kind(3, n_jobs=jobs, **seed, **FEW).fit(other).components_, expected, atol=1e-12)


def test_save_and_load(model, corpus, tmp_path):
    plain = VariationalLDA(3, **FEW).fit(corpus[0][:300])
    for fitted in (model, plain):
        path = tmp_path / type(fitted).__name__
        fitted.save(path)
        for loaded in (type(fitted).load(path), private_topics.load(path)):
            assert type(loaded) is type(fitted)
            np.testing.assert_array_equal(loaded.components_, fitted.components_)
            assert loaded.get_params() == fitted.get_params()
    assert private_topics.load(tmp_path / "PrivateVariationalLDA").privacy_ == model.privacy_
    with pytest.raises(ModelFileError):
        PrivateSpectralLDA.load(tmp_path / "PrivateVariationalLDA")


def test_altered_statement_is_refused(model, tmp_path):
    path = tmp_path / "private.model"
    model.save(path)
    raw = path.read_bytes()
    assert raw.count(b'"epsilon": 3.0') >= 1
    path.write_bytes(raw.replace(b'"epsilon": 3.0', b'"epsilon": 0.3'))
    with pytest.raises(ModelFileError):
        PrivateVariationalLDA.load(path)


def test_users_are_units(corpus):
    users = np.arange(6000) // 4
    fitted = PrivateVariationalLDA(3, **FEW).fit(corpus[0], groups=users)
    assert fitted.privacy_.unit == "user"
    assert fitted.privacy_.n_units == 1500
    assert "not which users" in fitted.privacy_.text
    with pytest.raises(InputError, match="one label for each document"):
        PrivateVariationalLDA(3).fit(corpus[0], groups=users[:-1])


def test_ledger_adds_up_by_epsilon_and_refuses_before_noise(corpus):
    ledger = BudgetLedger(2.2, 1e-5)
    for _ in range(2):
        PrivateVariationalLDA(3, epsilon=1.0, ledger=ledger, **FEW).fit(corpus[0])
    assert ledger.epsilon_spent == pytest.approx(2.0, rel=1e-3)
    with captured_releases() as seen, pytest.raises(PrivacyError, match="total budget"):
        PrivateVariationalLDA(3, epsilon=1.0, ledger=ledger, **FEW).fit(corpus[0])
    assert seen == []
    assert clone(PrivateVariationalLDA(ledger=ledger)).ledger is ledger


def test_full_batches_share_a_ledger_with_the_spectral_fit(corpus):
    """Both are Gaussian: two fits at epsilon 1 come to less than 2."""
    ledger = BudgetLedger(1.6, 1e-6)
    PrivateVariationalLDA(3, ledger=ledger, sampling_rate=1.0, steps=2).fit(corpus[0][:500])
    PrivateSpectralLDA(3, ledger=ledger).fit(corpus[0])
    assert 1.0 < ledger.epsilon_spent < 1.6


def test_one_unit_is_refused_before_it_is_charged(corpus):
    ledger = BudgetLedger(1.0, 1e-5)
    for arguments in ({}, {"groups": ["same"]}):
        with pytest.raises(InputError, match="at least two"):
            PrivateVariationalLDA(2, ledger=ledger, **FEW).fit(corpus[0][:1], **arguments)
    assert ledger.spent == ()


@pytest.mark.parametrize("kind", [VariationalLDA, PrivateVariationalLDA])
@pytest.mark.parametrize(
    "bad",
    [
        {"n_components": 0},
        {"n_components": 2**70},
        {"alpha0": -1.0},
        {"steps": 0},
        {"steps": 2.5},
        {"sampling_rate": 0.0},
        {"sampling_rate": 1.5},
        {"sampling_rate": True},
        {"offset": 0.0},
        {"decay": -0.5},
        {"word_prior": 0.001},
        {"n_jobs": 0},
    ],
)
def test_impossible_parameters_are_refused(kind, bad, corpus):
    (name,) = bad
    with pytest.raises(InputError, match=name):
        kind(**{"n_components": 2} | bad).fit(corpus[0][:50])


@pytest.mark.parametrize("bad", [{"epsilon": 0.0}, {"delta": 0.0}, {"delta": 1.0}, {"clip": -1.0}, {"clip": "none"}])
def test_impossible_private_parameters_are_refused(bad, corpus):
    (name,) = bad
    with pytest.raises((PrivacyError, InputError), match=name):
        PrivateVariationalLDA(2, **bad).fit(corpus[0][:50])


def test_text_is_refused_by_its_name():
    with pytest.raises(PrivacyError, match=r"PrivateVariationalLDA\.fit takes word counts"):
        PrivateVariationalLDA(2).fit(["a text of some words", "another"])


@pytest.mark.filterwarnings("default::private_topics.PrivacyWarning")
def test_warns_of_a_large_delta(corpus):
    with pytest.warns(PrivacyWarning, match="delta"):
        PrivateVariationalLDA(2, delta=0.01, **FEW).fit(corpus[0][:1000])


def test_verbose_prints_steps_to_standard_error(corpus, capsys):
    PrivateVariationalLDA(2, verbose=True, **FEW).fit(corpus[0][:300])
    printed = capsys.readouterr()
    assert printed.out == ""
    assert [line.split("s  ")[-1] for line in printed.err.splitlines()] == [
        f"minibatch {n} of 4" for n in range(1, 5)
    ]


def test_a_durable_ledger_takes_subsampled_fits(corpus, tmp_path):
    ledger = DurableLedger.register(tmp_path / "budget.db", "letters", 1.5, 1e-5)
    PrivateVariationalLDA(3, ledger=ledger, **FEW).fit(corpus[0])
    assert ledger.epsilon_spent == pytest.approx(1.0, rel=1e-3)
    with pytest.raises(PrivacyError, match="total"):
        PrivateVariationalLDA(3, ledger=ledger, **FEW).fit(corpus[0])


def test_a_finished_fit_is_noted_with_its_public_settings(corpus, tmp_path):
    ledger = DurableLedger.register(tmp_path / "budget.db", "letters", 3.0, 1e-5)
    PrivateVariationalLDA(np.int64(3), ledger=ledger, **FEW).fit(corpus[0])
    (entry,) = ledger.entries()
    assert entry.state == "finished"
    noted = {"estimator": "PrivateVariationalLDA", "n_units": 6000, "n_words": 80, "n_components": 3, "private": True}
    assert noted.items() <= entry.settings.items()
    assert (entry.settings["steps"], entry.settings["sampling_rate"]) == (4, 0.3)


def test_a_fit_that_fails_half_way_keeps_its_reservation(corpus, tmp_path, monkeypatch):
    """It has released a minibatch by then: nothing may be given back, and its row must not say that it finished."""

    def failing(statistic, n_words, n_topics, *rest):
        statistic(np.full((n_words, n_topics), 1.0 / n_words))
        raise RuntimeError("half-way")

    monkeypatch.setattr("private_topics.estimators.variational.online_topics", failing)
    ledger = DurableLedger.register(tmp_path / "budget.db", "letters", 1.5, 1e-5)
    with pytest.raises(RuntimeError, match="half-way"):
        PrivateVariationalLDA(3, ledger=ledger, **FEW).fit(corpus[0])
    (entry,) = ledger.entries()
    assert entry.state == "reserved"
    assert ledger.epsilon_spent == pytest.approx(1.0, rel=1e-3)
    with pytest.raises(PrivacyError, match="total"):
        PrivateVariationalLDA(3, ledger=ledger, **FEW).fit(corpus[0])


def test_any_object_that_reserves_is_a_ledger(corpus):
    asked = []

    class Purse:
        def reserve(self, budget, **kind):
            asked.append((budget.epsilon, kind))

    PrivateVariationalLDA(3, ledger=Purse(), **FEW).fit(corpus[0])
    assert asked == [(1.0, {"guarantee": "approximate"})]
