"""One round of mean-field inference with four words, or four topics, at a time.

A document's words stand in groups of `LANES`; `panel[(group · k + topic) · LANES + lane]` is the probability of a
word in a topic. The compiler does not find this by itself in loops of a dozen topics, so the vectors are written out.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, reduce
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.extending import intrinsic
from numba.np.arrayobj import make_array

LANES = 4
_DOUBLE, _INT = ir.DoubleType(), ir.IntType(32)
_VECTOR = ir.VectorType(_DOUBLE, LANES)
TINY = 1e-300


def _constant(value: float) -> ir.Constant:
    return ir.Constant(_VECTOR, [value] * LANES)


def _fused(builder: Any, x: Any, y: Any, z: Any) -> Any:
    function = ir.FunctionType(_VECTOR, [_VECTOR] * 3)
    return builder.call(cgutils.get_or_insert_function(builder.module, function, f"llvm.fma.v{LANES}f64"), (x, y, z))


def _place(builder: Any, data: Any, index: Any) -> Any:
    return builder.bitcast(builder.gep(data, [index]), _VECTOR.as_pointer())


def _load(builder: Any, data: Any, index: Any) -> Any:
    return builder.load(_place(builder, data, index), align=8)


def _everywhere(builder: Any, number: Any) -> Any:
    """A vector that holds one number in all lanes."""
    first = builder.insert_element(ir.Constant(_VECTOR, ir.Undefined), number, ir.Constant(_INT, 0))
    lanes = ir.Constant(ir.VectorType(_INT, LANES), [0] * LANES)
    return builder.shuffle_vector(first, ir.Constant(_VECTOR, ir.Undefined), lanes)


def _across(builder: Any, vector: Any) -> Any:
    zero, one, two, three = (builder.extract_element(vector, ir.Constant(_INT, lane)) for lane in range(LANES))
    return builder.fadd(builder.fadd(zero, one), builder.fadd(two, three))


def _written_out(generate: Callable[..., Any], result: Any, kinds: tuple[Any, ...]) -> Any:
    """An intrinsic of arrays and numbers; `generate` gets pointers to the data, and numbers as they are."""

    def code(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        given = [
            make_array(kind)(context, builder, value).data if isinstance(kind, types.Array) else value
            for kind, value in zip(signature.args, values, strict=True)
        ]
        returned = generate(builder, *given)
        return context.get_dummy_value() if returned is None else returned

    return result(*(types.intp if isinstance(kind, types.Integer) else kind for kind in kinds)), code


def _steps(builder: Any, count: Any, step: int) -> Any:
    zero = ir.Constant(count.type, 0)
    return cgutils.for_range_slice(builder, zero, count, ir.Constant(count.type, step))


def _exp_digamma(builder: Any, x: Any) -> Any:
    """`fold_in.exp_digamma` of four numbers."""

    def add(a: Any, b: Any) -> Any:
        return builder.fadd(a, b)

    def times(*factors: Any) -> Any:
        product = factors[0]
        for factor in factors[1:]:
            product = builder.fmul(product, factor)
        return product

    def polynomial(at: Any, *coefficients: float) -> Any:
        """Horner's rule, the highest power first."""
        value = _constant(coefficients[0])
        for coefficient in coefficients[1:]:
            value = _fused(builder, value, at, _constant(coefficient))
        return value

    x1, x2, x3, x4, x5 = (add(x, _constant(float(shift))) for shift in (1, 2, 3, 4, 5))
    x01, x23, x34 = times(x, x1), times(x2, x3), times(x3, x4)
    product = times(x01, x23, x4)
    upper = add(
        add(times(add(x, x1), times(x2, x34)), times(x01, x34)), add(times(x01, times(x2, x4)), times(x01, x23))
    )
    inverse = builder.fdiv(_constant(1.0), times(product, x5))
    z = times(product, inverse)
    series = add(add(x, _constant(4.5)), times(z, polynomial(z, 23 / 5760, 1 / 48, 1 / 24)))
    reciprocals = times(times(upper, x5), inverse)
    limit = _constant(100.0)
    reciprocals = builder.select(builder.fcmp_ordered("<", reciprocals, limit), reciprocals, limit)
    t = times(reciprocals, _constant(-1 / 128))
    p = polynomial(t, 1 / 40320, 1 / 5040, 1 / 720, 1 / 120, 1 / 24, 1 / 6, 0.5, 1.0, 1.0)
    for _ in range(7):
        p = times(p, p)
    return times(series, p)


def _generate_pulls(builder: Any, gamma: Any, k: Any, pull: Any) -> None:
    with _steps(builder, k, LANES) as (a, _):
        builder.store(_exp_digamma(builder, _load(builder, gamma, a)), _place(builder, pull, a), align=8)


def _generate_ratios(builder: Any, panel: Any, pull: Any, counts: Any, words: Any, k: Any, ratios: Any) -> None:
    sums = [cgutils.alloca_once(builder, _VECTOR) for _ in range(2)]
    with _steps(builder, words, LANES) as (w, _):
        for total in sums:
            builder.store(_constant(TINY), total)
        base = builder.mul(w, k)
        with _steps(builder, k, 2) as (a, _):
            for step, total in enumerate(sums):
                topic = builder.add(a, ir.Constant(k.type, step))
                row = builder.add(base, builder.mul(topic, ir.Constant(k.type, LANES)))
                factor = _everywhere(builder, builder.load(builder.gep(pull, [topic])))
                value = _fused(builder, factor, _load(builder, panel, row), builder.load(total))
                builder.store(value, total)
        expected = builder.fadd(*(builder.load(total) for total in sums))
        builder.store(builder.fdiv(_load(builder, counts, w), expected), _place(builder, ratios, w), align=8)


