"""What every emitted piece of the CPU variants is made of: vectors of the machine's width, memory, results.

Loops are emitted by hand and stay loops: Numba's compiler unrolls what it can, which costs a second and gains
nothing.
"""

from collections.abc import Callable, Iterable
from typing import Any

from llvmlite import ir

from engine.compiled.late_names import LateFunction, cgutils, extending, types
from engine.compiled.machine_code import cpu_target
from engine.variants.emit.llvm import Context, LlvmCode, Made, NumbaType, definition
from engine.variants.emit.value import F32, I8, I32, I64, ArrayArgument, Operand, Value, bits_of, constant

VECTOR = cpu_target().vector_floats
CAN_PACK = cpu_target().has({16: "avx512bw", 8: "avx2"}.get(VECTOR, "none"))
"""Whether integers of 32 bit can be made bytes two vectors at a time, saturated."""


class Vectors(LlvmCode):
    """Emits operations on vectors of VECTOR floats, and the loops around them."""

    def __init__(self, context: Context, builder: ir.IRBuilder) -> None:
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


def cpu_function(returns: str) -> Callable[[Callable[..., Made]], Callable[..., Any]]:
    """Decorate the emitter of what compiled CPU code calls: `code` is `Vectors`.

    It `returns` void or a number, by Numba's name of that type. Arrays, None and float32 come as they are,
    all other numbers as int64, tuples as lists of these. The function has the emitter as `emit`.
    """

    def taken(kind: NumbaType) -> NumbaType:
        if isinstance(kind, types.BaseTuple):
            return types.Tuple([taken(part) for part in kind.types])
        is_own = isinstance(kind, types.Array) or kind in (types.none, types.float32)
        return kind if is_own else types.int64

    def compiled(emit: Callable[..., Made]) -> Callable[..., Made]:
        made = extending.intrinsic(definition(getattr(types, returns), emit, Vectors, taken))
        made.emit = emit
        return made

    def late(emit: Callable[..., Made]) -> Callable[..., Any]:
        made: Any = LateFunction(emit, compiled)
        made.emit = emit
        return made

    return late


# Numba's `min` and `max` are functions of their own: each takes 15 ms to compile, these 2.
@cpu_function("int64")
def smaller(code, value, other):
    """Return the smaller of two integers."""
    return code.smaller(value, other)


@cpu_function("int64")
def larger(code, value, other):
    """Return the larger of two integers."""
    return code.larger(value, other)


CACHE_LINE_BYTES = 64


@cpu_function("int64")
def address_of(code, array, index):
    """Return the address of a flat array's element."""
    return code.address(code.pointer(array) + index)


