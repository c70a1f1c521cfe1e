"""Sums in a fixed order that a processor can still run four numbers at a time.

A sum of products is kept in `LANES` partial sums, entry `a` in lane `a mod LANES`, each product added by one fused
multiply-add; the lanes are added at the end as (0 + 1) + (2 + 3). IEEE 754 leaves no choice in any of these
operations, so every processor, and a GPU, gets the same bits. Without a fixed order a compiler may choose one by the
machine it compiles for, and the same document would give other sums on another computer.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.extending import intrinsic
from numba.np.arrayobj import make_array

LANES = 4
_DOUBLE = ir.DoubleType()
_LANES = ir.VectorType(_DOUBLE, LANES)


@intrinsic
def fused(typing_context: Any, x: Any, y: Any, z: Any) -> Any:
    """`x·y + z`, rounded once."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        numbers = [
            context.cast(builder, value, kind, types.float64)
            for value, kind in zip(arguments, signature.args, strict=True)
        ]
        return builder.fma(*numbers)

    return types.float64(x, y, z), generate


@intrinsic
def lane_sums(typing_context: Any, x: Any, y: Any) -> Any:
    """Return `(Σ x·y, Σ (x·y)²)` of two contiguous vectors of one length, in lanes.

    Neighbouring entries are loaded together, so a strided view (a row of a transposed matrix) is refused when the
    caller is compiled.
    """
    if not all(map(_is_contiguous_vector, (x, y))):
        return None
    result = types.UniTuple(types.float64, 2)
    return result(x, y), _generate_lane_sums


def _is_contiguous_vector(kind: Any) -> bool:
    return isinstance(kind, types.Array) and kind.ndim == 1 and kind.dtype == types.float64 and kind.layout == "C"


def _generate_lane_sums(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    first, second = (
        make_array(kind)(context, builder, value) for kind, value in zip(signature.args, arguments, strict=True)
    )
    count = cgutils.unpack_tuple(builder, first.shape)[0]
    sums = [cgutils.alloca_once_value(builder, ir.Constant(_LANES, [0.0] * LANES)) for _ in range(2)]
    whole = builder.sdiv(count, ir.Constant(count.type, LANES))
    with cgutils.for_range(builder, whole) as loop:
        start = builder.mul(loop.index, ir.Constant(count.type, LANES))
        _add_lanes(builder, [_load(builder, array.data, start) for array in (first, second)], sums)
    covered = builder.mul(whole, ir.Constant(count.type, LANES))
    rest = builder.sub(count, covered)
    with builder.if_then(builder.icmp_signed(">", rest, ir.Constant(count.type, 0))):
        _add_lanes(builder, [_load_rest(builder, array.data, covered, rest) for array in (first, second)], sums)
    totals = [_across(builder, builder.load(total)) for total in sums]
    return context.make_tuple(builder, signature.return_type, totals)


def _add_lanes(builder: Any, factors: list[Any], sums: list[Any]) -> None:
    product = builder.fmul(*factors)
    fma = cgutils.get_or_insert_function(
        builder.module, ir.FunctionType(_LANES, [_LANES] * 3), f"llvm.fma.v{LANES}f64"
    )
    for total, pair in zip(sums, (factors, (product, product)), strict=True):
        builder.store(builder.call(fma, (*pair, builder.load(total))), total)


def _load(builder: Any, data: Any, start: Any) -> Any:
    pointer = builder.bitcast(builder.gep(data, [start]), _LANES.as_pointer())
    return builder.load(pointer, align=8)


def _load_rest(builder: Any, data: Any, start: Any, rest: Any) -> Any:
    """The last entries, and zeros in the lanes beyond them."""
    lanes = cgutils.alloca_once_value(builder, ir.Constant(_LANES, [0.0] * LANES))
    for lane in range(LANES - 1):
        index = ir.Constant(rest.type, lane)
        with builder.if_then(builder.icmp_signed("<", index, rest)):
            value = builder.load(builder.gep(data, [builder.add(start, index)]))
            place = ir.Constant(ir.IntType(32), lane)
            builder.store(builder.insert_element(builder.load(lanes), value, place), lanes)
    return builder.load(lanes)


def _across(builder: Any, lanes: Any) -> Any:
    place = [ir.Constant(ir.IntType(32), lane) for lane in range(LANES)]
    zero, one, two, three = (builder.extract_element(lanes, index) for index in place)
    return builder.fadd(builder.fadd(zero, one), builder.fadd(two, three))
