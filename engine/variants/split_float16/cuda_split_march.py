"""What a kernel calls of `cuda_split_sums.py`: a group's sums with their plain twin, the first scaling, a lane's weights."""

from typing import Any

from llvmlite import ir
from numba import types

from engine.device.numba_cuda import intrinsic
from engine.variants.ir.cuda_ir import F32, I32, SHARED, data_of, moved, narrow, with_twin
from engine.variants.ir.cuda_warp import Values, Warp
from engine.variants.ir.register_tile import VECTOR
from engine.variants.split_float16.cuda_pair_storer import PAIR
from engine.variants.split_float16.cuda_split_sums import HALF_STRIP, SCALING, ZEROS_ONLY, SplitSums
from engine.variants.split_float16.split_shape import SplitShape
from engine.variants.strips.march_shape import LANES


def split_marcher(shape: SplitShape) -> Any:
    """Return the function `march(tile, at, lane, waiting, scaling, weights, mask, unit, offset)`.

    It returns the results of a group's rows, 4 each: those of a lane's left pair and of its right one, 64 samples on; then what
    waits afterwards and the scaling. `at` is where the group begins in the tile; `waiting` are the sums of `none_waiting` or of the
    call before, `scaling` is that of `first_scaling` or of the call before; `weights` are the lane's (`lane_weights`), `mask` the weights
    as float32, `unit` what the halves count, `offset` what every result begins with. Row j of the results is complete with input row j of the group. All lanes of a warp have to call
    it together. Its plain twin computes all groups in float32.

    Parameters
    ----------
    shape : SplitShape
    """
    results = types.UniTuple(types.float32, VECTOR * shape.group_rows)
    made = types.Tuple((results, types.UniTuple(types.float32, shape.kept), SCALING))

    @intrinsic
    def march(typingctx, tile, at, lane, waiting, scaling, weights, mask, unit, offset):
        def codegen(context, builder, signature, arguments):
            def values(place: int) -> Values:
                return [builder.extract_value(arguments[place], k) for k in range(len(signature.args[place]))]

            data = data_of(context, builder, signature.args[0], arguments[0], space=SHARED)
            rows, lane = moved(builder, data, arguments[1]), narrow(builder, arguments[2])
            own = data_of(context, builder, signature.args[6], arguments[6])
            sums = SplitSums(shape, builder, Warp(builder), rows, lane, values(5), own, *arguments[7:])
            parts = sums.emit(values(3), values(4))
            packed = [
                context.make_tuple(builder, kind, part) for kind, part in zip(made.types, parts, strict=True)
            ]
            return context.make_tuple(builder, made, packed)

        return made(tile, at, lane, waiting, scaling, weights, mask, unit, offset), codegen

    return with_twin(march, _directly(shape))


def _directly(shape: SplitShape) -> Any:
    apart = (0, 1, HALF_STRIP, HALF_STRIP + 1)

    def twin(
        tile: Any,
        at: int,
        lane: int,
        waiting: tuple[Any, ...],
        scaling: Any,
        weights: Any,
        mask: Any,
        unit: Any,
        offset: Any,
    ) -> tuple[tuple[Any, ...], tuple[Any, ...], Any]:
        sums: list[list[Any]] = [[offset] * VECTOR for _ in range(shape.touched)]
        for result in range(shape.group_rows, shape.touched):
            first = VECTOR * (result - shape.group_rows)
            sums[result] = list(waiting[first : first + VECTOR])
        for row in range(shape.group_rows):
            start = at + row * shape.along.tile_samples + PAIR * lane + shape.shift
            for result in range(shape.touched):
                mask_row = shape.mask_row(result, row)
                if mask_row is None:
                    continue
                for place, first in enumerate(apart):
                    total = types.float32(0.0)
                    for column in range(shape.mask_columns):
                        total = tile[start + first + column] * mask[mask_row, column] + total
                    sums[result][place] = sums[result][place] + total
        results = tuple(value for row in sums[shape.mask_rows - 1 :][::-1] for value in row)
        waits = tuple(value for row in sums[: shape.mask_rows - 1] for value in row)
        return results, waits or waiting, scaling

    return twin


def first_scaling() -> Any:
    """Return the function `fresh()` of the scaling before the first group."""

    @intrinsic
    def fresh(typingctx):
        def codegen(context, builder, signature, arguments):
            kinds = (F32, F32, I32, I32)
            constants = [ir.Constant(kind, value) for kind, value in zip(kinds, ZEROS_ONLY, strict=True)]
            return context.make_tuple(builder, SCALING, constants)

        return SCALING(), codegen

    return with_twin(fresh, lambda: ZEROS_ONLY)


def lane_weights(shape: SplitShape) -> Any:
    """Return the function `held(fragments, lane)` of a lane's words of weights (`split_fragments.py`)."""
    made = types.UniTuple(types.uint32, shape.fragments)

    @intrinsic
    def held(typingctx, fragments, lane):
        def codegen(context, builder, signature, arguments):
            data = data_of(context, builder, signature.args[0], arguments[0])
            first = moved(builder, data, narrow(builder, arguments[1]))
            words = [builder.load(moved(builder, first, LANES * number)) for number in range(shape.fragments)]
            return context.make_tuple(builder, made, words)

        return made(fragments, lane), codegen

    def twin(fragments: Any, lane: int) -> tuple[Any, ...]:
        return tuple(fragments[LANES * number + lane] for number in range(shape.fragments))

    return with_twin(held, twin)
