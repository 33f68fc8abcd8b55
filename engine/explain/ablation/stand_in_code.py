"""What kernels call in the place of what was taken out of them (`altered_source.py`).

In plain Python each is the plain function of the same name with `_plain`: the
addresses are the same ones.
"""

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types

from engine.device.numba_cuda import intrinsic

NEVER = np.float32(-3e38)
"""A result that no picture gives: nearly the lowest float32."""
_I32, _I64 = ir.IntType(32), ir.IntType(64)
# Taking a number apart is no instruction of a GPU.
_HALVES = "{ .reg .b32 low, high; mov.b64 {low, high}, $1;\n\txor.b32 $0, low, high; }"


def _stand_in(plain: Callable[..., Any], definition: Callable[..., Any]) -> Any:
    """Return a function for kernels; its `py_func` is what it is in plain Python."""
    function: Any = intrinsic(definition)
    function.py_func = plain
    return function


def bare_index_plain(index, length):
    """Return an index as it is."""
    return index


def _bare_index(typingctx, index, length):
    """As an unsigned number, of which Numba does not ask whether it is negative."""

    def codegen(context, builder, signature, arguments):
        return context.cast(builder, arguments[0], signature.args[0], types.intp)

    return types.uintp(index, length), codegen


def not_loaded_plain(array, index):
    """Return a number that is not the array's."""
    return 0.5


def _not_loaded(typingctx, array, index):
    """From the address of an element: both halves are in it, so that all of the address is formed."""

    def codegen(context, builder, signature, arguments):
        kind = signature.args[0]
        pointer = _pointer(context, builder, signature, arguments, types.intp)
        address = builder.ptrtoint(pointer, _I64)
        is_float = isinstance(kind.dtype, types.Float)
        made = ir.FunctionType(ir.FloatType() if is_float else _I32, [_I64])
        return builder.call(ir.InlineAsm(made, _HALVES, "=f,l" if is_float else "=r,l"), [address])

    # A whole number is converted to float32 as that of a picture is.
    found = array.dtype if isinstance(array.dtype, types.Float) else types.uint32
    return found(array, index), codegen


def fence_plain():
    """Let nobody wait."""


def _fence(typingctx):
    """No instruction; the compiler moves no access to memory over it."""

    def codegen(context, builder, signature, arguments):
        kind = ir.FunctionType(ir.VoidType(), [])
        builder.call(ir.InlineAsm(kind, "", "~{memory}", side_effect=True), [])
        return context.get_dummy_value()

    return types.void(), codegen


def narrow_plain(value):
    """Return a number as it is."""
    return value


def _narrow(typingctx, value):
    """Give a whole number 32 bits, and leave any other value as it is."""
    is_whole = isinstance(value, types.Integer)
    given = types.unliteral(value) if is_whole else value

    def codegen(context, builder, signature, arguments):
        return context.cast(builder, arguments[0], signature.args[0], signature.return_type)

    return (types.int32 if is_whole else given)(given), codegen


def _unsigned(typingctx, value):
    """Give a whole number that is not below 0 32 bits without a sign."""

    def codegen(context, builder, signature, arguments):
        return context.cast(builder, arguments[0], signature.args[0], types.int32)

    return types.uint32(types.unliteral(value)), codegen


def add_plain(one, other):
    """Return a sum."""
    return one + other


def subtract_plain(one, other):
    """Return a difference."""
    return one - other


def multiply_plain(one, other):
    """Return a product."""
    return one * other


def _narrow_operation(operation, emit):
    """Make an operation on whole numbers one of 32 bits that does not overflow, as C's int."""

    def definition(typingctx, one, other):
        given = types.unliteral(one), types.unliteral(other)
        is_whole = all(isinstance(kind, types.Integer) for kind in given)
        own = typingctx.resolve_function_type(operation, given, {})

        def codegen(context, builder, signature, arguments):
            if not is_whole:
                return context.get_function(operation, own)(builder, arguments)
            pairs = zip(arguments, signature.args, strict=True)
            parts = [context.cast(builder, part, kind, types.int32) for part, kind in pairs]
            return getattr(builder, emit)(*parts, flags=["nsw"])

        return (types.int32 if is_whole else own.return_type)(*given), codegen

    return definition


def load_narrow_plain(array, index):
    """Return an element."""
    return array[index]


def _load_narrow(typingctx, array, index):
    def codegen(context, builder, signature, arguments):
        return builder.load(_pointer(context, builder, signature, arguments, types.int32))

    return array.dtype(array, index), codegen


def store_narrow_plain(array, index, value):
    """Set an element."""
    array[index] = value


def _store_narrow(typingctx, array, index, value):
    def codegen(context, builder, signature, arguments):
        stored = context.cast(builder, arguments[2], signature.args[2], signature.args[0].dtype)
        builder.store(stored, _pointer(context, builder, signature, arguments, types.int32))
        return context.get_dummy_value()

    return types.void(array, index, value), codegen


def _pointer(context, builder, signature, arguments, number):
    """Return the pointer to an element, whose place is counted as Numba does, with numbers of a type."""
    kind, parts = signature.args[0], signature.args[1]
    made = context.make_array(kind)(context, builder, arguments[0])
    llvm, is_narrow = context.get_value_type(number), number != types.intp
    # As C's int, of which the compiler assumes that it does not overflow; Numba's numbers wrap around.
    flags = ["nsw"] if is_narrow else []
    wide = [builder.extract_value(made.shape, axis) for axis in range(kind.ndim)]
    sides = [builder.trunc(side, llvm) if is_narrow else side for side in wide]
    element: Any = ir.Constant(llvm, 0)
    for axis, part in enumerate(parts):
        index = context.cast(builder, builder.extract_value(arguments[1], axis), part, number)
        step: Any = ir.Constant(llvm, 1)
        for side in sides[axis + 1 :]:
            step = builder.mul(step, side, flags=flags)
        inside = _from_end(builder, index, sides[axis]) if part.signed else index
        reached = builder.mul(inside, step, flags=flags)
        element = builder.add(element, reached, flags=flags)
    return builder.gep(made.data, [builder.sext(element, _I64) if is_narrow else element])


def _from_end(builder, index, side):
    """Return an index, one below 0 counted from the end, as Numba does."""
    below = builder.icmp_signed("<", index, ir.Constant(index.type, 0))
    return builder.select(below, builder.add(index, side), index)


bare_index = _stand_in(bare_index_plain, _bare_index)
not_loaded = _stand_in(not_loaded_plain, _not_loaded)
fence = _stand_in(fence_plain, _fence)
narrow = _stand_in(narrow_plain, _narrow)
unsigned = _stand_in(narrow_plain, _unsigned)
add_narrow = _stand_in(add_plain, _narrow_operation(operator.add, "add"))
subtract_narrow = _stand_in(subtract_plain, _narrow_operation(operator.sub, "sub"))
multiply_narrow = _stand_in(multiply_plain, _narrow_operation(operator.mul, "mul"))
load_narrow = _stand_in(load_narrow_plain, _load_narrow)
store_narrow = _stand_in(store_narrow_plain, _store_narrow)
