"""What is the variational estimators' own: one release per minibatch, costs that add up, limits of the schedule."""

from pathlib import Path

import numpy as np
import pytest
from estimator_support import FEW, corpus, every_variational_estimator, fitted, made

from private_support import captured_releases
from private_topics import BudgetLedger, InputError, PrivacyError, PrivateSpectralLDA, PrivateVariationalLDA
from private_topics.evaluation import unigram_perplexity
from private_topics.privacy.curves import gdp_epsilon
from private_topics.privacy.subsampling import NON_NEGATIVE, subsampled_delta

pytestmark = pytest.mark.filterwarnings("ignore::private_topics.PrivacyWarning")


@pytest.fixture(scope="module")
def model():
    return PrivateVariationalLDA(3, epsilon=3.0, delta=1e-6, alpha0=0.3, steps=40, random_state=0).fit(corpus()[0])


@every_variational_estimator
def test_every_topic_has_the_same_weight(kind):
    np.testing.assert_allclose(fitted(kind).doc_topic_prior_, 0.1)


def test_learns_something(model):
    """16.3 against 31.4 of the unigram model when this was written; noise moves it by a tenth."""
    assert model.perplexity(corpus()[0][:1000]) < 0.6 * unigram_perplexity(corpus()[0], corpus()[0][:1000])


def test_statement(model):
    statement = model.privacy_
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
    for word in ("loss distributions", "not which documents", "probability 0.166667"):
        assert word in statement.text


def test_users_too_are_drawn():
    statement = PrivateVariationalLDA(3, **FEW).fit(corpus()[0], groups=np.arange(6000) // 4).privacy_
    assert "not which users" in statement.text


def test_full_batches_are_accounted_in_closed_form():
    statement = PrivateVariationalLDA(3, sampling_rate=1.0, steps=3).fit(corpus()[0][:500]).privacy_
    assert statement.accounting == "Gaussian differential privacy"
    (line,) = statement.releases
    assert gdp_epsilon(np.sqrt(3) * line.sensitivity / line.sigma, 1e-6) == pytest.approx(1.0, rel=1e-6)


def test_one_release_per_step_at_one_noise():
    with captured_releases() as seen:
        fit = PrivateVariationalLDA(3, **FEW).fit(corpus()[0])
    assert len(seen) == 4
    (line,) = fit.privacy_.releases
    assert {released.sigma for _, released in seen} == {line.sigma}


def test_costs_add_up_by_epsilon():
    ledger = BudgetLedger(2.2, 1e-5)
    for _ in range(2):
        PrivateVariationalLDA(3, epsilon=1.0, ledger=ledger, **FEW).fit(corpus()[0])
    assert ledger.epsilon_spent == pytest.approx(2.0, rel=1e-3)


def test_full_batches_share_a_ledger_with_the_spectral_fit():
    """Both are Gaussian: two fits at epsilon 1 come to less than 2."""
    ledger = BudgetLedger(1.6, 1e-6)
    PrivateVariationalLDA(3, ledger=ledger, sampling_rate=1.0, steps=2).fit(corpus()[0][:500])
    PrivateSpectralLDA(3, ledger=ledger).fit(corpus()[0])
    assert 1.0 < ledger.epsilon_spent < 1.6


IMPOSSIBLE = [
    *(("steps", value) for value in (0, 2.5)),
    *(("sampling_rate", value) for value in (0.0, 1.5, True)),
    ("offset", 0.0),
    ("decay", -0.5),
    ("word_prior", 0.001),
]


@every_variational_estimator
@pytest.mark.parametrize(("name", "value"), IMPOSSIBLE)
def test_impossible_schedules_are_refused(kind, name, value):
    with pytest.raises(InputError, match=f"'{name}' parameter of {kind}"):
        made(kind, **{name: value}).fit(corpus()[0][:50])


@pytest.mark.parametrize("clip", [-1.0, "none"])
def test_impossible_clips_are_refused(clip):
    with pytest.raises((PrivacyError, InputError), match="clip"):
        PrivateVariationalLDA(2, clip=clip).fit(corpus()[0][:50])
