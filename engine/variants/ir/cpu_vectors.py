"""Vectors of the machine's own width, emitted as LLVM IR: what every emitted piece of the CPU variants is made of.

Loops are emitted by hand and stay loops: Numba's compiler unrolls what it can, which costs a second and gains nothing.
"""

from collections.abc import Callable
from typing import Any

import llvmlite.binding as llvm
from llvmlite import ir
from numba import types
from numba.core import cgutils

FLOAT = ir.FloatType()
INT = ir.IntType(64)
_INT32 = ir.IntType(32)


def _vector_floats() -> int:
    """Return the floats of this machine's widest vector: 16 (AVX-512), 8 (AVX), else 4."""
    features = llvm.get_host_cpu_features()
    if features.get("avx512f"):
        return 16
    return 8 if features.get("avx") else 4


VECTOR = _vector_floats()
HAS_BROADCAST = VECTOR == 16
"""Whether a multiply-add can take its weight from memory, for all lanes; such machines have 32 vector registers too."""


CAN_PACK = HAS_BROADCAST and bool(llvm.get_host_cpu_features().get("avx512bw"))
"""Whether integers of 32 bit can be made bytes two vectors at a time, saturated."""


def number(value: int) -> ir.Constant:
    """Return a constant index."""
    return ir.Constant(INT, value)


def sample_type(numba_type: Any) -> ir.Type:
    """Return the type of a sample in memory: float or an integer of its bits."""
    return FLOAT if numba_type == types.float32 else ir.IntType(numba_type.bitwidth)


def pointer_at(builder: ir.IRBuilder, address: ir.Value, element: ir.Type) -> ir.Value:
    """Return an address, an integer, as a pointer to elements of a type."""
    return builder.inttoptr(address, element.as_pointer())


def data_of(context: Any, builder: ir.IRBuilder, array_type: Any, array: ir.Value) -> ir.Value:
    """Return the pointer to a Numba array's first element."""
    return context.make_array(array_type)(context, builder, array).data


