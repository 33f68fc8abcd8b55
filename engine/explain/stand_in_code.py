"""What kernels call in the place of what was taken out of them (`ablation_runs.py`)."""

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.np.arrayobj import basic_indexing

from engine.device.numba_cuda import intrinsic

NEVER = np.float32(-3e38)
"""A result that no picture gives: nearly the lowest float32."""
_I32, _I64 = ir.IntType(32), ir.IntType(64)
# Taking a number apart is no instruction of a GPU.
_HALVES = "{ .reg .b32 low, high; mov.b64 {low, high}, $1;\n\txor.b32 $0, low, high; }"


@intrinsic
def bare_index(typingctx, index, length):
    """Return an index as it is, as an unsigned number: Numba does not ask whether that is negative."""

    def codegen(context, builder, signature, arguments):
        return context.cast(builder, arguments[0], signature.args[0], types.intp)

    return types.uintp(index, length), codegen


@intrinsic
def not_loaded(typingctx, array, index):
    """Return a number from the address of an element: both halves are in it, so that all of it is formed."""

    def codegen(context, builder, signature, arguments):
        kind = signature.args[0]
        made, parts = context.make_array(kind)(context, builder, arguments[0]), signature.args[1]
        indices = cgutils.unpack_tuple(builder, arguments[1], len(parts))
        pointer, _, _ = basic_indexing(context, builder, kind, made, parts, indices)
        address = builder.ptrtoint(pointer, _I64)
        is_float = isinstance(kind.dtype, types.Float)
        made = ir.FunctionType(ir.FloatType() if is_float else _I32, [_I64])
        return builder.call(ir.InlineAsm(made, _HALVES, "=f,l" if is_float else "=r,l"), [address])

    # A whole number is converted to float32 as that of a picture is.
    found = array.dtype if isinstance(array.dtype, types.Float) else types.uint32
    return found(array, index), codegen


@intrinsic
def fence(typingctx):
    """Be no instruction; the compiler moves no access to memory over it."""

    def codegen(context, builder, signature, arguments):
        kind = ir.FunctionType(ir.VoidType(), [])
        builder.call(ir.InlineAsm(kind, "", "~{memory}", side_effect=True), [])
        return context.get_dummy_value()

    return types.void(), codegen
