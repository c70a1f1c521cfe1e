"""Laplace noise: the law of the integers, the certificate behind it, and runs in which epsilon adds up."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from scipy.stats import chi2

from private_topics.errors import PrivacyError
from private_topics.privacy import mechanisms
from private_topics.privacy.budget import SUM_TOLERANCE, PrivacyBudget
from private_topics.privacy.events import DiscreteGaussianEvent, GaussianEvent, LaplaceEvent
from private_topics.privacy.ledger.in_memory import BudgetLedger
from private_topics.privacy.mechanisms import PrivateRun, Query
from private_topics.privacy.randomness import CERTIFIED_ERROR, LAPLACE_TAIL, NoiseStream, _laplace_cell
from private_topics.privacy.simple_composition import PureBudget, SimpleRun

FALSE_ALARM = 1e-6
L1 = Query("counts", "vector", 2.0, 2.0**-20, "page", norm="l1")
L2 = Query("mean", "vector", 1.0, 2.0**-20, "page")


def laplace_cdf(x: np.ndarray) -> np.ndarray:
    return np.where(x < 0, 0.5 * np.exp(np.minimum(x, 0.0)), 1.0 - 0.5 * np.exp(-np.maximum(x, 0.0)))


def twice_sigma(sensitivity: float, epsilon: float, delta: float) -> float:
    """A calibration of no meaning: what the run asks for can be read off it."""
    return 2.0 * sensitivity / epsilon * math.log(1.0 / delta)


def test_logarithm_is_as_accurate_as_certified():
    """Measured against 40 digits, the error of np.log leaves a factor of five of the certificate unused."""
    uniform = np.concatenate([np.exp(-np.linspace(0.0, LAPLACE_TAIL, 1500)), np.linspace(1e-5, 1.0, 1500)])
    with mpmath.workdps(40):
        errors = [
            abs(mpmath.log(mpmath.mpf(float(u))) - float(z)) for u, z in zip(uniform, np.log(uniform), strict=True)
        ]
    assert max(errors) < CERTIFIED_ERROR / 5


@pytest.mark.parametrize("ratio", [0.3, 1.0, 1000.5, 2.0**20, 2.0**32])
def test_float_path_and_digit_path_agree(ratio):
    from private_topics.privacy.randomness import _LAPLACE

    stream = NoiseStream.seeded(3)
    integers = stream.rounded_laplace(400, ratio)
    words = NoiseStream.seeded(3)._bits.random_raw(400)
    assert [stream._decide(int(word), ratio, _LAPLACE) for word in words] == integers.tolist()


def test_digits_decide_far_tails_and_borders():
    digits = mpmath.MPContext()
    assert _laplace_cell(0, 64, 1, 1.0, digits) is None
    assert _laplace_cell(1, 128, 1, 2.0**20, digits) is None  # a relative width of one: more bits are needed
    tail = _laplace_cell(1 << 60, 188, 1, 2.0**20, digits)  # u = 2^-128, z = ln 2^-127
    assert tail is not None
    assert abs(tail + 2.0**20 * 127 * math.log(2.0)) <= 0.5
    assert _laplace_cell(1 << 60, 188, -1, 2.0**20, digits) == -tail
    border = int(0.5 * math.exp(-0.5) * 2**64)  # z = -1/2, the border of the cells of ratio one
    assert _laplace_cell(border >> 40, 24, 1, 1.0, digits) is None


@pytest.mark.statistical
@pytest.mark.parametrize("ratio", [0.4, 1.0, 3.7])
def test_law_of_the_rounded_laplace(ratio):
    """Chi-squared goodness of fit of every cell; false-alarm rate 1e-6, seed fixed."""
    count = 200_000
    sample = NoiseStream.seeded(11).rounded_laplace(count, ratio)
    cells = np.arange(-int(9 * ratio) - 1, int(9 * ratio) + 2)
    expected = count * (laplace_cdf((cells + 0.5) / ratio) - laplace_cdf((cells - 0.5) / ratio))
    seen = np.array([np.count_nonzero(sample == cell) for cell in cells])
    often = expected >= 10
    statistic = np.sum((seen - expected)[often] ** 2 / expected[often])
    assert statistic < chi2.isf(FALSE_ALARM, np.count_nonzero(often) - 1)


@pytest.mark.statistical
def test_law_of_fine_noise_and_of_the_tail():
    """256 cells of equal probability, false-alarm rate 1e-6; beyond 11, where every draw is in doubt, as expected."""
    count, ratio = 1_000_000, 2.0**20
    sample = NoiseStream.seeded(5).rounded_laplace(count, ratio) / ratio
    seen = np.bincount((laplace_cdf(sample) * 256).astype(int), minlength=256)
    assert np.sum((seen - count / 256) ** 2) / (count / 256) < chi2.isf(FALSE_ALARM, 255)
    expected = count * math.exp(-LAPLACE_TAIL)
    assert abs(np.count_nonzero(np.abs(sample) > LAPLACE_TAIL) - expected) < 5.5 * math.sqrt(expected)


def test_neighbouring_outcomes_differ_by_the_factor_that_is_promised():
    """Shifted by one step, no cell of the law changes by more than exp(1/r), up to the error of float64."""
    for ratio in (0.5, 1.0, 8.0):
        cells = np.arange(-60, 61)
        mass = laplace_cdf((cells + 0.5) / ratio) - laplace_cdf((cells - 0.5) / ratio)
        change = np.abs(np.diff(np.log(mass[np.abs(cells) < 12 * ratio])))
        assert change.max() <= 1.0 / ratio + 1e-6


def released(run: PrivateRun, query: Query, share: float, size: int = 20_000) -> np.ndarray:
    return run.release(query, np.zeros(size, np.int64), share).value


def test_scale_and_record_of_a_laplace_release():
    """Mean absolute value of 20,000 Laplace variables is their scale to 5.5 standard errors."""
    run = SimpleRun(PureBudget(2.0), noise_seed=1)
    noise = released(run, L1, 0.25)
    (event,) = run.accountant.events
    assert isinstance(event, LaplaceEvent)
    assert event.scale == pytest.approx(2.0 / (0.25 * 2.0), rel=1e-8)
    assert event.sensitivity / event.scale <= 0.5
    assert abs(np.abs(noise).mean() / event.scale - 1.0) < 5.5 / math.sqrt(noise.size)
    assert event.sigma == pytest.approx(math.sqrt(2.0) * event.scale)


def test_scales_are_rounded_up_by_the_two_billionths_of_the_proof():
    scale = SimpleRun(PureBudget(2.0)).laplace_scale(L1, 0.25)
    assert scale / (2.0 / 0.5) - 1.0 == pytest.approx(2e-9, rel=1e-6)


@pytest.mark.statistical
def test_exact_sampler_is_the_discrete_laplace():
    """Goodness of fit on a coarse lattice; false-alarm rate 1e-6, no seed."""
    run = SimpleRun(PureBudget(1.0), sampler="exact")
    query = Query("coarse", "vector", 1.0, 1.0, "page", norm="l1")
    sample = np.rint(released(run, query, 1.0)).astype(int)
    cells = np.arange(-6, 7)
    shrink = math.exp(-1.0 / run.accountant.events[0].scale)
    expected = sample.size * (1 - shrink) / (1 + shrink) * shrink ** np.abs(cells)
    seen = np.array([np.count_nonzero(sample == cell) for cell in cells])
    assert np.sum((seen - expected) ** 2 / expected) < chi2.isf(FALSE_ALARM, len(cells) - 1)


def test_gaussian_runs_and_pure_runs_keep_to_their_noise():
    with pytest.raises(PrivacyError, match="Laplace noise"):
        PrivateRun(PrivacyBudget(1.0, 1e-6)).release(L1, np.zeros(3, np.int64), 0.5)
    for calibration in (None, twice_sigma):
        with pytest.raises(PrivacyError, match="Gaussian noise"):
            SimpleRun(PureBudget(1.0), gaussian=calibration).release(L2, np.zeros(3, np.int64), 0.5)


def test_each_release_has_its_own_epsilon_and_delta():
    run = SimpleRun(PrivacyBudget(2.0, 1e-6), gaussian=twice_sigma, noise_seed=1)
    released(run, L2, 0.25)
    released(run, L1, 0.75)
    first, second = run.accountant.events
    assert isinstance(first, GaussianEvent)
    assert not isinstance(first, DiscreteGaussianEvent)
    assert first.sigma == pytest.approx(2.0 / 0.5 * math.log(1.0 / 2.5e-7))
    assert second.scale == pytest.approx(2.0 / 1.5, rel=1e-8)
    assert run.shares_spent == (0.25, 0.75)
    assert run.epsilon_spent == 2.0
    assert "add up" in run.accounting


def test_overrun_is_refused_before_it_is_recorded_or_drawn(monkeypatch):
    run = SimpleRun(PureBudget(1.0))
    released(run, L1, 0.7)
    monkeypatch.setattr(NoiseStream, "rounded_laplace", lambda *arguments: pytest.fail("noise was drawn"))
    with pytest.raises(PrivacyError, match="exceed the privacy budget"):
        released(run, L1, 0.31)
    assert len(run.accountant.events) == 1
    assert run.shares_spent == (0.7,)


@pytest.mark.parametrize("shares", [[1 / 3] * 3, [0.1] * 10, [0.1, 0.4, 0.5], [1 / 7] * 7])
def test_shares_that_sum_to_one_fit_and_cost_no_more_than_epsilon(shares):
    run = SimpleRun(PureBudget(0.9), noise_seed=0)
    for share in shares:
        released(run, L1, share, 2)
    assert math.fsum(event.sensitivity / event.scale for event in run.accountant.events) <= 0.9
    assert run.epsilon_spent == pytest.approx(0.9)


def test_recorded_before_drawn(monkeypatch):
    run = SimpleRun(PureBudget(1.0))
    monkeypatch.setattr(NoiseStream, "rounded_laplace", lambda *arguments: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        released(run, L1, 0.5, 3)
    assert [event.name for event in run.accountant.events] == ["counts"]


def test_a_ledger_charges_pure_epsilon_as_it_adds_up():
    ledger = BudgetLedger(1.0, 1e-6)
    for _ in range(2):
        released(SimpleRun(PureBudget(0.4), reserve=ledger.reserve), L1, 1.0, 3)
    assert ledger.epsilon_spent <= 0.8 + 1e-9
    refused = SimpleRun(PureBudget(0.4), reserve=ledger.reserve)
    for _ in range(2):  # and it is asked again, not forgotten
        with pytest.raises(PrivacyError, match="total"):
            released(refused, L1, 1.0, 3)
    assert refused.shares_spent == ()


def test_runs_reserve_what_they_add_up_to_before_a_draw(monkeypatch):
    """Once, and all of the budget: as pure epsilon where there is no delta, else as an epsilon and a delta."""
    asked = []
    runs = (
        SimpleRun(PureBudget(0.4), reserve=lambda budget, **kind: asked.append((budget, kind))),
        SimpleRun(PrivacyBudget(0.7, 1e-6), reserve=lambda budget, **kind: asked.append((budget, kind))),
    )
    for number, run in enumerate(runs):
        drawn = run._stream.rounded_laplace
        monkeypatch.setattr(
            run._stream,
            "rounded_laplace",
            lambda *arguments, drawn=drawn, number=number: (
                drawn(*arguments) if len(asked) == number + 1 else pytest.fail("drawn before it was reserved")
            ),
        )
        for _ in range(2):
            released(run, L1, 0.25, 3)
    assert [(budget.epsilon, kind) for budget, kind in asked] == [
        (0.4, {"guarantee": "pure"}),
        (0.7, {"guarantee": "approximate"}),
    ]
    assert asked[1][0].delta == 1e-6


def test_a_ledger_charges_an_epsilon_and_a_delta_as_they_add_up():
    ledger = BudgetLedger(1.0, 1e-5)
    for _ in range(2):
        released(SimpleRun(PrivacyBudget(0.4, 1e-6), gaussian=twice_sigma, reserve=ledger.reserve), L2, 1.0, 3)
    assert ledger.epsilon_spent == pytest.approx(0.8, rel=1e-6)
    with pytest.raises(PrivacyError, match="total"):
        released(SimpleRun(PrivacyBudget(0.4, 1e-6), gaussian=twice_sigma, reserve=ledger.reserve), L2, 1.0, 3)


@pytest.mark.parametrize("bad", [0.0, -1.0, math.nan, math.inf, True, "one", None])
def test_pure_budgets_are_checked(bad):
    with pytest.raises(PrivacyError, match="epsilon"):
        PureBudget(bad)
    with pytest.raises(PrivacyError, match="delta"):
        PureBudget(1.0, 1e-9)


@pytest.mark.parametrize("zero", [0, -0.0, np.float32(0.0)])
def test_a_pure_budget_holds_floats_whatever_numbers_it_was_given(zero):
    budget = PureBudget(1, zero)
    assert (type(budget.epsilon), type(budget.delta)) == (float, float)
    assert str(budget.delta) == "0.0"


def test_queries_in_the_l1_norm_have_no_symmetries_to_mind():
    with pytest.raises(PrivacyError, match="norm"):
        Query("matrix", "symmetric_matrix", 1.0, 1.0, "page", norm="l1")
    with pytest.raises(PrivacyError, match="norm"):
        Query("vector", "vector", 1.0, 1.0, "page", norm="l3")  # type: ignore[arg-type]


def test_a_share_must_be_a_fraction():
    run = SimpleRun(PureBudget(1.0), noise_seed=0)
    for share in (0.0, -0.5, 1.5, math.nan):
        with pytest.raises(PrivacyError, match="share"):
            run.part(share)
    assert run.part(1.0 + SUM_TOLERANCE)[0] == 1.0 + SUM_TOLERANCE  # a sum of shares, rounded


def test_discrete_laplace_comes_from_the_one_place(monkeypatch):
    monkeypatch.setattr(mechanisms, "discrete_laplace", lambda count, ratio: np.full(count, 7))
    run = SimpleRun(PureBudget(1.0), sampler="exact")
    assert (released(run, L1, 1.0, 3) == 7 * L1.step).all()
