"""Values of a thread put into shared memory by vectors; emitted as LLVM IR."""

from typing import Any

from numba import types

from engine.device.numba_cuda import intrinsic
from engine.variants.emit.cuda_ir import SHARED, data_of, moved, store_vector, with_twin
from engine.variants.emit.register_tile_shape import VECTOR


def row_keeper(rows: int, pitch: int) -> Any:
    """Return the function `keep(kept, at, values)`: 4 values a row, rows `pitch` elements apart, from element `at` on.

    Parameters
    ----------
    rows : int
    pitch : int
    """

    @intrinsic
    def keep(typingctx, kept, at, values):
        signature = types.void(kept, at, values)

        def codegen(context, builder, signature, arguments):
            data = data_of(context, builder, signature.args[0], arguments[0], space=SHARED)
            first = moved(builder, data, arguments[1])
            for i in range(rows):
                row = [builder.extract_value(arguments[2], i * VECTOR + k) for k in range(VECTOR)]
                store_vector(builder, moved(builder, first, i * pitch), row)
            return context.get_dummy_value()

        return signature, codegen

    def twin(kept: Any, at: int, values: tuple[Any, ...]) -> None:
        for place in range(rows * VECTOR):
            i, k = divmod(place, VECTOR)
            kept[at + i * pitch + k] = values[place]

    return with_twin(keep, twin)
