"""Values of a thread put into a row in shared memory by vectors; emitted as LLVM IR."""

from typing import Any

from numba import types

from engine.device.numba_cuda import intrinsic
from engine.variants.ir.cuda_ir import SHARED, constant, data_of, moved, narrow, store_vector, with_twin
from engine.variants.ir.register_tile import VECTOR, TileShape
from engine.variants.register_blocked.cuda_tile_loader import placed


def row_keeper(shape: TileShape) -> Any:
    """Return the function `keep(tile, at, lane, values)`: a lane's `across` values, in the row that begins at element `at`.

    The lane's vectors are where `TileShape.place` has them: in the place of the samples of the same columns.

    Parameters
    ----------
    shape : TileShape
    """

    @intrinsic
    def keep(typingctx, tile, at, lane, values):
        signature = types.void(tile, at, lane, values)

        def codegen(context, builder, signature, arguments):
            data = data_of(context, builder, signature.args[0], arguments[0], space=SHARED)
            row = moved(builder, data, arguments[1])
            own = builder.mul(narrow(builder, arguments[2]), constant(shape.vectors))
            for number in range(shape.vectors):
                place = placed(builder, shape, builder.add(own, constant(number)))
                vector = moved(builder, row, builder.mul(place, constant(VECTOR)))
                values = [builder.extract_value(arguments[3], number * VECTOR + k) for k in range(VECTOR)]
                store_vector(builder, vector, values)
            return context.get_dummy_value()

        return signature, codegen

    def twin(tile: Any, at: int, lane: int, values: tuple[Any, ...]) -> None:
        for place in range(shape.across):
            number, k = divmod(place, VECTOR)
            tile[at + shape.place(lane * shape.vectors + number) * VECTOR + k] = values[place]

    return with_twin(keep, twin)
