"""What every emitted piece of a CUDA kernel is made of: types, pointers, vectors of 4 samples, multiply-adds.

An emitted function has a twin in plain Python that does the same element by element (`py_func`): the simulator and the
counting tests run the twin.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from llvmlite import ir
from numba import types

from engine.device.numba_cuda import SIMULATED, intrinsic
from engine.variants.ir.register_tile import VECTOR

F32, I8, I32, I64 = ir.FloatType(), ir.IntType(8), ir.IntType(32), ir.IntType(64)
VOID = ir.VoidType()
GLOBAL, SHARED, CONSTANT = 1, 3, 4
"""The address spaces of global, shared and constant memory."""


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


def in_space(builder: ir.IRBuilder, pointer: ir.Value, space: int) -> ir.Value:
    """Return a pointer as one into an address space, which the compiler then need not find out at run time."""
    if pointer.type.addrspace == space:
        return pointer
    return builder.addrspacecast(pointer, ir.PointerType(pointer.type.pointee, space))


def data_of(
    context: Any, builder: ir.IRBuilder, kind: Any, array: ir.Value, *, space: int = GLOBAL
) -> ir.Value:
    """Return the pointer to the first element of an array, into the address space where it lies."""
    return in_space(builder, context.make_array(kind)(context, builder, array).data, space)


def shape_of(context: Any, builder: ir.IRBuilder, kind: Any, array: ir.Value) -> list[ir.Value]:
    """Return the sides of an array."""
    whole = context.make_array(kind)(context, builder, array)
    return [builder.extract_value(whole.shape, axis) for axis in range(kind.ndim)]


def moved(builder: ir.IRBuilder, pointer: ir.Value, elements: int | ir.Value) -> ir.Value:
    """Return a pointer so many elements further on."""
    offset = constant(elements, I64) if isinstance(elements, int) else wide(builder, elements)
    return builder.gep(pointer, [offset])


def vector_at(builder: ir.IRBuilder, pointer: ir.Value) -> ir.Value:
    """Return a pointer to an element as one to the vector of 4 that begins there."""
    kind = ir.VectorType(pointer.type.pointee, VECTOR)
    return builder.bitcast(pointer, kind.as_pointer(pointer.type.addrspace))


def load_vector(builder: ir.IRBuilder, pointer: ir.Value, itemsize: int) -> list[ir.Value]:
    """Load the 4 elements that begin at a pointer, aligned to all of them, at once."""
    loaded = builder.load(vector_at(builder, pointer), align=VECTOR * itemsize)
    return [builder.extract_element(loaded, constant(k)) for k in range(VECTOR)]


def load_vector_or_cells(
    builder: ir.IRBuilder,
    is_whole: ir.Value,
    whole: Callable[[], ir.Value],
    cells: Callable[[], Iterable[ir.Value]],
    itemsize: int,
) -> list[ir.Value]:
    """Load 4 elements at once from where `whole` points to, or one by one from where `cells` do.

    Both come to one place, so that the compiler can have the loads of several rows of a loop under way.
    """
    with builder.if_else(is_whole) as (then, otherwise):
        with then:
            at_once = load_vector(builder, whole(), itemsize)
            after_whole = builder.block
        with otherwise:
            single = [builder.load(cell) for cell in cells()]
            after_single = builder.block
    values = []
    for one, other in zip(at_once, single, strict=True):
        value = builder.phi(one.type)
        value.add_incoming(one, after_whole)
        value.add_incoming(other, after_single)
        values.append(value)
    return values


def store_vector(builder: ir.IRBuilder, pointer: ir.Value, values: list[ir.Value]) -> None:
    """Store 4 float32 where a pointer says, aligned to all of them, at once."""
    vector = ir.Constant(ir.VectorType(values[0].type, VECTOR), ir.Undefined)
    for k, value in enumerate(values):
        vector = builder.insert_element(vector, value, constant(k))
    builder.store(vector, vector_at(builder, pointer), align=4 * VECTOR)


def fma(builder: ir.IRBuilder, a: ir.Value, b: ir.Value, c: ir.Value) -> ir.Value:
    """Return a b + c, rounded once."""
    name, module = "llvm.fma.f32", builder.module
    function = module.globals.get(name) or ir.Function(module, ir.FunctionType(F32, [F32] * 3), name)
    return builder.call(function, [a, b, c])


@contextmanager
def loop(builder: ir.IRBuilder, first: ir.Value, end: ir.Value, step: int) -> Iterator[ir.Value]:
    """Emit a loop over first, first + step ... below `end` that stays one; yields the number, 32 bits wide."""
    entry = builder.block
    head, body, after = (builder.append_basic_block(name) for name in ("loop", "round", "loop_done"))
    builder.branch(head)
    builder.position_at_end(head)
    number = builder.phi(I32)
    number.add_incoming(first, entry)
    builder.cbranch(builder.icmp_signed("<", number, end), body, after)
    builder.position_at_end(body)
    yield number
    number.add_incoming(builder.add(number, constant(step)), builder.block)
    not_unrolled(builder.branch(head), builder.module)
    builder.position_at_end(after)


def not_unrolled(branch: ir.instructions.Instruction, module: ir.Module) -> None:
    """Mark the branch that closes a loop so that the compiler leaves the loop one."""
    mark = module.add_metadata([module.add_metadata([ir.MetaDataString(module, "llvm.loop.unroll.disable")])])
    # The mark of a loop names itself first.
    mark.operands = (mark, *mark.operands)
    branch.set_metadata("llvm.loop", mark)


def assembly(
    builder: ir.IRBuilder,
    text: str,
    constraints: str,
    arguments: list[ir.Value],
    result: ir.Type = VOID,
    *,
    changes_memory: bool = True,
) -> ir.Value:
    """Emit a line of PTX that no LLVM instruction stands for."""
    kind = ir.FunctionType(result, [argument.type for argument in arguments])
    return builder.call(ir.InlineAsm(kind, text, constraints, side_effect=changes_memory), arguments)


def hidden(value: int) -> Any:
    """Return a function `value()` whose result the compiler does not know, so that it leaves a loop one.

    1 stays known: a loop of one round is none.
    """

    @intrinsic
    def number(typingctx):
        def codegen(context, builder, signature, arguments):
            known = constant(value)
            if value == 1:
                return builder.sext(known, I64)
            return builder.sext(
                assembly(builder, "mov.u32 $0, $1;", "=r,r", [known], I32, changes_memory=False), I64
            )

        return types.int64(), codegen

    return with_twin(number, lambda: value)


def is_at_least(builder: ir.IRBuilder, capability: int) -> ir.Value:
    """Return whether the device that is compiled for has this compute capability (80: 8.0); known to the compiler."""
    module, name = builder.module, b"__CUDA_ARCH\0"
    text = ir.GlobalVariable(
        module, ir.ArrayType(I8, len(name)), module.get_unique_name("cuda_arch"), addrspace=CONSTANT
    )
    text.initializer = ir.Constant(text.value_type, bytearray(name))
    text.global_constant = True
    text.linkage = "internal"
    pointer = builder.addrspacecast(builder.gep(text, [constant(0), constant(0)]), I8.as_pointer())
    kind = ir.FunctionType(I32, [I8.as_pointer()])
    reflect = module.globals.get("__nvvm_reflect") or ir.Function(module, kind, "__nvvm_reflect")
    architecture = builder.call(reflect, [pointer])
    return builder.icmp_signed(">=", architecture, constant(capability * 10))
