"""What only some settings need may not be installed: it is missed, with the name of the extra, before any charge."""

import pytest

from private_topics import BudgetLedger, InputError, PrivateSpectralLDA, errors, make_lda_corpus
from private_topics.engines.sites.identities import SiteDirectory, SiteIdentity
from private_topics.engines.sites.masking import RoundKey
from private_topics.privacy.budget import PrivacyBudget
from private_topics.privacy.subsampling import SubsampledRun


@pytest.fixture
def lean(monkeypatch):
    monkeypatch.setattr(errors, "find_spec", lambda name: None)


def test_the_exact_sampler_needs_an_extra(lean):
    X, _, _ = make_lda_corpus(100, 20, 2, random_state=0)
    ledger = BudgetLedger(10.0, 1e-3)
    with pytest.raises(
        InputError, match=r"needs OpenDP, which is not installed: pip install 'private-topics\[exact\]'"
    ):
        PrivateSpectralLDA(2, delta=1e-4, sampler="exact", ledger=ledger).fit(X)
    assert ledger.spent == ()
    PrivateSpectralLDA(2, delta=1e-4, ledger=ledger).fit(X)
    assert len(ledger.spent) == 1


def test_minibatches_need_an_extra(lean):
    with pytest.raises(InputError, match=r"dp-accounting, which is not installed: .*\[subsampling\]"):
        SubsampledRun(PrivacyBudget(1.0, 1e-6), steps=3, rate=0.1, n_units=1_000)
    SubsampledRun(PrivacyBudget(1.0, 1e-6), steps=3, rate=1.0, n_units=1_000)


@pytest.mark.parametrize(
    "make",
    [
        lambda: SiteDirectory({"a": bytes(32), "b": bytes([1] * 32)}, 2),
        lambda: SiteIdentity.new("a"),
        lambda: SiteIdentity.read("key"),
        RoundKey,
    ],
    ids=["directory", "new key", "key of a file", "round"],
)
def test_sites_need_an_extra(lean, make):
    with pytest.raises(InputError, match=r"package cryptography, which is not installed: .*\[sites\]"):
        make()
