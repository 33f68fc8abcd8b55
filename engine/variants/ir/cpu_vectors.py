"""Vectors of the machine's own width: what every emitted piece of the CPU variants is made of.

Loops are emitted by hand and stay loops: Numba's compiler unrolls what it can, which costs a second and gains
nothing.
"""

from collections.abc import Callable, Iterable
from typing import Any

from llvmlite import ir
from numba import types

from engine.device.cpu_target import cpu_target
from engine.variants.ir.llvm import LlvmCode, not_unrolled
from engine.variants.ir.value import F32, I32, I64, Value, bits_of, constant

INT = I64


VECTOR = cpu_target().vector_floats
CAN_PACK = VECTOR == 16 and cpu_target().has("avx512bw")
"""Whether integers of 32 bit can be made bytes two vectors at a time, saturated."""


def number(value: int) -> ir.Constant:
    """Return a constant index."""
    return ir.Constant(INT, value)


def sample_type(numba_type: Any) -> ir.Type:
    """Return the type of a sample in memory: float or an integer of its bits."""
    return F32 if numba_type == types.float32 else ir.IntType(numba_type.bitwidth)


def pointer_at(builder: ir.IRBuilder, address: ir.Value, element: ir.Type) -> ir.Value:
    """Return an address, an integer, as a pointer to elements of a type."""
    return builder.inttoptr(address, element.as_pointer())


def data_of(context: Any, builder: ir.IRBuilder, array_type: Any, array: ir.Value) -> ir.Value:
    """Return the pointer to a Numba array's first element."""
    return context.make_array(array_type)(context, builder, array).data


Values = dict[Any, Value]


