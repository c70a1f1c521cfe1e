"""The private vocabulary and the choice among candidates against the reference."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from private_topics.corpus.words.vocabulary import user_units
from private_topics.privacy.budget import PrivacyBudget
from private_topics.privacy.mechanisms import PrivateRun
from private_topics.privacy.randomness import NoiseStream
from private_topics.releases.candidates import release_candidates
from private_topics.releases.vocabulary import release_vocabulary
from reference import candidates, vocabulary
from reference.accountant import delta_of, mu_of, sigma_of

NAMES = ["ant", "bee", "cat", "dog", "eel", "fox", "gnu"]
UNITS = {
    "ordinary": [["ant", "bee"], ["ant"], ["cat", "dog", "ant"], ["bee", "bee", "bee"], NAMES],
    "empty ones": [[], ["ant"], [], ["ant"]],
    "all alike": [["ant", "bee", "cat"]] * 6,
    "one word each": [[name] for name in NAMES],
    "many": [[NAMES[n % 7], NAMES[(n * n + 1) % 7], NAMES[3]] for n in range(60)],
}
DELTA, MOST, SHARE = 1e-4, 7, 0.3
EVERY_UNIT = [list(unit) for size in range(5) for unit in itertools.combinations(NAMES[:4], size)]


class Watched(PrivateRun):
    """A run that keeps what it was asked to put noise on."""

    def release(self, query, aggregate, share, *, consume=False):
        self.query, self.exact = query, np.array(aggregate)
        self.noisy = super().release(query, aggregate, share, consume=consume)
        return self.noisy

    def release_words(self, query, weights, share, **limits):
        self.query, self.exact = query, dict(weights)
        self.noisy = super().release_words(query, weights, share, **limits)
        return self.noisy


def users(units):
    """Each unit's words spread over two documents, which are given apart."""
    documents = [unit[::2] for unit in units] + [unit[1::2] for unit in units]
    return user_units(documents, [*range(len(units)), *range(len(units))], MOST)


@pytest.fixture
def noise(monkeypatch):
    drawn = []
    honest = NoiseStream.rounded_gaussian

    def watched(stream, count, ratio):
        values = honest(stream, count, ratio)
        drawn.append((ratio, values.tolist()))
        return values

    monkeypatch.setattr(NoiseStream, "rounded_gaussian", watched)
    return drawn


@pytest.mark.parametrize("unit", ["documents", "users"])
@pytest.mark.parametrize("epsilon", [1.0, 100.0, 2e4])
@pytest.mark.parametrize("name", UNITS)
def test_a_private_vocabulary(name, epsilon, unit, noise):
    """Weights, noise, threshold, the words named and the price."""
    part = DELTA / 10
    run = Watched(PrivacyBudget(epsilon, DELTA), noise_seed=5, threshold_delta=part)
    units = UNITS[name]
    words = release_vocabulary(
        run, units if unit == "documents" else users(units), share=SHARE, most_words_per_unit=MOST
    )
    step, sigma = Fraction(run.query.step), run.noisy.sigma
    totals = vocabulary.weights(units, step)
    assert run.exact == totals
    meant = sigma_of(math.sqrt(2), SHARE, mu_of(epsilon, DELTA, threshold_delta=part))
    assert 1.0 <= sigma / meant <= 1.0 + 3e-9
    ((width, values),) = noise
    assert 1.0 <= width / (sigma / run.query.step) <= 1.0 + 1e-12
    limit = vocabulary.threshold(MOST, step, sigma, part)
    stated = run.noisy.threshold / run.query.step
    assert limit <= stated <= limit * (1 + 1e-8) + 3
    assert words == vocabulary.named(totals, dict(zip(sorted(totals), values, strict=True)), math.ceil(stated))
    priced = delta_of([(math.sqrt(2), sigma)], epsilon, thresholds=[part])
    assert 1.0 <= run.accountant.delta(epsilon) / priced <= 1.0 + 1e-6


@pytest.mark.parametrize("unit", ["documents", "users"])
@pytest.mark.parametrize("epsilon", [1.0, 100.0, 2e4])
@pytest.mark.parametrize("name", UNITS)
def test_candidates(name, epsilon, unit, noise):
    """Weights of every candidate, used or not, noise on all of them, and the words kept."""
    listed = [*NAMES[::-1][:5], *(f"unused{n}" for n in range(40))]
    run = Watched(PrivacyBudget(epsilon, DELTA), noise_seed=5)
    units = UNITS[name]
    given = units if unit == "documents" else [list(words) for words in users(units)]
    words = release_candidates(run, given, listed, share=SHARE, most_words_per_unit=MOST, size=30)
    step, sigma = Fraction(run.query.step), run.noisy.sigma
    totals = candidates.weights(units, listed, step)
    assert run.exact.tolist() == totals
    assert 1.0 <= sigma / sigma_of(math.sqrt(2), SHARE, mu_of(epsilon, DELTA)) <= 1.0 + 3e-9
    ((_, values),) = noise
    noisy = [float((total + value) * step) for total, value in zip(totals, values, strict=True)]
    assert run.noisy.value.tolist() == noisy
    assert words == sorted(listed[place] for place in candidates.kept(noisy, sigma, 30))


@pytest.mark.parametrize("listed", [None, NAMES[:4]], ids=["vocabulary", "candidates"])
def test_no_unit_of_four_words_moves_the_weights_further_than_the_root_of_two(listed):
    step = Fraction(1, 2**10)

    def weights(unit):
        if listed is not None:
            return candidates.weights([unit], listed, step)
        found = vocabulary.weights([unit], step)
        return [found.get(word, 0) for word in NAMES[:4]]

    pairs = itertools.combinations(map(weights, EVERY_UNIT), 2)
    squares = [sum((x - y) ** 2 for x, y in zip(one, other, strict=True)) for one, other in pairs]
    assert max(squares) * step**2 == 2  # attained by two units of one word each


@pytest.mark.parametrize("count", [1, 2, 3, 7, 100])
@pytest.mark.parametrize("bits", [3, 20, 40])
def test_weights_are_as_large_as_norm_one_allows(count, bits):
    step = Fraction(1, 2**bits)
    steps = vocabulary.weight(count, step)
    assert count * (steps * step) ** 2 <= 1 < count * ((steps + 1) * step) ** 2
