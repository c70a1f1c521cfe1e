"""The paper's sensitivities, number by number from its text. That the corrected ones are attained: tests/research."""

from __future__ import annotations

import math

import numpy as np
import pytest

from private_topics import InputError
from private_topics.paper import bounds

# alpha0 = 2: a = 2/3, |b| = 1/2, c = 2·4/(3·4) = 2/3, prefactor 2·3·4/2 = 12. N = 102: (N-1)/(N-2) = 101/100.
N, ALPHA0 = 102, 2.0
SECOND = (2 + 8 / 3) / 102
THIRD = (2 + 2 + 4 * 101 / 100) / 102
SPECTRUM = {"n_documents": N, "n_topics": 8, "alpha0": ALPHA0, "sigma_k": 0.5}


def test_the_weights_of_the_moments():
    weights = bounds.MomentWeights.of(ALPHA0)
    assert (weights.pair, weights.mixed, weights.cube, weights.prefactor) == pytest.approx((2 / 3, 1 / 2, 2 / 3, 12))


def test_the_theorem_gives_both_moments_two_over_n():
    assert bounds.published_moment_sensitivity(n_documents=N) == pytest.approx(2 / 102)


def test_the_second_moment_of_the_appendix():
    assert bounds.published_second_moment_sensitivity(n_documents=N, alpha0=ALPHA0) == pytest.approx(SECOND)


def test_the_third_moment_of_the_appendix():
    assert bounds.published_third_moment_sensitivity(n_documents=N, alpha0=ALPHA0) == pytest.approx(THIRD)


def test_the_third_moment_of_the_appendix_at_alpha_one_is_five_and_a_third():
    large = 10**9
    published = bounds.published_third_moment_sensitivity(n_documents=large, alpha0=1.0)
    assert large * published == pytest.approx(16 / 3, rel=1e-8)


def test_the_norm_of_the_third_moment():
    # 1 + 6·2/4 · N/(N-1) + 6·4/(3·4) · N³/(N(N-1)(N-2))
    expected = 1 + 3 * 102 / 101 + 2 * 102**3 / (102 * 101 * 100)
    assert bounds.published_third_moment_norm(n_documents=N, alpha0=ALPHA0) == pytest.approx(expected)


def test_whitening_and_un_whitening():
    # √16 Δ2 / (0.5 √((0.5 + 0.22)/2)) = 4 Δ2 / (0.5 · 0.6)
    published = bounds.published_whitening_sensitivity(**SPECTRUM, sigma_next=0.22)
    assert published == pytest.approx(4 * SECOND / 0.3)
    inverse = bounds.published_unwhitening_sensitivity(n_documents=N, alpha0=ALPHA0, sigma_k=0.5, sigma_1=0.81)
    assert inverse == pytest.approx(0.9 * SECOND / 0.5)


def test_the_whitened_tensor_is_a_cube_and_a_line():
    norm = 1 + 3 * 102 / 101 + 2 * 102**3 / (102 * 101 * 100)
    frame = 4 * SECOND / (0.5 * math.sqrt(0.25))
    expected = norm * frame**3 + THIRD * 8**1.5 / 0.25**1.5
    assert bounds.published_tensor_sensitivity(**SPECTRUM) == pytest.approx(expected)


def test_eigenpairs_get_two_roots_of_k_over_the_gap():
    tensor = bounds.published_tensor_sensitivity(**SPECTRUM)
    expected = 2 * math.sqrt(8) * tensor / 0.1
    assert bounds.published_eigenvector_sensitivity(**SPECTRUM, gamma_s=0.1) == pytest.approx(expected)


def test_the_topics_get_three_terms():
    rho = 4 / (2 * math.sqrt(3 * 2))
    vector = bounds.published_eigenvector_sensitivity(**SPECTRUM, gamma_s=0.1)
    expected = rho * (3 * 0.9 * vector + 3 * 0.9 / 0.5 * SECOND + math.sqrt(0.81 + SECOND) * vector)
    published = bounds.published_topic_sensitivity(**SPECTRUM, gamma_s=0.1, sigma_1=0.81, tensor_sigma_1=3.0)
    assert published == pytest.approx(expected)
    assert bounds.unwhitening_factor(ALPHA0) == pytest.approx(rho)


