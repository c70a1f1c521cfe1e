"""release(): noise as recorded, charged before it is drawn, and nothing released any other way.

The chi-squared tests have a false-alarm rate of 1e-6 each, over a fixed noise seed;
`test_too_little_noise_is_caught` shows that the same test sees 7 % too little noise.
"""

from __future__ import annotations

import copy
import dataclasses
import itertools
import math
import os
import pickle
from collections.abc import Callable
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import chi2

from private_topics.errors import InputError, PrivacyError
from private_topics.privacy import adding
from private_topics.privacy.accountant import Accountant
from private_topics.privacy.budget import PrivacyBudget
from private_topics.privacy.events import DiscreteGaussianEvent, GaussianEvent
from private_topics.privacy.lattice import LARGEST_INTEGER, step_for
from private_topics.privacy.mechanisms import (
    KINDS,
    Asked,
    PrivateRun,
    Query,
    Released,
)
from private_topics.privacy.queries import checked_aggregate
from private_topics.privacy.randomness import NoiseStream, discrete_gaussian, discrete_laplace

FALSE_ALARM = 1e-6
BUDGET = PrivacyBudget(1.0, 1e-6)
SHAPES = {
    "scalar": (),
    "vector": (20_000,),
    "histogram": (20_000,),
    "array": (10, 2_000),
    "symmetric_matrix": (200, 200),
    "symmetric_tensor": (48, 48, 48),
}
SMALL = {**SHAPES, "vector": (7,), "histogram": (7,), "array": (3, 4), "symmetric_matrix": (6, 6),
         "symmetric_tensor": (5, 5, 5)}  # fmt: skip


def aggregate(kind: str, shape: tuple[int, ...]) -> np.ndarray:
    """An arbitrary aggregate with the symmetry of its kind."""
    entries = np.random.default_rng(0).integers(-(10**6), 10**6, shape)
    axes = range(len(shape)) if kind.startswith("symmetric") else ()
    orders = list(itertools.permutations(axes)) if kind.startswith("symmetric") else []
    return np.asarray(sum(entries.transpose(order) for order in orders) if orders else entries, dtype=np.int64)


def query_for(run: PrivateRun, kind: str, share: float = 1.0, sensitivity: float = 1.4) -> Query:
    draft = Query(kind, kind, sensitivity, 1.0, "page.md")  # type: ignore[arg-type]
    return dataclasses.replace(draft, step=step_for(run.sigma(draft, share), 1000, 1e9))


def isometric_classes(kind: str, residual: np.ndarray) -> list[np.ndarray]:
    """The residual's coordinates in an orthonormal basis, grouped by how many of their indices coincide."""
    if not kind.startswith("symmetric"):
        return [residual.reshape(-1)]
    indices = np.array(list(itertools.combinations_with_replacement(range(len(residual)), residual.ndim)))
    distinct = 1 + np.count_nonzero(np.diff(indices, axis=1), axis=1)
    counts = [0, 1, 2] if residual.ndim == 2 else [0, 1, 3, 6]
    return [
        residual[tuple(indices[distinct == level].T)] * math.sqrt(counts[level])
        for level in range(1, residual.ndim + 1)
    ]


def residuals(kind: str, seed: int = 1, sampler: str = "fast") -> tuple[list[np.ndarray], float]:
    """Isometric residuals of one release of this kind (of many, for scalars) and the recorded sigma."""
    noise_seed = seed if sampler == "fast" else None
    if kind == "scalar":
        found = []
        for repetition in range(100):
            run = PrivateRun(BUDGET, noise_seed=1000 * seed + repetition)
            query = query_for(run, kind, 1 / 60)
            for _ in range(60):
                released = run.release(query, np.int64(17), 1 / 60)
                found.append(float(released.value) - 17 * query.step)
        return [np.array(found)], released.sigma
    run = PrivateRun(BUDGET, sampler=sampler, noise_seed=noise_seed)
    query = query_for(run, kind)
    integers = aggregate(kind, SHAPES[kind])
    released = run.release(query, integers, 1.0)
    residual = released.value - integers * query.step
    classes = isometric_classes(kind, residual)
    norm = math.fsum(float(np.sum(part**2)) for part in classes)
    assert norm == pytest.approx(float(np.sum(residual**2)), rel=1e-9)  # an isometry: the Frobenius norm
    assert sum(part.size for part in classes) == released.event.coordinates
    return classes, released.event.sigma


