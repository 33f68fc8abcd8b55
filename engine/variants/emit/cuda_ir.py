"""What every emitted piece of `register-blocked` is made of: types, pointers, vectors of 4 samples, multiply-adds.

An emitted function has a twin in plain Python that does the same element by element (`py_func`): the simulator and the
counting tests run the twin.
"""

from collections.abc import Callable
from typing import Any

from llvmlite import ir

from engine.device.numba_cuda import SIMULATED
from engine.variants.emit.register_tile_shape import VECTOR

F32, I32, I64 = ir.FloatType(), ir.IntType(32), ir.IntType(64)
SHARED = 3
"""The address space of shared memory."""


def with_twin(emitted: Any, twin: Callable[..., Any]) -> Any:
    """Return the emitted function with its twin beside it; in the simulator the twin itself."""
    if SIMULATED:
        return twin
    emitted.py_func = twin
    return emitted


def constant(value: int, kind: ir.IntType = I32) -> ir.Constant:
    """Return a whole number as a constant, 32 bits wide unless another type is asked for."""
    return ir.Constant(kind, value)


def wide(builder: ir.IRBuilder, value: ir.Value) -> ir.Value:
    """Return an index as 64 bits."""
    return builder.sext(value, I64) if value.type.width < 64 else value


def narrow(builder: ir.IRBuilder, value: ir.Value) -> ir.Value:
    """Return an index as 32 bits."""
    return builder.trunc(value, I32) if value.type.width > 32 else value


def data_of(
    context: Any, builder: ir.IRBuilder, kind: Any, array: ir.Value, *, shared: bool = False
) -> ir.Value:
    """Return the pointer to the first element of an array; of a shared one in the address space of shared memory."""
    pointer = context.make_array(kind)(context, builder, array).data
    if shared and pointer.type.addrspace != SHARED:
        return builder.addrspacecast(pointer, ir.PointerType(pointer.type.pointee, SHARED))
    return pointer


def shape_of(context: Any, builder: ir.IRBuilder, kind: Any, array: ir.Value) -> list[ir.Value]:
    """Return the sides of an array."""
    whole = context.make_array(kind)(context, builder, array)
    return [builder.extract_value(whole.shape, axis) for axis in range(kind.ndim)]


def vector_at(builder: ir.IRBuilder, pointer: ir.Value) -> ir.Value:
    """Return a pointer to an element as one to the vector of 4 that begins there."""
    kind = ir.VectorType(pointer.type.pointee, VECTOR)
    return builder.bitcast(pointer, kind.as_pointer(pointer.type.addrspace))


def load_vector(builder: ir.IRBuilder, pointer: ir.Value, itemsize: int) -> list[ir.Value]:
    """Load the 4 elements that begin at a pointer, aligned to all of them, at once."""
    loaded = builder.load(vector_at(builder, pointer), align=VECTOR * itemsize)
    return [builder.extract_element(loaded, constant(k)) for k in range(VECTOR)]


def store_vector(builder: ir.IRBuilder, pointer: ir.Value, values: list[ir.Value]) -> None:
    """Store 4 float32 values where a pointer says, aligned to 16 bytes, at once."""
    vector = ir.Constant(ir.VectorType(F32, VECTOR), ir.Undefined)
    for k, value in enumerate(values):
        vector = builder.insert_element(vector, value, constant(k))
    builder.store(vector, vector_at(builder, pointer), align=VECTOR * 4)


def fma(builder: ir.IRBuilder, a: ir.Value, b: ir.Value, c: ir.Value) -> ir.Value:
    """Return a b + c, rounded once."""
    name, module = "llvm.fma.f32", builder.module
    function = module.globals.get(name) or ir.Function(module, ir.FunctionType(F32, [F32] * 3), name)
    return builder.call(function, [a, b, c])