def test_the_lemma_on_singular_value_and_gap():
    assert bounds.published_spectral_value_sensitivity(n_documents=N) == pytest.approx(2 / 102)
    assert bounds.corrected_singular_value_sensitivity(n_documents=N) == pytest.approx(2 / 102)


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [("n_documents", 2040, 20.0), ("gamma_s", 1.0, 10.0), ("sigma_k", 0.005, 1 / 1000.0)],
)
def test_large_corpora_scale_as_the_theorems_say(name, value, expected):
    """`k² / (γ_s N σ_k^1.5)`: the factor by which one quantity alone divides it, the cube being negligible."""
    start = {"n_documents": 102_000_000, "n_topics": 8, "alpha0": ALPHA0, "sigma_k": 0.5, "gamma_s": 0.1}
    changed = {**start, name: value * 1_000_000 if name == "n_documents" else value}
    factor = bounds.published_eigenvector_sensitivity(**start) / bounds.published_eigenvector_sensitivity(**changed)
    assert factor == pytest.approx(expected, rel=1e-4)


def test_the_corrected_moments():
    documents = {"n_documents": N, "alpha0": ALPHA0}
    assert bounds.corrected_second_moment_l1(**documents) == pytest.approx((2 + 8 / 3) / 102)
    assert bounds.corrected_second_moment_l2(**documents) == pytest.approx(math.sqrt(2 + 16 / 9) / 102)
    assert bounds.corrected_third_moment_l1(**documents) == pytest.approx((2 + 6 + 4) / 102)
    assert bounds.corrected_third_moment_l1(**documents, with_prefactor=True) == pytest.approx(12 * 12 / 102)


def test_the_corrected_third_moment_at_alpha_one_is_eight():
    assert 102 * bounds.corrected_third_moment_l1(n_documents=102, alpha0=1.0) == pytest.approx(8.0)


def tensor_with(eigenvalues):
    basis, _ = np.linalg.qr(np.random.default_rng(3).standard_normal((len(eigenvalues),) * 2))
    return np.einsum("i,ai,bi,ci->abc", np.array(eigenvalues), basis, basis, basis)


@pytest.mark.parametrize(
    ("eigenvalues", "expected"),
    [((5.0, 3.0, 2.5), 0.125), ((2.5, 5.0, 3.0), 0.125), ((5.0, 3.0, 0.4), 0.1), ((4.0,), 1.0), ((3.0, 3.0), 0.0)],
)
def test_gamma_s_is_a_quarter_of_the_smallest_gap_zero_included(eigenvalues, expected):
    assert bounds.gamma_s(tensor_with(eigenvalues)) == pytest.approx(expected, abs=1e-9)
    assert bounds.gap_of_eigenvalues(np.array(eigenvalues)) == pytest.approx(expected)


def test_no_singular_value_means_infinite_noise():
    nothing = {**SPECTRUM, "sigma_k": 0.0}
    assert bounds.published_whitening_sensitivity(**nothing) == math.inf
    assert bounds.published_tensor_sensitivity(**nothing) == math.inf
    assert bounds.published_eigenvector_sensitivity(**SPECTRUM, gamma_s=0.0) == math.inf
    assert bounds.published_tensor_sensitivity(**{**SPECTRUM, "sigma_k": 1e-120}) == math.inf


@pytest.mark.parametrize(
    ("name", "value"),
    [("n_documents", 2), ("n_topics", 0), ("alpha0", 0.0), ("alpha0", math.inf), ("alpha0", math.nan)],
)
def test_public_numbers_are_checked_and_quoted(name, value):
    with pytest.raises(InputError, match=name) as refused:
        bounds.published_tensor_sensitivity(**{**SPECTRUM, name: value})
    assert repr(value) in str(refused.value)


@pytest.mark.parametrize("value", [-0.123456, math.nan, math.inf])
def test_spectral_numbers_are_checked_and_never_quoted(value):
    with pytest.raises(InputError, match="sigma_k") as refused:
        bounds.published_tensor_sensitivity(**{**SPECTRUM, "sigma_k": value})
    assert repr(value) not in str(refused.value)
