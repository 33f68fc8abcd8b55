"""Vectors of the machine's own width: what every emitted piece of the CPU variants is made of.

Loops are emitted by hand and stay loops: Numba's compiler unrolls what it can, which costs a second and gains
nothing.
"""

from collections.abc import Callable, Iterable
from typing import Any

from llvmlite import ir
from numba import types
from numba.core.base import BaseContext
from numba.extending import intrinsic

from engine.compiled.cpu_target import cpu_target
from engine.variants.ir.llvm import LlvmCode, Made, definition
from engine.variants.ir.value import F32, I32, I64, ArrayArgument, Operand, Value, bits_of, constant

VECTOR = cpu_target().vector_floats
CAN_PACK = cpu_target().has({16: "avx512bw", 8: "avx2"}.get(VECTOR, "none"))
"""Whether integers of 32 bit can be made bytes two vectors at a time, saturated."""


class Vectors(LlvmCode):
    """Emits operations on vectors of VECTOR floats, and the loops around them."""

    def __init__(self, context: BaseContext, builder: ir.IRBuilder) -> None:
        super().__init__(context, builder)
        self.floats, self.integers = ir.VectorType(F32, VECTOR), ir.VectorType(I32, VECTOR)
        self.zero = self.all(0.0)
        self._past_cache = builder.module.add_metadata([ir.Constant(I32, 1)])

    def index(self, number: int) -> Value:
        """Return a whole number of 64 bits."""
        return self.value(constant(number, I64))

    def at_address(self, address: Value, samples: ArrayArgument) -> Value:
        """Return an address, an integer, as a pointer to samples of an array's type."""
        kind = samples.kind.dtype
        element = F32 if kind == types.float32 else ir.IntType(kind.bitwidth)
        return self.value(self.builder.inttoptr(address.llvm, element.as_pointer()))

    def address(self, pointer: Value) -> Value:
        """Return where a pointer points to, an integer."""
        return self.value(self.builder.ptrtoint(pointer.llvm, I64))

    def exchanged(self, pointer: Value, how: str, other: Value) -> Value:
        """Change an int64 in one step among all threads ("add", "xchg"); return what was there.

        A thread that sees the change sees what was written before it, past the cache too.
        """
        return self.value(self.builder.atomic_rmw(how, pointer.llvm, other.llvm, "seq_cst"))

    def all(self, value: float) -> Value:
        """Return a vector of the same constant in every element."""
        return self.value(constant(value, self.floats))

    def kept(self, values: list[Value]) -> list[Value]:
        """Return the same vectors; what makes them stays before, what uses them after. For AVX.

        No instruction, but they have to be in registers here.
        """
        count = len(values)
        constraints = ",".join(["=x"] * count + [str(number) for number in range(count)] + ["~{memory}"])
        if count == 1:
            return [self.statement("", constraints, values, self.floats)]
        kind = ir.LiteralStructType([self.floats] * count)
        return self.parts(self.statement("", constraints, values, kind))

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

    def elements_from(self, first: Value) -> Value:
        """Return the numbers first, first + 1, ... for `picked`."""
        return self.splat(first.trunc(I32)) + self.value(ir.Constant(self.integers, list(range(VECTOR))))

    def picked(self, low: Value, high: Value, elements: Value) -> Value:
        """Return some elements of two vectors that lie side by side, known only at run time. For AVX-512."""
        return self.called("x86.avx512.vpermi2var.ps.512", self.floats, low, elements, high)

    def unconverted(self, pointer: Value, index: Operand) -> Value:
        """Return VECTOR samples as they are, wherever they lie."""
        element = pointer.llvm.type.pointee
        address = (pointer + index).pointing_to(ir.VectorType(element, VECTOR))
        return self.value(self.builder.load(address.llvm, align=bits_of(element) // 8))

    def load(self, pointer: Value, index: Operand = 0) -> Value:
        """Return VECTOR samples as floats, wherever they lie."""
        values = self.unconverted(pointer, index)
        if values.is_float:
            return values
        return self.value(self.builder.sitofp(values.zext(self.integers).llvm, self.floats))

    def load_sum(self, one: Value, other: Value, index: Operand) -> Value:
        """Return the exact sums of VECTOR samples of 8 or 16 bit with as many others, as floats."""
        wide = ir.VectorType(ir.IntType(2 * one.llvm.type.pointee.width), VECTOR)
        total = self.unconverted(one, index).zext(wide) + self.unconverted(other, index).zext(wide)
        if wide != self.integers:
            total = total.zext(self.integers)
        return self.value(self.builder.sitofp(total.llvm, self.floats))

    def store(self, samples: Value, pointer: Value, index: Operand = 0, *, past_cache: bool = False) -> None:
        """Store a vector of samples of any length; past the cache only whole, aligned vectors."""
        kind = samples.llvm.type
        address = (pointer + index).pointing_to(kind)
        aligned = bits_of(kind if past_cache else kind.element) // 8
        store = self.builder.store(samples.llvm, address.llvm, align=aligned)
        if past_cache:
            store.set_metadata("nontemporal", self._past_cache)

    def switch(self, chosen: Value, numbers: Iterable[int], body: Callable[[int], None]) -> None:
        """Emit body(number) for some numbers; the one that is chosen at run time runs, or none."""
        builder = self.builder
        done = builder.append_basic_block("chosen_done")
        choice = builder.switch(chosen.llvm, done)
        for one in numbers:
            block = builder.append_basic_block(f"chosen_{one}")
            choice.add_case(constant(one, I64), block)
            builder.position_at_end(block)
            body(one)
            builder.branch(done)
        builder.position_at_end(done)

    def stride(
        self, first: Value, limit: Value, step: int, body: Callable[[Value], None], reach: int
    ) -> Value:
        """Emit a loop over first, first + step, ... while index + reach <= limit; return the next index."""

        def step_on(index: Value) -> Value:
            body(index)
            return index + step

        left: Value = self.while_loop(first, lambda index: index + reach <= limit, step_on)
        return left

    def strips(self, width: Value, vectors: int, body: Callable[[Value, int], None]) -> None:
        """Emit body(column, vectors) for strips of `vectors` vectors, then of one for the rest of the width.

        The last vector may reach past the width.
        """
        column = self.index(0)
        if vectors > 1:
            step = vectors * VECTOR
            column = self.stride(column, width, step, lambda at: body(at, vectors), step)
        self.stride(column, width, VECTOR, lambda at: body(at, 1), 1)

    def copy_as_floats(self, samples: Value, target: Value, count: Value) -> None:
        """Copy `count` samples as float32."""

        def strip(at: Value, vectors: int) -> None:
            for v in range(vectors):
                self.store(self.load(samples, at + v * VECTOR), target, at + v * VECTOR)

        self.strips(count, 4, strip)


def cpu_function(returns: types.Type) -> Callable[[Callable[..., Made]], Callable[..., Any]]:
    """Decorate the emitter of what compiled CPU code calls: `code` is `Vectors`, `returns` void or a number.

    Arrays, None and float32 come as they are, all other numbers as int64, tuples as lists of these. The
    function has the emitter as `emit`.
    """

    def taken(kind: types.Type) -> types.Type:
        if isinstance(kind, types.BaseTuple):
            return types.Tuple([taken(part) for part in kind.types])
        is_own = isinstance(kind, types.Array) or kind in (types.none, types.float32)
        return kind if is_own else types.int64

    def made(emit: Callable[..., Made]) -> Callable[..., Any]:
        function: Any = intrinsic(definition(returns, emit, Vectors, taken))
        function.emit = emit
        return function

    return made
