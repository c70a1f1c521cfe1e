"""Noise in shares: the honest shares alone are what is charged, the total is what is recorded, a repeat costs again.

The chi-squared tests have a false-alarm rate of 1e-6 each; they look at 40,000 numbers, where a deviation that is 3 %
too small has a probability below 1e-9 of passing.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from functools import cache

import mpmath
import numpy as np
import pytest
from scipy.stats import chi2

from private_topics.audit.bounds import mu_of_scores
from private_topics.errors import PrivacyError
from private_topics.privacy.budget import PrivacyBudget
from private_topics.privacy.curves import smallest_epsilon, zcdp_delta
from private_topics.privacy.events import SharedGaussianEvent
from private_topics.privacy.lattice import step_for
from private_topics.privacy.mechanisms import PrivateRun, Query
from private_topics.privacy.shares import SET_ASIDE, NoiseShares, SharedRun, _width

BUDGET = PrivacyBudget(1.0, 1e-6)
FALSE_ALARM = 1e-6
DRAWS = 40_000


class Together:
    """Runs of several sites, which add up at once. `parts` is what each site handed over, in every attempt."""

    def __init__(self, sites, honest, attempts=((),), budget=BUDGET, **settings):
        self.shares, self.attempts = NoiseShares(sites, honest), attempts
        self.parts: list[dict[int, np.ndarray]] = []
        settings = {"sampler": "fast", "noise_seed": 0} | settings
        seed = settings.pop("noise_seed")
        self.runs = [
            SharedRun(budget, shares=self.shares, exchange=None, noise_seed=None if seed is None else seed + site,
                      **settings) for site in range(sites)
        ]  # fmt: skip

    def release(self, query, aggregates, share):
        """The attempts of one release; each names the sites that are missing. The total of the last one."""
        asked, owns, present = {}, {}, range(len(self.runs))
        for site in present:
            self.runs[site]._exchange = self._catch(site, asked, owns)
            with pytest.raises(_CaughtError):
                self.runs[site].release(query, aggregates[site], share)
        for missing in self.attempts:
            present = [site for site in present if site not in missing]
            assert len({asked[site]() for site in present}) == 1
            self.parts.append({site: owns[site](len(present)) for site in present})
        return sum(self.parts[-1].values())

    @staticmethod
    def _catch(site, asked, owns):
        def exchange(digest, size, own):
            asked[site], owns[site] = digest, own
            raise _CaughtError

        return exchange


class _CaughtError(Exception):
    pass


def query_for(run, kind="vector", share=1.0, sensitivity=1.4):
    draft = Query(kind, kind, sensitivity, 1.0, "page")
    return replace(draft, step=step_for(run.sigma(draft, share), 1000, 1e9))


def spread_is(values, sigma):
    """Whether the numbers have this deviation, neither more nor less."""
    statistic = float((values**2).sum() / sigma**2)
    low, high = chi2.ppf([FALSE_ALARM / 2, 1 - FALSE_ALARM / 2], values.size)
    return bool(low < statistic < high)


# -- how many sites count --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("sites", "honest", "fewest"), [(5, 5, 5), (5, 4, 4), (5, 3, 3), (5, 2, 4), (20, 10, 11)])
def test_fewest(sites, honest, fewest):
    shares = NoiseShares(sites, honest)
    assert shares.fewest == fewest
    for taking_part in range(fewest, sites + 1):
        assert 1 <= shares.counting(taking_part) == taking_part - (sites - honest)
    for wrong in (fewest - 1, sites + 1):
        with pytest.raises(PrivacyError):
            shares.counting(wrong)


@pytest.mark.parametrize("honest", [0, -1, 6])
def test_a_number_of_honest_sites_that_cannot_be(honest):
    with pytest.raises(PrivacyError):
        NoiseShares(5, honest)


# -- noise as charged ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sampler", ["fast", "exact"])
@pytest.mark.parametrize(("sites", "honest"), [(5, 5), (5, 3), (4, 1)])
def test_honest_shares_alone_are_what_is_charged(sites, honest, sampler):
    """Colluding sites tell the coordinator their noise: what is left on the total is what the accountant was told."""
    draws = DRAWS if sampler == "fast" else DRAWS // 20
    together = Together(sites, honest, sampler=sampler, noise_seed=1 if sampler == "fast" else None)
    query = query_for(together.runs[0])
    total = together.release(query, np.zeros((sites, draws), np.int64), 1.0)
    (event,) = together.runs[0].released_events
    assert isinstance(event, SharedGaussianEvent)
    charged = event.sensitivity / event.mu
    assert spread_is(total * query.step, event.sigma)
    left = sum(list(together.parts[-1].values())[:honest])
    assert spread_is(left * query.step, charged)
    assert not spread_is(left * query.step, charged * 1.3)
    assert math.isclose(event.sigma, together.runs[0].sigma(query, 1.0), rel_tol=1e-9)


@pytest.mark.parametrize("kind", ["symmetric_matrix", "symmetric_tensor", "array"])
def test_arrays_of_every_kind_have_shares_too(kind):
    together = Together(4, 2)
    shape = {"symmetric_matrix": (200, 200), "symmetric_tensor": (40, 40, 40), "array": (100, 200)}[kind]
    query = query_for(together.runs[0], kind)
    together.release(query, np.zeros((4, *shape), np.int64), 1.0)
    (event,) = together.runs[0].released_events
    left = sum(list(together.parts[-1].values())[:2]) * query.step
    if kind == "symmetric_matrix":
        upper, left = left, np.zeros(shape)
        left[np.triu_indices(200)] = upper
    if kind == "array":
        assert spread_is(left, event.sensitivity / event.mu)
        return
    index = np.array([list(i) for i in np.ndindex(*shape) if len(set(i)) == len(i) and list(i) == sorted(i)])
    permutations = math.factorial(left.ndim)
    assert spread_is(left[tuple(index.T)] * math.sqrt(permutations), event.sensitivity / event.mu)


def test_everything_spent_costs_no_more_than_the_budget():
    together = Together(5, 3)
    query = query_for(together.runs[0], share=0.25)
    for _ in range(4):
        together.release(query, np.zeros((5, 10), np.int64), 0.25)
    run = together.runs[0]
    assert run.accountant.delta(BUDGET.epsilon) <= BUDGET.delta
    assert 0.95 < run.epsilon_spent < BUDGET.epsilon
    assert math.isclose(sum(run.shares_spent), 1 - SET_ASIDE, rel_tol=1e-6)


def played(sites, honest, priced):
    """A lower bound on mu by an attack on what is left when the colluding sites take their noise away; and the mu
    that is charged, in runs that count `priced` shares."""
    together = Together(sites, priced, budget=PrivacyBudget(8.0, 1e-6))
    query = query_for(together.runs[0])
    together.release(query, np.zeros((sites, DRAWS), np.int64), 1.0)
    left = sum(list(together.parts[-1].values())[:honest]) * query.step
    without, within = left[: DRAWS // 2], left[DRAWS // 2 :] + query.sensitivity
    return mu_of_scores(without, within, 1e-6, 0.1), together.runs[0].released_events[0].mu


def test_an_attack_of_coordinator_and_colluding_sites_finds_no_more_than_was_charged():
    """A game on one number: is a unit there that moves it as far as any can? Right with probability 1 - 1e-6."""
    found, charged = played(6, 2, priced=2)
    assert 0.8 * charged < found <= charged
    found, charged = played(6, 2, priced=6)  # all six are counted, but four of them collude
    assert found > charged


# -- rounds that are repeated ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("share", [0.02, 0.5])
def test_a_repeated_round_is_charged_again_and_draws_anew(share):
    together = Together(5, 3, attempts=((), (4,)))
    query = query_for(together.runs[0], share=share)
    together.release(query, np.zeros((5, DRAWS), np.int64), share)
    first, second = together.parts
    assert not any(np.array_equal(first[site], second[site]) for site in second)
    assert abs(np.corrcoef(first[0], second[0])[0, 1]) < 0.05
    for run in together.runs[:4]:
        events = run.released_events
        assert [event.shares for event in events] == [5, 4]
        assert [event.honest for event in events] == [3, 2]  # two may collude, whoever is missing
        paid = run.shares_spent[1]
        assert math.isclose(paid, min(share * (1 - SET_ASIDE), SET_ASIDE), rel_tol=1e-6)
    left = sum(second[site] for site in range(2)) * query.step
    assert spread_is(left, events[1].sensitivity / events[1].mu)
    assert len(together.runs[4].released_events) == 1


def test_two_sums_with_and_without_a_site_differ_by_its_part_and_the_noise_of_both():
    """The coordinator says that a site has dropped out, has both sums, and subtracts them: no noise cancels."""
    together = Together(4, 3, attempts=((), (3,)))
    query = query_for(together.runs[0])
    together.release(query, np.zeros((4, DRAWS), np.int64), 0.02)
    first, second = together.runs[0].released_events
    assert (first.shares, second.shares) == (4, 3)
    difference = (sum(together.parts[0].values()) - sum(together.parts[1].values())) * query.step
    assert spread_is(difference, math.hypot(first.sigma, second.sigma))
    assert len(together.runs[3].released_events) == 1


def test_with_repeats_and_all_else_the_budget_is_not_exceeded():
    together = Together(5, 4, attempts=((), (4,)))
    query = query_for(together.runs[0], share=0.5)
    together.release(query, np.zeros((5, 10), np.int64), 0.5)
    together.attempts = ((4,),)
    together.release(query, np.zeros((5, 10), np.int64), 0.5)
    run = together.runs[0]
    assert [event.shares for event in run.released_events] == [5, 4, 4]
    assert run.accountant.delta(BUDGET.epsilon) <= BUDGET.delta
    assert math.isclose(sum(run.shares_spent), 1.0, rel_tol=1e-6)


def test_what_was_set_aside_can_be_spent_once():
    together = Together(6, 4, attempts=((), (5,), (4,)))
    query = query_for(together.runs[0], share=0.5)
    with pytest.raises(PrivacyError, match="set aside"):
        together.release(query, np.zeros((6, 10), np.int64), 0.5)
    assert [len(run.released_events) for run in together.runs] == [2] * 5 + [1]


def test_sites_that_would_pay_differently_do_not_agree():
    """A site that had not sent, and one that had, would draw shares of different widths."""
    together = Together(5, 3, attempts=((), ()))
    query = query_for(together.runs[0], share=0.5)
    asked, owns = {}, {}
    for site in (0, 1):
        together.runs[site]._exchange = together._catch(site, asked, owns)
        with pytest.raises(_CaughtError):
            together.runs[site].release(query, np.zeros(3, np.int64), 0.5)
    assert asked[0]() == asked[1]()
    owns[0](5)
    assert asked[0]() != asked[1]()


def test_charged_before_drawn_and_reserved_once():
    order = []
    run = SharedRun(
        BUDGET, shares=NoiseShares(3, 3), exchange=None, noise_seed=0, sampler="fast",
        reserve=lambda budget, **kind: order.append(("reserve", budget)),
    )  # fmt: skip
    draw, record = run._draw, run.accountant.record
    run.accountant.record = lambda event: (order.append("record"), record(event))
    run._draw = lambda event: order.append("draw") or draw(event)
    run._exchange = lambda asked, size, own: [own(3), own(3)][1]
    run.release(query_for(run, share=0.5), np.zeros(4, np.int64), 0.5)
    assert order == [("reserve", BUDGET), "record", "draw", "record", "draw"]


def test_a_refused_reservation_draws_nothing():
    def refuse(budget, **kind):
        raise PrivacyError("no")

    drawn = []
    run = SharedRun(
        BUDGET, shares=NoiseShares(3, 3), exchange=lambda asked, size, own: own(3), noise_seed=0, sampler="fast",
        reserve=refuse,
    )  # fmt: skip
    run._draw = drawn.append
    with pytest.raises(PrivacyError, match="no"):
        run.release(query_for(run), np.zeros(4, np.int64), 1.0)
    assert not drawn
    assert not run.released_events


# -- beside central noise --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sites", [2, 5, 20, 100])
def test_all_honest_sites_cost_at_most_five_percent_more_noise_than_a_trusted_coordinator(sites):
    central = PrivateRun(BUDGET, sampler="exact")
    query = query_for(central)
    noise = {
        honest: SharedRun(BUDGET, shares=NoiseShares(sites, honest), exchange=None).sigma(query, 1.0)
        for honest in (sites, max(1, sites // 2))
    }
    assert 1.0 < noise[sites] / central.sigma(query, 1.0) < 1.05
    assert math.isclose(noise[max(1, sites // 2)] / noise[sites], math.sqrt(sites / max(1, sites // 2)))


# -- the price of a sum of discrete Gaussians (docs/proofs/sites.md) -------------------------------------------------


@cache
def law_of_a_sum(count, width):
    """Of so many discrete Gaussians, in 60 digits."""
    reach = int(24 * width)
    one = [mpmath.exp(-(mpmath.mpf(x) ** 2) / (2 * mpmath.mpf(width) ** 2)) for x in range(-reach, reach + 1)]
    law = np.array([value / mpmath.fsum(one) for value in one], dtype=object)
    total = law
    for _ in range(count - 1):
        total = np.convolve(total, law)
    return total


@pytest.mark.parametrize(("count", "width", "shift"), [(2, 4.0, 1), (2, 4.0, 9), (3, 4.0, 5)])
@pytest.mark.parametrize("order", [1.5, 8.0])
def test_the_divergence_of_a_sum_is_at_most_what_is_charged(count, width, shift, order):
    """Rényi divergence of the sum and the shifted sum, added up in 60 digits, against order · mu² / 2."""
    with mpmath.workdps(60):
        total = law_of_a_sum(count, width)
        kept = [total[x] ** order * total[x - shift] ** (1 - order) for x in range(shift, len(total))]
        divergence = mpmath.log(mpmath.fsum(kept)) / (order - 1)
    event = SharedGaussianEvent(
        name="x", sensitivity=float(shift), sigma=width * math.sqrt(count), coordinates=1, proof="p", shares=count,
        honest=count,
    )  # fmt: skip
    assert divergence <= order * event.mu**2 / 2
    assert divergence >= 0.999 * order * event.mu**2 / 2  # so that half of the noise would not pass


# -- refusals --------------------------------------------------------------------------------------------------------


def test_a_lattice_too_coarse_for_shares_is_refused_uncharged():
    together = Together(5, 5)
    run = together.runs[0]
    run._exchange = lambda asked, size, own: own(5)
    sigma = run.sigma(query_for(run), 1.0)
    for kind, shape, steps in (("vector", (3,), 5.0), ("symmetric_matrix", (3, 3), 7.0)):
        query = replace(query_for(run, kind), step=sigma / math.sqrt(5) / (steps - 1.5))
        with pytest.raises(PrivacyError, match="too coarse"):
            run.release(query, np.zeros(shape, np.int64), 1.0)
    assert not run.released_events


@pytest.mark.parametrize(("kind", "root"), [("vector", 1), ("symmetric_matrix", 2), ("symmetric_tensor", 6)])
def test_the_narrowest_share_has_the_four_steps_of_the_proof(kind, root):
    run = Together(5, 5).runs[0]
    run._exchange = lambda asked, size, own: own(5)
    query = query_for(run, kind)
    shape = (3,) * {1: 1, 2: 2, 6: 3}[root]
    one_step = run.sigma(query, 1.0) / math.sqrt(5) / math.sqrt(root) / 4.0
    with pytest.raises(PrivacyError, match="too coarse"):
        run.release(replace(query, step=one_step * 1.001), np.zeros(shape, np.int64), 1.0)
    assert not run.released_events
    run.release(replace(query, step=one_step * 0.999), np.zeros(shape, np.int64), 1.0)
    assert len(run.released_events) == 1


def test_a_lattice_too_fine_for_the_noise_is_refused_uncharged():
    run = Together(3, 3).runs[0]
    run._exchange = lambda asked, size, own: own(3)
    query = query_for(run)
    with pytest.raises(PrivacyError, match="too fine"):
        run.release(replace(query, step=run.sigma(query, 1.0) * 2.0**-33), np.zeros(3, np.int64), 1.0)
    assert not run.released_events


def test_a_share_is_not_narrower_than_its_part_of_the_noise():
    for shares in range(1, 60):
        sigma = 1.0 + shares / 7.0
        event = SharedGaussianEvent(
            name="x", sensitivity=1.0, sigma=sigma, coordinates=1, proof="p", shares=shares, honest=shares
        )
        assert Fraction(_width(event)) ** 2 * shares >= Fraction(sigma) ** 2


@pytest.mark.parametrize(
    "settings",
    [{"sampler": "fast"}, {"sampler": "exact", "noise_seed": 1}, {"sampler": "exact", "threshold_delta": 1e-9}],
)
def test_other_samplers_and_thresholds_are_refused(settings):
    with pytest.raises(PrivacyError):
        SharedRun(BUDGET, shares=NoiseShares(3, 3), exchange=None, **settings)


def test_laplace_noise_and_words_are_refused():
    run = Together(3, 3).runs[0]
    run._exchange = lambda asked, size, own: own(3)
    with pytest.raises(PrivacyError, match="Laplace"):
        run.release(Query("x", "vector", 1.0, 2.0**-20, "p", "l1"), np.zeros(3, np.int64), 1.0)
    with pytest.raises(PrivacyError, match="public vocabulary"):
        run.release_words(query_for(run), {"word": 3}, 1.0, threshold_delta=1e-9, most_words=3)


@pytest.mark.parametrize(("shares", "honest"), [(3, 0), (3, 4)])
def test_events_that_cannot_be(shares, honest):
    with pytest.raises(PrivacyError, match="honest"):
        SharedGaussianEvent(
            name="x", sensitivity=1.0, sigma=1.0, coordinates=1, proof="p", shares=shares, honest=honest
        )


@pytest.mark.parametrize(("sites", "honest", "found"), [(2, 2, 1.4), (5, 5, 1.1), (2, 1, 1.0), (5, 4, 1.0)])
def test_what_a_curious_site_has_before_it(sites, honest, found):
    """It knows its own share: of all others it has what was charged, where one less than all need be honest."""
    run = Together(sites, honest).runs[0]
    event = run._shared_event(query_for(run), 1.0, np.zeros(3, np.int64), sites)
    others = event.sensitivity / (_width(event) * math.sqrt(sites - 1))
    charged = smallest_epsilon(lambda epsilon: zcdp_delta(others**2 / 2, epsilon), BUDGET.delta)
    assert round(charged, 1) == found