def chi_squared_accepts(coordinates: np.ndarray, sigma: float) -> bool:
    """Two-sided test of the variance at FALSE_ALARM."""
    statistic = float(np.sum((coordinates / sigma) ** 2))
    count = coordinates.size
    return chi2.isf(1 - FALSE_ALARM / 2, count) < statistic < chi2.isf(FALSE_ALARM / 2, count)


@pytest.mark.parametrize("kind", KINDS)
def test_noise_is_as_recorded(kind: str) -> None:
    classes, sigma = residuals(kind)
    assert chi_squared_accepts(np.concatenate(classes), sigma)
    for part in classes:  # and every class of a symmetric array by itself: the noise is isometric
        assert chi_squared_accepts(part, sigma)
        assert abs(np.mean(part)) < 5.5 * sigma / math.sqrt(part.size)


@pytest.mark.parametrize("kind", KINDS)
def test_too_little_noise_is_caught(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    honest = NoiseStream.rounded_gaussian
    monkeypatch.setattr(
        NoiseStream, "rounded_gaussian", lambda stream, count, ratio: honest(stream, count, 0.93 * ratio)
    )
    classes, sigma = residuals(kind)
    assert not chi_squared_accepts(np.concatenate(classes), sigma)


def test_a_wrong_shape_of_the_symmetric_noise_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Full variance off the diagonal (not isometric) fails the same test."""
    from private_topics.privacy import symmetric

    monkeypatch.setattr(symmetric, "_over_root", lambda ratio, permutations: ratio)
    for kind in ("symmetric_matrix", "symmetric_tensor"):
        classes, sigma = residuals(kind)
        assert not all(chi_squared_accepts(part, sigma) for part in classes)


@pytest.mark.parametrize("permutations", [1, 2, 3, 6])
def test_rounding_takes_no_noise_from_a_symmetric_array(permutations: int) -> None:
    """An entry with p permutations gets ratio / sqrt(p) or a little more, and the ratio itself where p is one."""
    from private_topics.privacy.symmetric import _over_root

    for ratio in np.random.default_rng(0).uniform(1.0, 2.0**20, 300):
        square = Fraction(_over_root(float(ratio), permutations)) ** 2 * permutations / Fraction(float(ratio)) ** 2
        assert 1 <= square <= (1 if permutations == 1 else 1 + 2.0**-48)


@pytest.mark.statistical
@pytest.mark.parametrize("kind", ["vector", "symmetric_matrix", "symmetric_tensor"])
def test_exact_sampler_has_the_recorded_noise(kind: str) -> None:
    classes, sigma = residuals(kind, sampler="exact")
    assert all(chi_squared_accepts(part, sigma) for part in classes)


@pytest.mark.statistical
def test_exact_sampler_is_the_discrete_gaussian() -> None:
    """Goodness of fit on a coarse lattice, where it differs from the rounded Gaussian; false alarms 1e-6."""
    run = PrivateRun(BUDGET, sampler="exact")
    query = Query("coarse", "vector", 1.0, run.sigma(Query("q", "vector", 1.0, 1.0, "page.md"), 1.0), "page.md")
    sample = np.rint(run.release(query, np.zeros(20_000, dtype=np.int64), 1.0).value / query.step).astype(int)
    cells = np.arange(-3, 4)
    weights = np.exp(-0.5 * np.arange(-30, 31) ** 2)
    expected = 20_000 * np.exp(-0.5 * cells**2) / weights.sum()
    seen = np.array([np.count_nonzero(sample == cell) for cell in cells])
    assert np.sum((seen - expected) ** 2 / expected) < chi2.isf(FALSE_ALARM, len(cells) - 1)
    assert isinstance(run.accountant.events[0], DiscreteGaussianEvent)
    assert run.accountant.delta(1.0) <= 1e-6


@pytest.mark.parametrize("kind", KINDS)
def test_integer_shifts_commute_with_the_noise(kind: str) -> None:
    """Same seed, aggregate moved by integers: the output moves by exactly as many steps."""
    base = aggregate(kind, SMALL[kind])
    shift = aggregate(kind, SMALL[kind])[...] * 0 + 12_345
    values = []
    for integers in (base, base + shift):
        run = PrivateRun(BUDGET, noise_seed=8)
        query = query_for(run, kind)
        values.append(run.release(query, integers, 1.0).value / query.step)
    assert np.array_equal(values[1], values[0] + shift)


@pytest.mark.parametrize("kind", KINDS)
def test_released_value_and_std(kind: str) -> None:
    run = PrivateRun(BUDGET, noise_seed=8)
    integers = aggregate(kind, SMALL[kind])
    before = integers.copy()
    released = run.release(query_for(run, kind), integers, 0.5)
    assert np.array_equal(integers, before)
    assert released.value.shape == integers.shape
    assert released.value.dtype == np.float64
    assert not released.value.flags.writeable
    assert released.name == kind
    assert released.std().shape == integers.shape
    assert float(np.max(released.std())) == released.sigma
    if kind.startswith("symmetric"):
        assert np.array_equal(released.value, np.swapaxes(released.value, 0, -1))
        assert released.std()[(0,) * integers.ndim] == released.sigma
        assert released.std()[0, 1, ...].min() < released.sigma


@pytest.mark.parametrize("kind", ["array", "symmetric_matrix", "symmetric_tensor"])
def test_consuming_gives_the_same_value_in_the_same_memory(kind: str) -> None:
    integers = aggregate(kind, SMALL[kind])
    kept = PrivateRun(BUDGET, noise_seed=8)
    wanted = kept.release(query_for(kept, kind), integers, 1.0)
    consuming = PrivateRun(BUDGET, noise_seed=8)
    got = consuming.release(query_for(consuming, kind), integers, 1.0, consume=True)
    assert np.array_equal(wanted.value, got.value)
    assert np.shares_memory(got.value, integers)


@pytest.mark.parametrize("whole", [np.zeros(3, dtype=np.int64), np.zeros(6, dtype=np.int64)[::2]])
def test_memory_that_noise_could_miss_is_not_consumed(whole: np.ndarray, drawn: list[int]) -> None:
    """The noise of a scattered array would be added to a copy of it, and the array released without."""
    whole.flags.writeable = not whole.flags.c_contiguous
    run = PrivateRun(BUDGET)
    with pytest.raises(InputError, match="writable and C-contiguous"):
        run.release(query_for(run, "vector"), whole, 0.5, consume=True)
    assert run.accountant.events == ()
    assert drawn == []


def test_a_released_part_of_an_array_does_not_carry_the_rest() -> None:
    run = PrivateRun(BUDGET, noise_seed=0)
    asked = [Asked(query_for(run, "vector", 0.5), 0.5)] * 2
    exact = np.arange(10)
    source = SimpleNamespace(total=lambda unit_sum: (exact,))
    parts = run.release_sums(source, None, asked, lambda sums: (sums[0][:3], sums[0][3:]))
    np.testing.assert_array_equal(exact, np.arange(10))
    for released, size in zip(parts, (3, 7), strict=True):
        memory = released.value
        while memory.base is not None:
            memory = memory.base
        assert memory.nbytes == 8 * size


@pytest.mark.parametrize("draw", [discrete_gaussian, discrete_laplace])
def test_exact_draws_are_integers_even_if_none_is_wanted(draw: Callable[[int, float], np.ndarray]) -> None:
    assert [draw(count, 3.0).dtype for count in (0, 2)] == [np.int64, np.int64]


@pytest.mark.parametrize("kind", ["vector", "symmetric_matrix"])
def test_noise_does_not_depend_on_the_chunk_size(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from private_topics.privacy import randomness, symmetric

    def release() -> np.ndarray:
        run = PrivateRun(BUDGET, noise_seed=8)
        shape = (300,) if kind == "vector" else (60, 60)
        return run.release(query_for(run, kind), aggregate(kind, shape), 1.0).value

    whole = release()
    for module, name in (
        (adding, "_CHUNK"),
        (symmetric, "_CHUNK"),
        (symmetric, "_TILE"),
        (randomness, "_BLOCK"),
    ):
        monkeypatch.setattr(module, name, 16)
    assert np.array_equal(whole, release())


@pytest.mark.parametrize("chunk", [5, 64, 10_000])
def test_the_noise_of_a_matrix_is_drawn_a_few_rows_at_a_time(chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """So that a matrix of any size needs little memory beside its own: a chunk, or a row where that is longer."""
    from private_topics.privacy import symmetric

    monkeypatch.setattr(symmetric, "_CHUNK", chunk)
    counts: list[int] = []

    def ones(count: int, ratio: float) -> np.ndarray:
        counts.append(count)
        return np.ones(count, np.int64)

    matrix = np.zeros((20, 20), dtype=np.int64)
    symmetric.add_symmetric_matrix_noise(matrix, 1.0, ones)
    assert max(counts) <= max(chunk, 20)
    assert sum(counts) == 20 * 21 // 2
    assert (matrix == 1).all()


def test_recorded_before_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(stream: NoiseStream, count: int, ratio: float) -> np.ndarray:
        raise RuntimeError("no entropy")

    run = PrivateRun(BUDGET)
    monkeypatch.setattr(NoiseStream, "rounded_gaussian", broken)
    with pytest.raises(RuntimeError, match="no entropy"):
        run.release(query_for(run, "vector"), np.zeros(3, dtype=np.int64), 0.6)
    assert [event.name for event in run.accountant.events] == ["vector"]


def test_nothing_is_drawn_when_recording_fails(drawn: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    run = PrivateRun(BUDGET)
    monkeypatch.setattr(run.accountant, "record", lambda event: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        run.release(query_for(run, "vector"), np.zeros(3, dtype=np.int64), 0.6)
    assert drawn == []


@pytest.mark.parametrize("sampler", ["fast", "exact"])
def test_overrun_is_refused_before_it_is_recorded_or_drawn(sampler: str, drawn: list[int]) -> None:
    run = PrivateRun(BUDGET, sampler=sampler)
    query = query_for(run, "vector")
    zeros = np.zeros(3, dtype=np.int64)
    run.release(query, zeros, 0.7)
    run.release(query, zeros, 0.3)
    draws_so_far = len(drawn)
    with pytest.raises(PrivacyError, match="exceed the privacy budget"):
        run.release(query, zeros, 1e-6)
    assert len(run.accountant.events) == 2
    assert len(drawn) == draws_so_far
    assert run.accountant.epsilon(BUDGET.delta) == pytest.approx(BUDGET.epsilon, rel=1e-6)
    assert run.accountant.epsilon(BUDGET.delta) <= BUDGET.epsilon


def test_a_release_that_spends_delta_to_the_last_digit_fits() -> None:
    spent, run = PrivateRun(BUDGET, noise_seed=0), PrivateRun(BUDGET, noise_seed=0)
    query, zeros = query_for(run, "vector"), np.zeros(3, dtype=np.int64)
    spent.release(query, zeros, 0.5)
    for least, fits in ((spent.accountant.delta(1.0), True), (spent.accountant.delta(1.0) * (1 - 1e-12), False)):
        run.budget = PrivacyBudget(1.0, least)
        run.accountant = Accountant()
        if fits:
            run.release(query, zeros, 0.5)
        else:
            with pytest.raises(PrivacyError, match="exceed the privacy budget"):
                run.release(query, zeros, 0.5)


def test_reserve_is_called_once_before_the_first_draw(drawn: list[int]) -> None:
    calls: list[tuple[PrivacyBudget, int]] = []
    run = PrivateRun(BUDGET, reserve=lambda budget: calls.append((budget, len(drawn))))
    for _ in range(2):
        run.release(query_for(run, "vector"), np.zeros(3, dtype=np.int64), 0.4)
    assert calls == [(BUDGET, 0)]


def test_a_refused_reservation_leaves_no_trace(drawn: list[int]) -> None:
    def refuse(budget: PrivacyBudget) -> None:
        raise PrivacyError("the ledger is empty")

    run = PrivateRun(BUDGET, reserve=refuse)
    for _ in range(2):  # and it is asked again, not forgotten
        with pytest.raises(PrivacyError, match="ledger"):
            run.release(query_for(run, "vector"), np.zeros(3, dtype=np.int64), 0.4)
    assert run.accountant.events == ()
    assert drawn == []


def test_released_cannot_be_forged() -> None:
    run = PrivateRun(BUDGET, noise_seed=0)
    released = run.release(query_for(run, "vector"), np.zeros(3, dtype=np.int64), 0.5)
    for forge in (
        lambda: Released(np.zeros(3), released.query, released.event),
        lambda: Released(np.zeros(3), released.query, released.event, object()),
        lambda: dataclasses.replace(released, value=np.zeros(3)),
        lambda: Released(np.zeros(3), released.query, released.event, released.token),
    ):
        with pytest.raises(PrivacyError, match=r"PrivateRun\.release"):
            forge()
    with pytest.raises(ValueError, match="read-only"):
        released.value[0] = 0.0


def test_seeded_runs_repeat_and_are_not_private() -> None:
    values = []
    for seed in (7, 7, 8, None, None):
        run = PrivateRun(BUDGET, noise_seed=seed)
        assert run.private is (seed is None)
        values.append(tuple(run.release(query_for(run, "vector"), np.zeros(5, dtype=np.int64), 1.0).value))
    assert values[0] == values[1]
    assert len(set(values)) == 4
    with pytest.raises(PrivacyError, match="noise_seed"):
        PrivateRun(BUDGET, sampler="exact", noise_seed=0)
    with pytest.raises(PrivacyError, match="sampler"):
        PrivateRun(BUDGET, sampler="numpy")


def test_events_carry_what_was_declared() -> None:
    run = PrivateRun(BUDGET)
    query = query_for(run, "symmetric_tensor", 0.25, sensitivity=3.0)
    run.release(query, np.zeros((5, 5, 5), dtype=np.int64), 0.25)
    (event,) = run.accountant.events
    assert isinstance(event, GaussianEvent)
    assert (event.sensitivity, event.coordinates, event.proof) == (3.0, 35, "page.md")
    assert event.mu == pytest.approx(run.mu_total / 2, rel=1e-12)


@pytest.mark.parametrize(
    "fields",
    [{"sensitivity": 0.0}, {"sensitivity": math.nan}, {"sensitivity": math.inf}, {"sensitivity": True},
     {"step": 0.0}, {"step": -1.0}, {"kind": "cube"}, {"proof": ""}],
)  # fmt: skip
def test_bad_queries_are_refused(fields: dict[str, object]) -> None:
    good = {"name": "q", "kind": "vector", "sensitivity": 1.0, "step": 0.5, "proof": "page.md"}
    with pytest.raises(PrivacyError):
        Query(**{**good, **fields})  # type: ignore[arg-type]


ASYMMETRIC = np.arange(27).reshape(3, 3, 3)


@pytest.mark.parametrize(
    ("kind", "bad"),
    [
        ("vector", np.zeros(3)),
        ("vector", np.zeros(3, dtype=np.int32)),
        ("vector", np.zeros((3, 3), dtype=np.int64)),
        ("vector", np.zeros(0, dtype=np.int64)),
        ("vector", np.array([2**62, 0])),
        ("scalar", np.zeros(1, dtype=np.int64)),
        ("symmetric_matrix", np.zeros((2, 3), dtype=np.int64)),
        ("symmetric_matrix", np.array([[1, 987_654], [3, 4]])),
        ("symmetric_tensor", np.zeros((2, 2), dtype=np.int64)),
        ("symmetric_tensor", np.zeros((2, 2, 3), dtype=np.int64)),
        ("symmetric_tensor", np.zeros((3, 2, 2), dtype=np.int64)),
        ("symmetric_tensor", ASYMMETRIC),
        ("symmetric_tensor", ASYMMETRIC + ASYMMETRIC.transpose(1, 0, 2)),
    ],
)
def test_bad_aggregates_are_refused_uncharged_and_unquoted(kind: str, bad: np.ndarray, drawn: list[int]) -> None:
    run = PrivateRun(BUDGET)
    with pytest.raises(InputError) as caught:
        run.release(query_for(run, kind), bad, 0.5)
    assert "987" not in str(caught.value)
    assert "4611686" not in str(caught.value)
    assert run.accountant.events == ()
    assert drawn == []


def test_an_asymmetry_anywhere_is_found() -> None:
    from private_topics.privacy.symmetric import is_symmetric_matrix

    matrix = np.zeros((1100, 1100), dtype=np.int64)
    assert is_symmetric_matrix(matrix)
    for row, column in ((1, 0), (0, 1099), (600, 30), (513, 512)):
        matrix[row, column] = 1
        assert not is_symmetric_matrix(matrix)
        matrix[row, column] = 0


def test_a_step_too_fine_for_the_noise_is_refused(drawn: list[int]) -> None:
    run = PrivateRun(BUDGET)
    with pytest.raises(PrivacyError, match="step_for"):
        run.release(Query("q", "vector", 1.0, 2.0**-40, "page.md"), np.zeros(3, dtype=np.int64), 1.0)
    assert drawn == []


@pytest.mark.parametrize("sampler", ["fast", "exact"])
def test_noise_of_more_than_two_to_the_32_steps_is_refused_uncharged(sampler: str) -> None:
    run = PrivateRun(BUDGET, sampler=sampler)
    query = query_for(run, "vector")
    for steps, fits in ((1.01 * 2.0**32, False), (2.0**32, True)):
        fine = dataclasses.replace(query, step=run.sigma(query, 1.0) / steps)
        if fits:
            run.release(fine, np.zeros(3, dtype=np.int64), 1.0)
        else:
            with pytest.raises(PrivacyError, match="too fine"):
                run.release(fine, np.zeros(3, dtype=np.int64), 1.0)
        assert len(run.accountant.events) == int(fits)


@pytest.mark.parametrize("copier", [copy.copy, copy.deepcopy, pickle.dumps])
def test_runs_cannot_be_copied(copier: Callable[[object], object]) -> None:
    with pytest.raises(PrivacyError, match="copied"):
        copier(PrivateRun(BUDGET))


@pytest.mark.process
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_run_refuses_to_release() -> None:
    run = PrivateRun(BUDGET)
    query = query_for(run, "vector")
    child = os.fork()
    if child == 0:
        try:
            run.release(query, np.zeros(3, dtype=np.int64), 1.0)
        except PrivacyError:
            os._exit(7)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7


@pytest.mark.parametrize("sampler", ["fast", "exact"])
@pytest.mark.parametrize("epsilon", [1e-3, 1.0, 30.0, 900.0])
@pytest.mark.parametrize("delta", [1e-40, 1e-6, 0.3])
def test_shares_that_sum_to_one_fit_every_budget(sampler: str, epsilon: float, delta: float) -> None:
    run = PrivateRun(PrivacyBudget(epsilon, delta), sampler=sampler)
    for share in np.random.default_rng(1).dirichlet(np.ones(5)):
        run.release(query_for(run, "scalar", float(share)), np.int64(3), float(share))
    assert run.accountant.delta(epsilon) <= delta


def test_the_largest_integers_of_a_lattice_are_taken() -> None:
    query = Query("edge", "vector", sensitivity=1.0, step=1.0, proof="lattice.md")
    integers = np.array([LARGEST_INTEGER, -LARGEST_INTEGER])
    np.testing.assert_array_equal(checked_aggregate(query, integers, consume=False), integers)
    for beyond in (LARGEST_INTEGER + 1, -LARGEST_INTEGER - 1):
        with pytest.raises(InputError, match="leaves the lattice"):
            checked_aggregate(query, np.array([0, beyond]), consume=False)
