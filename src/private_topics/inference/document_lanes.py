"""One round of mean-field inference of eight documents at a time, one in each lane of a processor's vectors.

The numbers of several documents stand side by side: `gamma[topic · LANES + lane]`, and
`panel[(row · room + topic) · LANES + lane]` is the weight of the `row`-th word of a lane in a topic. No operation
crosses lanes, so a document's numbers do not depend on its company. The compiler does not find this by itself, so the
vectors are written out. Single precision: a document is at rest where a round moves it by less than 1e-5, and a round
is good to 1e-6. Not for functions compiled with `fastmath`, which would undo the rounding to whole numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.extending import intrinsic
from numba.np.arrayobj import make_array

LANES, TOPICS = 8, 4
"""Documents in a vector; topics whose sums over words are formed together: arrays have room for a multiple of it."""
TINY = 1e-29
"""Added to what counts are divided by: 2^31 - 1 of them over it are a number in float32."""
SMALLEST = 60.0
"""`exp(-r)` is flat beyond: far above `TINY`, and of no weight beside any other topic."""
SERIES = -0.005275783987839847, 0.0037709915974629762, 0.020940504071994617, 0.04165661121862315
"""`exp(digamma(y)) = y - 1/2 + z P(z)`, `z = 1/y`, to a relative 3e-8 for y >= 2; the highest power first."""
POWER = 0.0013266970386301843, 0.00967545974553824, 0.055507426160028815, 0.24022121753561285, 0.6931469491610656, 1.0
"""`2^f` to a relative 1e-7 for |f| <= 1/2."""
TO_WHOLE = 12582912.0  # 1.5 · 2^23: added to a number, it leaves the nearest whole one in the last bits
LOG2_E, MANTISSA_BITS = 1.4426950408889634, 23
_NUMBER = ir.FloatType()
_VECTOR, _INTEGERS = ir.VectorType(_NUMBER, LANES), ir.VectorType(ir.IntType(32), LANES)


def _constant(value: float) -> ir.Constant:
    return ir.Constant(_VECTOR, [value] * LANES)


def _fused(builder: Any, x: Any, y: Any, z: Any) -> Any:
    function = ir.FunctionType(_VECTOR, [_VECTOR] * 3)
    return builder.call(cgutils.get_or_insert_function(builder.module, function, f"llvm.fma.v{LANES}f32"), (x, y, z))


def _place(builder: Any, data: Any, vector: Any) -> Any:
    index = builder.mul(vector, ir.Constant(vector.type, LANES))
    return builder.bitcast(builder.gep(data, [index]), _VECTOR.as_pointer())


def _load(builder: Any, data: Any, vector: Any) -> Any:
    return builder.load(_place(builder, data, vector), align=4)


def _store(builder: Any, value: Any, data: Any, vector: Any) -> None:
    builder.store(value, _place(builder, data, vector), align=4)


def _larger(builder: Any, x: Any, y: Any) -> Any:
    return builder.select(builder.fcmp_ordered(">", x, y), x, y)


def _steps(builder: Any, count: Any, step: int = 1) -> Any:
    zero = ir.Constant(count.type, 0)
    return cgutils.for_range_slice(builder, zero, count, ir.Constant(count.type, step))


def _written_out(generate: Callable[..., None]) -> Any:
    """An intrinsic of arrays and numbers; `generate` gets pointers to the data, and numbers as they are."""

    @wraps(generate)  # whose parameters, but for the builder, are those of the intrinsic
    def typed(_typing_context: Any, *kinds: Any) -> Any:
        if not all(
            isinstance(kind, types.Integer) or getattr(kind, "dtype", None) == types.float32 for kind in kinds
        ):
            return None
        return types.void(*(types.intp if isinstance(kind, types.Integer) else kind for kind in kinds)), code

    def code(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        given = [
            make_array(kind)(context, builder, value).data if isinstance(kind, types.Array) else value
            for kind, value in zip(signature.args, values, strict=True)
        ]
        generate(builder, *given)
        return context.get_dummy_value()

    return intrinsic(typed)


def _polynomial(builder: Any, at: Any, coefficients: tuple[float, ...]) -> Any:
    """Horner's rule, the highest power first."""
    value = _constant(coefficients[0])
    for coefficient in coefficients[1:]:
        value = _fused(builder, value, at, _constant(coefficient))
    return value


def _exp_of_minus(builder: Any, r: Any) -> Any:
    """`exp(-r)` for r >= 0: a power of two, whose whole part goes into the exponent's bits."""
    limit = _constant(SMALLEST)
    power = builder.fmul(builder.select(builder.fcmp_ordered("<", r, limit), r, limit), _constant(-LOG2_E))
    shifted = builder.fadd(power, _constant(TO_WHOLE))
    rest = builder.fsub(power, builder.fsub(shifted, _constant(TO_WHOLE)))
    exponent = builder.shl(builder.bitcast(shifted, _INTEGERS), ir.Constant(_INTEGERS, [MANTISSA_BITS] * LANES))
    bits = builder.add(builder.bitcast(_polynomial(builder, rest, POWER), _INTEGERS), exponent)
    return builder.bitcast(bits, _VECTOR)


