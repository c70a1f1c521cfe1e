"""The utility theorems term by term, worked out from the paper; the remarks against the theorems they rest on."""

from __future__ import annotations

import math
from itertools import product

import pytest

from private_topics import InputError
from private_topics.paper import utility_bounds as utility
from private_topics.paper.bounds import tau
from private_topics.paper.utility_bounds import Quantities

# √d = 10, √σ_1 = 0.8, σ_k = 0.25, σ_k^1.5 = 0.125, k = 16: √k = 4, k^1.25 = 32, k² = 256, k^2.5 = 1024.
PROBLEM = Quantities(1000, 100, 16, 0.64, 0.25, 0.5)
TAUS = {"e3": 2.0, "e4": 3.0, "e6": 5.0, "e7": 6.0, "e8": 7.0, "e9": 8.0}
UNWHITENING = 0.8 * 10 / (0.25 * 1000) * 7
WIDENED = math.sqrt(0.64 + 10 / 1000 * 7)


def test_configuration_one():
    line, cube, late = 10 / (1000 * 0.125) * 2, (10 / (1000 * 0.125) * 3) ** 3, (10 / (1000 * 0.25) * 3) ** 3
    expected = 0.8 * 4 / 0.5 * (cube + line), UNWHITENING, WIDENED * 4 / 0.5 * (late + line)
    assert utility.utility_terms(1, PROBLEM, TAUS) == pytest.approx(expected)
    derived = 0.8 * 4 / 0.5 * (cube + line), UNWHITENING, WIDENED * 4 / 0.5 * (cube + line)
    assert utility.utility_terms(1, PROBLEM, TAUS, as_derived=True) == pytest.approx(derived)


def test_configuration_two():
    spread = 5 / (0.5 * 1000 * 0.125)
    expected = 0.8 * 32 * spread, UNWHITENING, WIDENED * 1024 * spread
    assert utility.utility_terms(2, PROBLEM, TAUS) == pytest.approx(expected)
    assert utility.utility_terms(2, PROBLEM, TAUS, as_derived=True)[0] == pytest.approx(0.8 * 1024 * spread)


def test_configuration_three():
    spread = 6 / (0.5 * 1000 * 0.125)
    expected = 0.8 * 32 * spread, UNWHITENING, WIDENED * 256 * spread
    assert utility.utility_terms(3, PROBLEM, TAUS) == pytest.approx(expected)
    assert utility.utility_terms(3, PROBLEM, TAUS, as_derived=True)[0] == pytest.approx(0.8 * 1024 * spread)


def test_configuration_four():
    assert utility.utility_terms(4, PROBLEM, TAUS) == pytest.approx((8 * 256 * 8 / (0.5 * 1000 * 0.125),))


@pytest.mark.parametrize("configuration", [1, 2, 3, 4])
def test_the_bound_is_the_sum_and_falls_with_documents(configuration):
    terms = utility.utility_terms(configuration, PROBLEM, TAUS)
    assert utility.utility_bound(configuration, PROBLEM, TAUS) == pytest.approx(sum(terms))
    more = Quantities(2000, 100, 16, 0.64, 0.25, 0.5)
    assert utility.utility_bound(configuration, more, TAUS) < sum(terms)


def test_the_budget_is_divided_over_edges_and_procedure_one():
    parts = {configuration: len(utility.equal_taus(configuration, 1.0, 1e-6)) for configuration in (1, 2, 3, 4)}
    assert parts == {1: 3, 2: 3, 3: 4, 4: 3}
    assert utility.equal_taus(3, 1.0, 1e-6)["e7"] == pytest.approx(tau(0.25, 2.5e-7))


def test_the_table_has_every_bound():
    taus = {each: utility.equal_taus(each, 1.0, 1e-6) for each in (1, 2, 3, 4)}
    expected = {each: utility.utility_bound(each, PROBLEM, taus[each]) for each in taus}
    assert utility.utility_table(PROBLEM, 1.0, 1e-6) == expected


def test_no_number_of_documents_makes_up_for_a_vanished_gap():
    taus = utility.equal_taus(2, 1.0, 1e-6)
    assert utility.utility_bound(2, Quantities(10**30, 100, 16, 0.64, 0.25, 0.0), taus) == math.inf


def test_the_first_remark_holds_for_few_topics_only():
    """The theorems give the factor `√d / k²`: configuration 2 is ahead where `k < d^(1/4)`."""
    for d, k in product((10_000, 1_000_000), (2, 5, 20, 100)):
        problem = Quantities.of_size(10**15, d, k)
        compared = utility.first_or_second(problem, noise=1.0, as_derived=True)
        assert compared.stated == 2
        assert (compared.by_theorems == 2) == (k < d**0.25)
        taus = dict.fromkeys(TAUS, 1.0)
        one, two = (utility.utility_terms(each, problem, taus, as_derived=True)[0] for each in (1, 2))
        assert one / two == pytest.approx(math.sqrt(d) / k**2, rel=0.01)


def test_the_second_remark_follows_its_condition():
    # alpha0 = 2, N = 1000: Δ3 = 8.04/1000 or so; γ_s σ_k(T) / (2·4) against it.
    for sigma, expected in ((0.2, 3), (0.1, 2)):
        compared = utility.second_or_third(PROBLEM, noise=1.0, alpha0=2.0, tensor_sigma_k=sigma)
        assert (compared.stated, compared.by_theorems) == (expected, 3)


def test_the_third_remark_misses_the_noise():
    loud = utility.third_or_fourth(Quantities.of_size(101, 10_000, 2), noise=1e4)
    assert (loud.stated, loud.by_theorems) == (3, 4)
    quiet = utility.third_or_fourth(Quantities.of_size(10**6, 10_000, 2), noise=10.0)
    assert (quiet.stated, quiet.by_theorems) == (3, 3)
    assert utility.third_or_fourth(Quantities.of_size(99, 10_000, 2), noise=10.0).stated == 4


def test_the_lemma_on_correctness():
    model = {"alpha0": 3.0, "smallest_share": 0.1, "sigma_k_topics": 0.5}
    error = utility.sampling_error(n_documents=10_000, n_topics=2, **model)
    assert error == pytest.approx(16 * 8 / (0.01 * 0.5 * 100))


def test_what_is_refused():
    with pytest.raises(InputError, match="configuration"):
        utility.utility_bound(5, PROBLEM, TAUS)
    with pytest.raises(InputError, match="e8"):
        utility.utility_bound(2, PROBLEM, {"e6": 1.0})
    with pytest.raises(InputError, match="sigma_k"):
        Quantities(1000, 100, 16, 0.64, -0.25, 0.5)
    with pytest.raises(InputError, match="smallest_share"):
        utility.sampling_error(n_documents=9, n_topics=2, alpha0=1.0, smallest_share=0.0, sigma_k_topics=0.5)