class Vectors:
    """Emits operations on vectors of VECTOR floats, and the loops around them, through one builder."""

    def __init__(self, builder: ir.IRBuilder) -> None:
        self.builder = builder
        self.floats = ir.VectorType(FLOAT, VECTOR)
        self.zero = self.all(0.0)
        self._integers = ir.VectorType(_INT32, VECTOR)
        self._fma = self._function(f"llvm.fma.v{VECTOR}f32", 3)
        self._not_unrolled = _not_unrolled(builder.module)
        self._past_cache = builder.module.add_metadata([ir.Constant(_INT32, 1)])

    def all(self, value: float) -> ir.Constant:
        """Return a vector of the same constant in every lane."""
        return ir.Constant(self.floats, [value] * VECTOR)

    def _function(self, name: str, operands: int) -> ir.Function:
        return cgutils.get_or_insert_function(
            self.builder.module, ir.FunctionType(self.floats, [self.floats] * operands), name
        )

    def splat(self, scalar: ir.Value) -> ir.Value:
        """Return a vector of the same float in every lane."""
        undefined = ir.Constant(self.floats, ir.Undefined)
        first = self.builder.insert_element(undefined, scalar, number(0))
        return self.builder.shuffle_vector(first, undefined, ir.Constant(self._integers, [0] * VECTOR))

    def multiply_add(self, a: ir.Value, b: ir.Value, c: ir.Value) -> ir.Value:
        """Return a * b + c, rounded once."""
        return self.builder.call(self._fma, [a, b, c])

    def place(self, pointer: ir.Value, index: ir.Value) -> ir.Value:
        """Return the pointer to the vector that begins at an element."""
        element = pointer.type.pointee
        at = self.builder.gep(pointer, [index])
        return self.builder.bitcast(at, ir.VectorType(element, VECTOR).as_pointer())

    def lanes_from(self, first: ir.Value) -> ir.Value:
        """Return the lanes first, first + 1, ... for `picked`."""
        undefined = ir.Constant(self._integers, ir.Undefined)
        lane = self.builder.insert_element(undefined, self.builder.trunc(first, _INT32), number(0))
        lanes = self.builder.shuffle_vector(lane, undefined, ir.Constant(self._integers, [0] * VECTOR))
        return self.builder.add(lanes, ir.Constant(self._integers, list(range(VECTOR))))

    def picked(self, low: ir.Value, high: ir.Value, lanes: ir.Value) -> ir.Value:
        """Return some lanes of two vectors that lie side by side, known only at run time. For AVX-512."""
        kind = ir.FunctionType(self.floats, [self.floats, self._integers, self.floats])
        pick = cgutils.get_or_insert_function(self.builder.module, kind, "llvm.x86.avx512.vpermi2var.ps.512")
        return self.builder.call(pick, [low, lanes, high])

    def load(self, pointer: ir.Value, index: ir.Value) -> ir.Value:
        """Return VECTOR samples as floats, wherever they lie."""
        element = pointer.type.pointee
        values = self.builder.load(self.place(pointer, index), align=_bytes(element))
        if element == FLOAT:
            return values
        return self.builder.sitofp(self.builder.zext(values, self._integers), self.floats)

    def load_sum(self, one: ir.Value, other: ir.Value, index: ir.Value) -> ir.Value:
        """Return the sums of VECTOR samples of 8 or 16 bit with as many other ones, as floats; they are exact."""
        builder, element = self.builder, one.type.pointee
        wide = ir.VectorType(ir.IntType(2 * element.width), VECTOR)
        samples = (
            builder.zext(builder.load(self.place(pointer, index), align=_bytes(element)), wide)
            for pointer in (one, other)
        )
        total = builder.add(*samples)
        if wide != self._integers:
            total = builder.zext(total, self._integers)
        return builder.sitofp(total, self.floats)

    def store(self, values: ir.Value, pointer: ir.Value, index: ir.Value) -> None:
        """Store floats."""
        self.builder.store(values, self.place(pointer, index), align=_bytes(FLOAT))

    def store_samples(self, samples: ir.Value, pointer: ir.Value, index: ir.Value, past_cache: bool) -> None:
        """Store a vector of samples of any length; past the cache only whole, aligned vectors."""
        element, count = samples.type.element, samples.type.count
        place = self.builder.bitcast(self.builder.gep(pointer, [index]), samples.type.as_pointer())
        store = self.builder.store(samples, place, align=_bytes(element) * (count if past_cache else 1))
        if past_cache:
            store.set_metadata("nontemporal", self._past_cache)

    def repeat(
        self,
        start: dict[Any, ir.Value],
        body: Callable[[dict[Any, ir.Value]], tuple[dict[Any, ir.Value], ir.Value]],
    ) -> dict[Any, ir.Value]:
        """Emit a loop that runs at least once, and return what it leaves behind.

        Parameters
        ----------
        start : dict
            The values that go from round to round, as the first one gets them.
        body : callable
            Emits a round; returns the values for the next one, and whether there is one.
        """
        builder, entry = self.builder, self.builder.block
        loop, after = builder.append_basic_block("round"), builder.append_basic_block("rounds_done")
        builder.branch(loop)
        builder.position_at_end(loop)
        values = {key: builder.phi(value.type) for key, value in start.items()}
        following, again = body(values)
        for key, phi in values.items():
            phi.add_incoming(start[key], entry)
            phi.add_incoming(following[key], builder.block)
        builder.cbranch(again, loop, after).set_metadata("llvm.loop", self._not_unrolled)
        builder.position_at_end(after)
        return following

    def repeat_while(
        self,
        start: dict[Any, ir.Value],
        again: Callable[[dict[Any, ir.Value]], ir.Value],
        body: Callable[[dict[Any, ir.Value]], dict[Any, ir.Value]],
    ) -> dict[Any, ir.Value]:
        """Emit a loop that asks `again` before each round, the first one too, and return what it leaves behind."""
        builder, entry = self.builder, self.builder.block
        head, inside, after = (builder.append_basic_block(name) for name in ("head", "round", "rounds_done"))
        builder.branch(head)
        builder.position_at_end(head)
        values = {key: builder.phi(value.type) for key, value in start.items()}
        builder.cbranch(again(values), inside, after)
        builder.position_at_end(inside)
        following = body(values)
        for key, phi in values.items():
            phi.add_incoming(start[key], entry)
            phi.add_incoming(following[key], builder.block)
        builder.branch(head).set_metadata("llvm.loop", self._not_unrolled)
        builder.position_at_end(after)
        return values

    def stride(
        self, first: ir.Value, limit: ir.Value, step: int, body: Callable[[ir.Value], None], reach: int
    ) -> ir.Value:
        """Emit a loop over first, first + step, ... while index + reach <= limit; return the first index left."""

        def step_on(values: dict[Any, ir.Value]) -> dict[Any, ir.Value]:
            body(values["index"])
            return {"index": self.builder.add(values["index"], number(step))}

        def fits(values: dict[Any, ir.Value]) -> ir.Value:
            return self.builder.icmp_signed("<=", self.builder.add(values["index"], number(reach)), limit)

        return self.repeat_while({"index": first}, fits, step_on)["index"]

    def strips(self, width: ir.Value, vectors: int, body: Callable[[ir.Value, int], None]) -> None:
        """Emit body(column, vectors) for strips of `vectors` vectors, then of one for what is left of the width.

        The last vector may reach past the width.
        """
        column = number(0)
        if vectors > 1:
            step = vectors * VECTOR
            column = self.stride(column, width, step, lambda at: body(at, vectors), step)
        self.stride(column, width, VECTOR, lambda at: body(at, 1), 1)


def _bytes(element: ir.Type) -> int:
    return 4 if element == FLOAT else element.width // 8


def _not_unrolled(module: ir.Module) -> ir.MDValue:
    """Return the mark of a loop that the compiler shall leave as it is."""
    name = "llvm.loop.unroll.disable"
    mark = module.add_metadata([module.add_metadata([ir.MetaDataString(module, name)])])
    # The mark of a loop names itself first.
    mark.operands = (mark, *mark.operands)
    return mark
