"""The default split of every fit, whatever its public numbers, with a released vocabulary and without."""

from __future__ import annotations

import math

import numpy as np
import pytest

from private_topics import WITH_VOCABULARY, PrivateSpectralLDA, PublicKnowledge
from private_topics.estimators.private import settings_of
from private_topics.fits.choice import PRIVATE, SEQUENTIAL
from private_topics.fits.fit import BudgetSplit, Fit, after
from private_topics.fits.informed import FEW, INFORMED
from private_topics.privacy.neighbours import REPLACE, ZERO_OUT, Neighbours
from private_topics.releases.vocabulary import VOCABULARY_SHARE
from private_topics.spectral.topics import equal_eigenvalue

SPLIT = [fit for fit in PRIVATE if not fit.adds_up]


@pytest.mark.parametrize("fit", SPLIT, ids=lambda fit: fit.name)
@pytest.mark.parametrize("vocabulary", [0.0, VOCABULARY_SHARE])
def test_it_is_the_whole_and_no_part_is_negative(fit: Fit, vocabulary: float) -> None:
    """A split that cannot be made would be found after the vocabulary is charged."""
    for budget in (1.0, 30.0, 300.0, 1_000.0, 3_000.0, 10_000.0, 1e6):
        for n_topics, n_words in ((1, 20), (5, 300), (10, 2_000), (25, 3_000), (100, 50_000)):
            fractions = None if fit.fractions_for is None else fit.fractions_for(budget, n_topics, n_words)
            for alpha0 in (0.01, 1.0, 30.0, 1e4):
                for steps in (0, 4):
                    split = fit.split(steps, equal_eigenvalue(n_topics, alpha0), fractions, vocabulary=vocabulary)
                    assert math.fsum(split.values()) == pytest.approx(1.0, abs=1e-12)
                    assert min(split.values()) >= 0.0
                    assert split["vocabulary"] == vocabulary
                    fit.check_split(split, refined=bool(steps) and fit in (SEQUENTIAL, INFORMED))


def test_refinement_or_features_pay_for_the_vocabulary() -> None:
    assert SEQUENTIAL.split(4, vocabulary=VOCABULARY_SHARE) == WITH_VOCABULARY
    assert SEQUENTIAL.split(0, vocabulary=VOCABULARY_SHARE) == WITH_VOCABULARY.without_refinement()
    assert SEQUENTIAL.split(4) == BudgetSplit()
    few, many = {"features": 0.5, "refine": 0.2, "second": 0.3}, {"features": 0.2, "refine": 0.5, "second": 0.3}
    assert after(few, vocabulary=0.1) == {"features": 0.4, "refine": 0.2, "second": 0.3, "vocabulary": 0.1}
    assert after(many, vocabulary=0.1) == {"features": 0.2, "refine": 0.4, "second": 0.3, "vocabulary": 0.1}
    without = after({"unigram": 0.2, "second": 0.8, "refine": 0.0}, vocabulary=0.1)
    assert without == pytest.approx({"unigram": 0.18, "second": 0.72, "refine": 0.0, "vocabulary": 0.1})
    several = after({"unigram": 0.2, "second": 0.8}, texts=0.01, vocabulary=0.1)
    assert several == pytest.approx({"unigram": 0.178, "second": 0.712, "texts": 0.01, "vocabulary": 0.1})


def test_smaller_noise_is_a_larger_budget():
    """Neighbours that add or empty a unit have sums with less noise: the split is the one for that noise."""
    knowledge = PublicKnowledge(np.eye(60), np.full(60, np.nan), [("each its own", "vectors", "0" * 64, 60)])

    def split(neighbours: Neighbours, mu: float) -> BudgetSplit:
        model = PrivateSpectralLDA(10, epsilon=1.0, delta=1e-6, knowledge=knowledge, neighbours=neighbours)
        return settings_of(model).split_for(mu, 1_000, 60, 0.0)

    for mu in (0.03, 0.05, 0.06, 0.8, 1.2):
        assert split(ZERO_OUT, mu) == split(REPLACE, mu * 2.0**0.5)
    assert len({split(REPLACE, mu * 2.0**0.5).features for mu in (0.03, 0.05, 0.06, 1.2)}) == 4


@pytest.mark.parametrize(("n_topics", "alpha0"), [(3, 30.0), (10, 1.0), (30, 3.0)])
def test_the_tensor_gets_what_its_eigenvalue_asks_for(n_topics: int, alpha0: float) -> None:
    """The fewer topics and the less each document is about one of them, the smaller it is."""
    settings = settings_of(PrivateSpectralLDA(n_topics, epsilon=1.0, delta=1e-6, alpha0=alpha0, keep="untested"))
    split = settings.split_for(0.5, 1_000, 60, 0.0)
    assert split == SEQUENTIAL.split(settings.refine_steps, equal_eigenvalue(n_topics, alpha0))
    assert (split.tensor > BudgetSplit().tensor) == (alpha0 == 30.0)


@pytest.mark.parametrize("moments", [{}, {"frame": 0.1}, {"tensor": 0.1}])
def test_a_split_for_public_knowledge_also_serves_where_it_knows_nothing(moments: dict[str, float]) -> None:
    """It leaves nothing to a moment inside the frame, which the fit without public knowledge needs."""
    nothing = PublicKnowledge(np.ones((30, 2)), np.full(30, np.nan), [("alike", "vectors", "0" * 64, 30)])
    split = BudgetSplit(**FEW | {"features": FEW["features"] - sum(moments.values())} | moments)
    model = PrivateSpectralLDA(3, epsilon=1.0, delta=1e-6, knowledge=nothing, budget_split=split, refine_steps=2)
    settings = settings_of(model)
    assert settings.fit is SEQUENTIAL
    assert settings.split is not None
    SEQUENTIAL.check_split(settings.split, refined=True)
    assert settings.split["features"] == 0.0
