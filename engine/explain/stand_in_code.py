"""What kernels call in the place of what was taken out of them (`ablation_runs.py`)."""

import numpy as np
from llvmlite import ir
from numba import types

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
        address = builder.ptrtoint(_pointer(context, builder, signature, arguments), _I64)
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


def _pointer(context, builder, signature, arguments):
    """Return the pointer to an element, whose place is counted as Numba does."""
    kind, parts = signature.args[0], signature.args[1]
    made = context.make_array(kind)(context, builder, arguments[0])
    sides = [builder.extract_value(made.shape, axis) for axis in range(kind.ndim)]
    element: object = ir.Constant(_I64, 0)
    for axis, part in enumerate(parts):
        index = context.cast(builder, builder.extract_value(arguments[1], axis), part, types.intp)
        step: object = ir.Constant(_I64, 1)
        for side in sides[axis + 1 :]:
            step = builder.mul(step, side)
        inside = _from_end(builder, index, sides[axis]) if part.signed else index
        element = builder.add(element, builder.mul(inside, step))
    return builder.gep(made.data, [element])


def _from_end(builder, index, side):
    """Return an index, one below 0 counted from the end, as Numba does."""
    below = builder.icmp_signed("<", index, ir.Constant(index.type, 0))
    return builder.select(below, builder.add(index, side), index)