def _exp_digamma(builder: Any, x: Any) -> Any:
    """`exp(digamma(x)) = exp(digamma(x + 2)) · exp(-1/x - 1/(x + 1))`, with one division."""
    one, two = (builder.fadd(x, _constant(shift)) for shift in (1.0, 2.0))
    product = builder.fmul(x, one)
    inverse = builder.fdiv(_constant(1.0), builder.fmul(product, two))
    z = builder.fmul(product, inverse)
    series = _fused(builder, z, _polynomial(builder, z, SERIES), builder.fadd(x, _constant(1.5)))
    reciprocals = builder.fmul(builder.fmul(builder.fadd(x, one), two), inverse)
    return builder.fmul(series, _exp_of_minus(builder, reciprocals))


@_written_out
def pulls(builder: Any, gamma: Any, k: Any, pull: Any) -> None:
    """`pull = exp(digamma(gamma))`."""
    with _steps(builder, k) as (a, _):
        _store(builder, _exp_digamma(builder, _load(builder, gamma, a)), pull, a)


@_written_out
def ratios(builder: Any, panel: Any, pull: Any, counts: Any, rows: Any, k: Any, room: Any, out: Any) -> None:
    """Of each word, its count over its expected weight `Σ_a pull_a · panel_a`."""
    expected = cgutils.alloca_once(builder, _VECTOR)
    with _steps(builder, rows) as (row, _):
        builder.store(_constant(TINY), expected)
        first = builder.mul(row, room)
        with _steps(builder, k) as (a, _):
            weight = _load(builder, panel, builder.add(first, a))
            builder.store(_fused(builder, _load(builder, pull, a), weight, builder.load(expected)), expected)
        _store(builder, builder.fdiv(_load(builder, counts, row), builder.load(expected)), out, row)


@_written_out
def next_gamma(
    builder: Any,
    panel: Any,
    ratio: Any,
    rows: Any,
    room: Any,
    prior: Any,
    pull: Any,
    gamma: Any,
    out: Any,
    moved: Any,
) -> None:
    """`out = prior + pull · Σ_w ratio_w · panel_w`; `moved` is how far that is from `gamma`, in each lane."""
    sums = [cgutils.alloca_once(builder, _VECTOR) for _ in range(TOPICS)]
    farthest = cgutils.alloca_once_value(builder, _constant(0.0))
    with _steps(builder, room, TOPICS) as (a, _):
        for total in sums:
            builder.store(_constant(0.0), total)
        with _steps(builder, rows) as (row, _):
            factor = _load(builder, ratio, row)
            first = builder.add(builder.mul(row, room), a)
            for step, total in enumerate(sums):
                weight = _load(builder, panel, builder.add(first, ir.Constant(first.type, step)))
                builder.store(_fused(builder, factor, weight, builder.load(total)), total)
        for step, total in enumerate(sums):
            topic = builder.add(a, ir.Constant(a.type, step))
            value = _fused(builder, _load(builder, pull, topic), builder.load(total), _load(builder, prior, topic))
            _store(builder, value, out, topic)
            way = builder.fsub(value, _load(builder, gamma, topic))
            way = _larger(builder, way, builder.fneg(way))
            builder.store(_larger(builder, way, builder.load(farthest)), farthest)
    _store(builder, builder.load(farthest), moved, ir.Constant(room.type, 0))


def _step_and_turn(builder: Any, gamma: Any, once: Any, twice: Any, a: Any) -> tuple[Any, Any, Any]:
    start, middle, end = (_load(builder, state, a) for state in (gamma, once, twice))
    step = builder.fsub(middle, start)
    return start, step, builder.fsub(builder.fsub(end, middle), step)


@_written_out
def way_over_bend(builder: Any, gamma: Any, once: Any, twice: Any, k: Any, out: Any) -> None:
    """The squared length of the first of two steps, over that of the difference between them, in each lane."""
    way = cgutils.alloca_once_value(builder, _constant(0.0))
    bend = cgutils.alloca_once_value(builder, _constant(TINY))
    with _steps(builder, k) as (a, _):
        _, step, turn = _step_and_turn(builder, gamma, once, twice, a)
        builder.store(_fused(builder, step, step, builder.load(way)), way)
        builder.store(_fused(builder, turn, turn, builder.load(bend)), bend)
    _store(builder, builder.fdiv(builder.load(way), builder.load(bend)), out, ir.Constant(k.type, 0))


@_written_out
def extrapolate(builder: Any, gamma: Any, once: Any, twice: Any, prior: Any, k: Any, reach: Any) -> None:
    """`gamma + 2 reach step + reach² turn` in place of `gamma`, nowhere below the prior."""
    one = _load(builder, reach, ir.Constant(k.type, 0))
    doubled, squared = builder.fadd(one, one), builder.fmul(one, one)
    with _steps(builder, k) as (a, _):
        start, step, turn = _step_and_turn(builder, gamma, once, twice, a)
        found = _fused(builder, squared, turn, _fused(builder, doubled, step, start))
        _store(builder, _larger(builder, found, _load(builder, prior, a)), gamma, a)