class Vectors(LlvmCode):
    """Emits operations on vectors of VECTOR floats, and the loops around them.

    Parameters
    ----------
    context, builder : Numba's
    """

    def __init__(self, context: Any, builder: ir.IRBuilder) -> None:
        super().__init__(context, builder)
        self.floats, self._integers = ir.VectorType(F32, VECTOR), ir.VectorType(I32, VECTOR)
        self.zero = self.all(0.0)
        self._past_cache = builder.module.add_metadata([ir.Constant(I32, 1)])

    def arguments(self, signature: Any, arguments: Any) -> list[Any]:
        """Return the arguments of a function as emitters get them."""
        return [self.argument(kind, value) for kind, value in zip(signature.args, arguments, strict=True)]

    def at_address(self, address: Value, element: ir.Type) -> Value:
        """Return an address, an integer, as a pointer to elements of a type."""
        return self.value(pointer_at(self.builder, address.llvm, element))

    def all(self, value: float) -> Value:
        """Return a vector of the same constant in every element."""
        return self.value(constant(value, self.floats))

    def flag(self, number: Value) -> Value:
        """Return the lowest bit of a number as a condition."""
        return number.trunc(ir.IntType(1))

    def shuffled(self, one: Value, other: Value, order: list[int]) -> Value:
        """Return some elements of two vectors that lie side by side."""
        chosen = ir.Constant(ir.VectorType(I32, len(order)), order)
        return self.value(self.builder.shuffle_vector(one.llvm, other.llvm, chosen))

    def splat(self, scalar: Value) -> Value:
        """Return a vector of the same number in every element."""
        undefined = ir.Constant(ir.VectorType(scalar.llvm.type, VECTOR), ir.Undefined)
        first = self.builder.insert_element(undefined, scalar.llvm, constant(0, I64))
        return self.shuffled(self.value(first), self.value(undefined), [0] * VECTOR)

    def fma(self, a: Value, b: Value, c: Value) -> Value:
        """Return a * b + c of vectors, rounded once."""
        return self.called(f"fma.v{VECTOR}f32", self.floats, a, b, c)

    def elements_from(self, first: Value) -> Value:
        """Return the numbers first, first + 1, ... for `picked`."""
        return self.splat(first.trunc(I32)) + self.value(ir.Constant(self._integers, list(range(VECTOR))))

    def picked(self, low: Value, high: Value, elements: Value) -> Value:
        """Return some elements of two vectors that lie side by side, known only at run time. For AVX-512."""
        return self.called("x86.avx512.vpermi2var.ps.512", self.floats, low, elements, high)

    def _samples(self, pointer: Value, index: Any) -> Value:
        """Return VECTOR samples as they are, wherever they lie."""
        element = pointer.llvm.type.pointee
        place = (pointer + index).pointing_to(ir.VectorType(element, VECTOR))
        return self.value(self.builder.load(place.llvm, align=bits_of(element) // 8))

    def load(self, pointer: Value, index: Any = 0) -> Value:
        """Return VECTOR samples as floats, wherever they lie."""
        values = self._samples(pointer, index)
        if values.is_float:
            return values
        return self.value(self.builder.sitofp(values.zext(self._integers).llvm, self.floats))

    def load_sum(self, one: Value, other: Value, index: Any) -> Value:
        """Return the exact sums of VECTOR samples of 8 or 16 bit with as many others, as floats."""
        wide = ir.VectorType(ir.IntType(2 * one.llvm.type.pointee.width), VECTOR)
        total = self._samples(one, index).zext(wide) + self._samples(other, index).zext(wide)
        if wide != self._integers:
            total = total.zext(self._integers)
        return self.value(self.builder.sitofp(total.llvm, self.floats))

    def store(self, values: Value, pointer: Value, index: Any = 0) -> None:
        """Store floats."""
        self.store_samples(values, pointer, index, past_cache=False)

    def store_samples(self, samples: Value, pointer: Value, index: Any, past_cache: bool) -> None:
        """Store a vector of samples of any length; past the cache only whole, aligned vectors."""
        kind = samples.llvm.type
        place = (pointer + index).pointing_to(kind)
        aligned = bits_of(kind if past_cache else kind.element) // 8
        store = self.builder.store(samples.llvm, place.llvm, align=aligned)
        if past_cache:
            store.set_metadata("nontemporal", self._past_cache)

    def while_loop(
        self, start: Values, again: Callable[[Values], Value], body: Callable[[Values], Values]
    ) -> Values:
        """Emit a loop that asks `again` before each round; return the values that it leaves behind."""
        builder, entry = self.builder, self.builder.block
        head, inside, after = (builder.append_basic_block(name) for name in ("head", "round", "rounds_done"))
        builder.branch(head)
        builder.position_at_end(head)
        values = self._phis(start)
        builder.cbranch(again(values).llvm, inside, after)
        builder.position_at_end(inside)
        self._close(values, start, entry, body(values))
        not_unrolled(builder.branch(head), builder.module)
        builder.position_at_end(after)
        return values

    def switch(self, chosen: Value, numbers: Iterable[int], body: Callable[[int], None]) -> None:
        """Emit body(number) for some numbers; the one that is chosen at run time runs, or none."""
        builder = self.builder
        done = builder.append_basic_block("chosen_done")
        choice = builder.switch(chosen.llvm, done)
        for one in numbers:
            block = builder.append_basic_block(f"chosen_{one}")
            choice.add_case(number(one), block)
            builder.position_at_end(block)
            body(one)
            builder.branch(done)
        builder.position_at_end(done)

    def stride(
        self, first: Value, limit: Value, step: int, body: Callable[[Value], None], reach: int
    ) -> Value:
        """Emit a loop over first, first + step, ... while index + reach <= limit; return the next index."""

        def step_on(values: Values) -> Values:
            body(values["index"])
            return {"index": values["index"] + step}

        left = self.while_loop({"index": first}, lambda values: values["index"] + reach <= limit, step_on)
        return left["index"]

    def strips(self, width: Value, vectors: int, body: Callable[[Value, int], None]) -> None:
        """Emit body(column, vectors) for strips of `vectors` vectors, then of one for the rest of the width.

        The last vector may reach past the width.
        """
        column = self.value(number(0))
        if vectors > 1:
            step = vectors * VECTOR
            column = self.stride(column, width, step, lambda at: body(at, vectors), step)
        self.stride(column, width, VECTOR, lambda at: body(at, 1), 1)