def _generate_next(
    builder: Any, panel: Any, ratios: Any, words: Any, k: Any, prior: Any, pull: Any, gamma: Any, out: Any
) -> Any:
    sums = [cgutils.alloca_once(builder, _VECTOR) for _ in range(LANES)]
    moved = cgutils.alloca_once_value(builder, _constant(0.0))
    with _steps(builder, k, LANES) as (a, _):
        for total in sums:
            builder.store(_constant(0.0), total)
        with _steps(builder, words, LANES) as (w, _):
            ratio = _load(builder, ratios, w)
            first = builder.add(builder.mul(w, k), builder.mul(a, ir.Constant(k.type, LANES)))
            for step, total in enumerate(sums):
                row = builder.add(first, ir.Constant(k.type, step * LANES))
                builder.store(_fused(builder, ratio, _load(builder, panel, row), builder.load(total)), total)
        weights = ir.Constant(_VECTOR, ir.Undefined)
        for step, total in enumerate(sums):
            lane = ir.Constant(_INT, step)
            weights = builder.insert_element(weights, _across(builder, builder.load(total)), lane)
        found = _fused(builder, _load(builder, pull, a), weights, _load(builder, prior, a))
        builder.store(found, _place(builder, out, a), align=8)
        step = builder.fsub(found, _load(builder, gamma, a))
        away = builder.select(builder.fcmp_ordered("<", step, _constant(0.0)), builder.fneg(step), step)
        builder.store(_larger(builder, away, builder.load(moved)), moved)
    lanes = [builder.extract_element(builder.load(moved), ir.Constant(_INT, lane)) for lane in range(LANES)]
    return reduce(partial(_larger, builder), lanes)


def _larger(builder: Any, x: Any, y: Any) -> Any:
    return builder.select(builder.fcmp_ordered(">", x, y), x, y)


def _step_and_turn(builder: Any, gamma: Any, once: Any, twice: Any, a: Any) -> tuple[Any, Any, Any]:
    start, middle, end = (_load(builder, state, a) for state in (gamma, once, twice))
    step = builder.fsub(middle, start)
    return start, step, builder.fsub(builder.fsub(end, middle), step)


def _generate_way_over_bend(builder: Any, gamma: Any, once: Any, twice: Any, k: Any) -> Any:
    way = cgutils.alloca_once_value(builder, _constant(0.0))
    bend = cgutils.alloca_once_value(builder, _constant(TINY))
    with _steps(builder, k, LANES) as (a, _):
        _, step, turn = _step_and_turn(builder, gamma, once, twice, a)
        builder.store(_fused(builder, step, step, builder.load(way)), way)
        builder.store(_fused(builder, turn, turn, builder.load(bend)), bend)
    return builder.fdiv(_across(builder, builder.load(way)), _across(builder, builder.load(bend)))


def _generate_extrapolated(builder: Any, gamma: Any, once: Any, twice: Any, prior: Any, k: Any, reach: Any) -> None:
    doubled = _everywhere(builder, builder.fadd(reach, reach))
    squared = _everywhere(builder, builder.fmul(reach, reach))
    with _steps(builder, k, LANES) as (a, _):
        start, step, turn = _step_and_turn(builder, gamma, once, twice, a)
        found = _fused(builder, squared, turn, _fused(builder, doubled, step, start))
        found = _larger(builder, found, _load(builder, prior, a))
        builder.store(found, _place(builder, gamma, a), align=8)


@intrinsic
def pulls(typing_context: Any, gamma: Any, k: Any, pull: Any) -> Any:
    """`pull = exp(digamma(gamma))`; k is a multiple of `LANES`, here and below."""
    return _written_out(_generate_pulls, types.void, (gamma, k, pull))


@intrinsic
def ratios(typing_context: Any, panel: Any, pull: Any, counts: Any, words: Any, k: Any, found: Any) -> Any:
    """Of each word, its count over its expected weight `Σ_a pull_a · panel_a`; as many words as whole groups."""
    return _written_out(_generate_ratios, types.void, (panel, pull, counts, words, k, found))


@intrinsic
def next_gamma(
    typing_context: Any, panel: Any, found: Any, words: Any, k: Any, prior: Any, pull: Any, gamma: Any, out: Any
) -> Any:
    """`out = prior + pull · Σ_w ratio_w · panel_w`; returned is how far that is from `gamma`."""
    kinds = panel, found, words, k, prior, pull, gamma, out
    return _written_out(_generate_next, types.float64, kinds)


@intrinsic
def way_over_bend(typing_context: Any, gamma: Any, once: Any, twice: Any, k: Any) -> Any:
    """The squared length of the first of two steps, over that of the difference between them."""
    return _written_out(_generate_way_over_bend, types.float64, (gamma, once, twice, k))


@intrinsic
def extrapolate(typing_context: Any, gamma: Any, once: Any, twice: Any, prior: Any, k: Any, reach: Any) -> Any:
    """`gamma + 2 reach step + reach² turn` in place of `gamma`, nowhere below the prior."""
    return _written_out(_generate_extrapolated, types.void, (gamma, once, twice, prior, k, reach))
