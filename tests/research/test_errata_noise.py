"""Errors about the noise and its accounting (docs/errata.md, part 3), in the exact curves of the mechanisms."""

from __future__ import annotations

import math

import numpy as np
import pytest

from counterexamples import noise
from private_topics.paper import bounds
from private_topics.paper import bounds as noise_scales
from private_topics.privacy.curves import gdp_delta, mu_of_budget


def test_printed_variance():
    found = noise.printed_variance()
    assert found.attained == pytest.approx(2.05, abs=0.01)
    assert found.corrected == pytest.approx(1.0, abs=1e-6)


def test_dropped_constants():
    found = noise.dropped_constants()
    assert found.attained > 1.4
    assert found.corrected == pytest.approx(1.0, abs=1e-6)


def test_dropped_constants_and_printed_variance_together():
    """What the configurations print, taken at its word: `√τ/N` on a moment that moves by `√(2 + 4a²)/N`."""
    sigma = noise_scales.printed_sigma(1.0, 1.0, noise.DELTA)
    assert gdp_delta(math.sqrt(3.0) / sigma, 3.0) > noise.DELTA


def test_the_classical_noise_holds_where_the_paper_uses_it():
    """App. B asks for an epsilon of at most 1, the figures have 3 over three releases; it first fails at 9.1."""
    assert noise.classical_failure() == pytest.approx(9.1, abs=0.2)
    for epsilon in (0.5, 1.0, 3.0):
        assert gdp_delta(1.0 / noise_scales.tau(epsilon, noise.DELTA), epsilon) < noise.DELTA


def test_lower_bound_zero():
    assert noise.lower_bound_zero().attained < 1e-12
    nothing = {"n_documents": 1000, "n_topics": 3, "alpha0": 1.0, "sigma_k": 0.0}
    assert bounds.published_tensor_sensitivity(**nothing) == math.inf


def test_unreleased_scale():
    found = noise.unreleased_scale()
    assert found.attained > 0.5
    assert found.published == 1e-7


@pytest.mark.statistical
@pytest.mark.parametrize("ratio", [1.1, 1.5])
def test_the_divergence_of_two_scales(ratio):
    """Held against 400,000 draws on each side, five standard errors: a false alarm in a million."""
    generator = np.random.default_rng(1)
    squares = generator.chisquare(50, size=(2, 400_000)) * np.array([[ratio], [1.0]])
    threshold = (2.0 + 50 * math.log(ratio)) / (1.0 - 1.0 / ratio)
    reached = (squares > threshold).mean(axis=1)
    estimate = reached[0] - math.e * reached[1]
    spread = math.sqrt((reached[0] + math.e**2 * reached[1]) / 400_000)
    assert abs(estimate - noise.scale_divergence(ratio, 50, 1.0)) < 5 * spread


def test_selection():
    found = noise.selection()
    assert found.attained > 5 * found.published
    assert found.attained <= found.corrected


def test_selection_of_one_costs_what_is_charged():
    """One try, no selection: the curve of the mechanism itself, so the violation above comes from the selection."""
    assert noise.selection(tries=1).attained == pytest.approx(noise.DELTA, rel=1e-3)
    assert gdp_delta(mu_of_budget(1.0, noise.DELTA), 1.0) == pytest.approx(noise.DELTA, rel=1e-6)


@pytest.mark.parametrize("length", [20, 1000])
def test_statistic_entry(length):
    """The bound has to be the length of the longest document, which must then be public."""
    found = noise.statistic_entry(length=length)
    assert found.attained > found.published
    assert found.attained <= found.corrected


def test_tensor_norm_bound():
    found = noise.tensor_norm_bound()
    assert found.attained > 1000 * found.published
    assert found.corrected < found.published