@cpu_function("void")
def copy_samples(code, target, source, count, sample):
    """Copy `count` samples from one address to another; `sample` is a flat array of their type.

    A call of the C library's memcpy: a loop in Numba would cost 50 ms of compilation, for vectors that it has
    anyway.
    """
    target, source = code.at_address(target, sample), code.at_address(source, sample)
    cgutils.raw_memcpy(code.builder, target.llvm, source.llvm, count.llvm, sample.kind.dtype.bitwidth // 8)


@cpu_function("int64")
def count_one(code, counters, index):
    """Return an element of a flat int64 array and add 1 to it, in one step among all threads.

    A thread that sees the change sees what was written before it, past the cache too.
    """
    place, one = (code.pointer(counters) + index).llvm, code.index(1).llvm
    return code.value(code.builder.atomic_rmw("add", place, one, "seq_cst"))


@cpu_function("void")
def fetch_ahead(code, address, count, sample):
    """Ask for `count` samples in the second cache that are needed soon, without waiting for them.

    `sample` is a flat array of their type. Asking for what does not exist does nothing.
    """
    to_read, into_second_cache, data = (code.integer(number) for number in (0, 2, 1))

    def line(at):
        where = code.value(code.builder.inttoptr((address + at).llvm, I8.as_pointer()))
        code.called("prefetch.p0", ir.VoidType(), where, to_read, into_second_cache, data)

    last = count * (sample.kind.dtype.bitwidth // 8)
    code.stride(code.index(0), last, CACHE_LINE_BYTES, line, 1)


_INTEGERS = ir.VectorType(I32, VECTOR)


def store_results(
    vectors: Vectors,
    results: list[Value],
    pointer: Value,
    index: Operand = 0,
    past_cache: Value | None = None,
    fits: Value | None = None,
) -> None:
    """Store vectors of results side by side, from an element on, in the pointer's type.

    Whole numbers are saturated and rounded half to even; NaN becomes 0.

    `past_cache` is a condition: whether past the cache; float32 only, and only whole, aligned vectors. So is
    `fits`: whether no result can lie beyond the integers of 32 bits.
    """
    element = pointer.llvm.type.pointee
    if element == F32:
        made = results
    elif CAN_PACK and element.width == 8 and len(results) > 1:
        made = _bytes(vectors, results, fits)
    else:
        made = [_whole(vectors, values, element) for values in results]

    def store(is_past: bool) -> None:
        first = 0
        for values in made:
            vectors.store(values, pointer, index + first, past_cache=is_past)
            first += values.llvm.type.count

    if element == F32 and past_cache is not None:
        vectors.when(past_cache, lambda: store(True), lambda: store(False))
    else:
        store(False)


def _whole(vectors: Vectors, values: Value, element: ir.Type) -> Value:
    """Return a vector of floats as whole numbers."""
    largest = vectors.all(float(2**element.width - 1))
    # Both comparisons are false for NaN: the first one makes it 0.
    above = vectors.select(values > vectors.zero, values, vectors.zero)
    within = vectors.select(above < largest, above, largest)
    # A number of this size has no bits for fractions: the sum is rounded half to even, and its last bits are
    # the whole number. One operation less than rounding and converting.
    return (within + 2.0**23).bits_as(_INTEGERS).trunc(ir.VectorType(element, VECTOR))


def _bytes(vectors: Vectors, results: list[Value], fits: Value | None) -> list[Value]:
    """Return two to four vectors of floats as bytes, in vectors of four, two and one times as many.

    Conversion rounds, and packing saturates: four operations per vector instead of six, and a store for
    four of them.
    """
    words, octets = ir.VectorType(ir.IntType(16), 2 * VECTOR), ir.VectorType(ir.IntType(8), 4 * VECTOR)
    largest = vectors.all(255.0)

    def clamped() -> list[Value]:
        # False for NaN, which is then converted to the least integer, and that is packed to 0.
        return [vectors.select(largest < values, largest, values) for values in results]

    # An infinite one too would be packed to 0. AVX2: 8-bit 3 x 3 takes 8 % less time without.
    within = clamped() if fits is None or VECTOR == 16 else vectors.when(fits, lambda: results, clamped)
    whole = [_rounded(vectors, values) for values in within]
    a, b, c, d = whole + [whole[-1]] * (4 - len(whole))
    family, width = ("avx512", ".512") if VECTOR == 16 else ("avx2", "")
    pairs = [vectors.called(f"x86.{family}.packssdw{width}", words, *pair) for pair in ((a, b), (c, d))]
    packed = vectors.called(f"x86.{family}.packuswb{width}", octets, *pairs)
    # Packing goes by parts of 128 bits: four results of each vector, as often as it has such parts.
    fours = packed.bits_as(_INTEGERS)
    order = [4 * part + vector for vector in range(4) for part in range(VECTOR // 4)]
    in_order = vectors.shuffled(fours, fours, order).bits_as(octets)
    parts, first = [], 0
    for count in (4, 2, 1):
        if count <= len(results) - first:
            chosen = list(range(first * VECTOR, (first + count) * VECTOR))
            parts.append(in_order if count == 4 else vectors.shuffled(in_order, in_order, chosen))
            first += count
    return parts


def _rounded(vectors: Vectors, values: Value) -> Value:
    """Return floats as integers, rounded half to even."""
    if VECTOR == 8:
        return vectors.called("x86.avx.cvt.ps2dq.256", _INTEGERS, values)
    nothing = vectors.value(constant(0, _INTEGERS))
    all_elements, as_set = vectors.value(constant(-1, ir.IntType(VECTOR))), vectors.integer(4)
    return vectors.called("x86.avx512.mask.cvtps2dq.512", _INTEGERS, values, nothing, all_elements, as_set)
