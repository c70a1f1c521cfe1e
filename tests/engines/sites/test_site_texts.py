"""Texts over several sites: `PrivateTopics`, and what comes after a fit: shares of classes, reliability."""

from __future__ import annotations

import math

import numpy as np
import pytest
from site_support import make_sites, together

pytest.importorskip("cryptography")

from private_topics import (
    BudgetLedger,
    CandidateVocabulary,
    InputError,
    PrivateSpectralLDA,
    PrivateTopics,
    PrivateVocabulary,
    Tokeniser,
    WordList,
    class_shares,
    fit_texts,
    reliability,
)
from private_topics.audit.reliability import _epsilon
from private_topics.engines.sites.site import Site
from private_topics.errors import EngineError
from private_topics.privacy.curves import mu_of_budget
from private_topics.privacy.shares import NoiseShares, mu_of_sites

pytestmark = pytest.mark.filterwarnings("ignore::private_topics.errors.PrivacyWarning")
WORDS = Tokeniser().usable(["appointment", "bill", "doctor", "food", "nurse", "pain", "parking", "staff"])
EPSILON = 4.0


def letters(number, count=40):
    generator = np.random.default_rng(number)
    return [" ".join(generator.choice(WORDS, 12)) for _ in range(count)]


def fitted(sites, ledgers=None, **odd):
    """`PrivateTopics` at every site, with the settings of `odd` at the second one."""

    def work(name, site):
        settings = {"vocabulary": list(WORDS), "knowledge": None, "epsilon": EPSILON, "refine_steps": 0}
        settings |= odd if name == "clinic-01" else {}
        model = PrivateTopics(1, engine=site, ledger=None if ledgers is None else ledgers[name], **settings)
        return model.fit(letters(int(name[-2:])))

    return together(sites, work)


@pytest.fixture(scope="module")
def models():
    ledgers = {f"clinic-{number:02d}": BudgetLedger(5.0, 1e-5) for number in range(3)}
    found, coordinator, problem = fitted(make_sites(3, 2, WORDS), ledgers)
    assert problem is None
    assert coordinator.left == []
    assert [len(ledger.spent) for ledger in ledgers.values()] == [1, 1, 1]
    return found


def test_private_topics_gives_every_site_the_same_model(models):
    first = models["clinic-00"]
    assert first.privacy_.private
    assert first.privacy_.n_units == 120
    assert "counting the noise of 2 of 3 sites" in first.privacy_.text
    for model in models.values():
        assert np.array_equal(model.components_, first.components_)
        assert model.topics_[0].words == first.topics_[0].words
    assert first.transform(letters(9, 5)).shape == (5, 1)


def test_a_site_that_reads_texts_otherwise_is_left_out_before_anything_is_charged():
    ledgers = {f"clinic-{number:02d}": BudgetLedger(5.0, 1e-5) for number in range(3)}
    found, coordinator, problem = fitted(make_sites(3, 2, WORDS), ledgers, extra_stop_words=["however"])
    assert problem is None
    assert coordinator.left == ["clinic-01"]
    assert isinstance(found["clinic-01"], EngineError)
    assert [len(ledger.spent) for ledger in ledgers.values()] == [1, 0, 1]


def one_site(words=WORDS):
    quiet = next(iter(make_sites(2, 2, words).values()))
    return Site(quiet.identity, quiet.directory, words, patience=0.1)


@pytest.mark.parametrize("vocabulary", ["candidates", "private", "candidates:list:english"])
def test_a_vocabulary_that_is_released_is_refused_and_costs_nothing(vocabulary):
    ledger = BudgetLedger(5.0, 1e-5)
    model = PrivateTopics(1, vocabulary=vocabulary, engine=one_site(), ledger=ledger)
    with pytest.raises(InputError, match="Several sites agree on a public vocabulary"):
        model.fit(letters(0))
    assert not ledger.spent


@pytest.mark.parametrize("vocabulary", [PrivateVocabulary(), CandidateVocabulary(WordList("some", tuple(WORDS)))])
def test_fit_texts_refuses_it_too(vocabulary):
    ledger = BudgetLedger(5.0, 1e-5)
    model = PrivateSpectralLDA(1, engine=one_site(), sampler="exact", ledger=ledger)
    with pytest.raises(InputError, match="Several sites agree on a public vocabulary"):
        fit_texts(model, letters(0), vocabulary)
    assert not ledger.spent


@pytest.mark.parametrize("words", [WORDS[::-1], WORDS[1:], [*WORDS, "the"]])
def test_other_words_than_those_of_the_site_are_refused_and_cost_nothing(words):
    """As many of them in another order would be columns with wrong names."""
    ledger = BudgetLedger(5.0, 1e-5)
    model = PrivateTopics(1, vocabulary=list(WORDS), knowledge=None, engine=one_site(words), ledger=ledger)
    with pytest.raises(InputError, match="words of a Site"):
        model.fit(letters(0))
    assert not ledger.spent


def test_shares_of_classes_are_of_the_documents_of_one_site(models):
    """A release of its own, from this site's documents, charged to this site's ledger."""
    ledger, labels = BudgetLedger(5.0, 1e-5), ["north", "south"] * 20
    model = models["clinic-01"].model_
    found = class_shares(model, letters(1), ["north", "south"], labels=labels, epsilon=2.0, ledger=ledger)
    assert found.privacy.n_units == 40
    assert len(ledger.spent) == 1
    assert "sites" not in found.privacy.text


def test_reliability_draws_the_noise_that_sums_over_sites_have(models, tmp_path):
    model = models["clinic-02"]
    expected = mu_of_sites(EPSILON, 1e-6, NoiseShares(3, 2))
    assert math.isclose(mu_of_budget(_epsilon(model.model_), 1e-6), expected, rel_tol=1e-6)
    assert expected < 0.8 * mu_of_budget(EPSILON, 1e-6)
    model.save(tmp_path / "model")
    loaded = PrivateTopics.load(tmp_path / "model")
    assert _epsilon(loaded.model_) == _epsilon(model.model_)
    answer = reliability(model, refits=2, n_words=3)
    assert np.array_equal(answer.top_share, reliability(loaded, refits=2, n_words=3).top_share)
    assert model.topics_[0].reliability is not None
