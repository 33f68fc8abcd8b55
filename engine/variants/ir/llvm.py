"""What an emitter makes CUDA code with: its operations as LLVM IR.

`plain.py` has the same operations on Python's numbers; `docs/emission.md` shows one emitter through both.
"""

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from typing import Any, NamedTuple

from llvmlite import ir
from numba import types
from numba.core import cgutils

from engine.variants.ir.register_tile import VECTOR
from engine.variants.ir.value import F32, I8, I32, I64, Value, constant, narrow, wide

GLOBAL, SHARED, CONSTANT = 1, 3, 4
"""The address spaces of global, shared and constant memory."""

WEIGHTS = "haloscope_weights"
"""The name of the mask's weights in constant memory (`LlvmCode.weights`)."""


class ArrayArgument(NamedTuple):
    """An array that a kernel hands over: Numba's type of it, and its value."""

    kind: Any
    value: ir.Value


class LlvmCode:
    """Emits operations where a builder of Numba's stands.

    Parameters
    ----------
    context, builder : Numba's
    """

    narrow, wide = staticmethod(narrow), staticmethod(wide)
    has_words = True
    """Whether four samples of 8 bit are stored as a word."""

    def __init__(self, context: Any, builder: ir.IRBuilder) -> None:
        self.context, self.builder = context, builder

    def value(self, llvm: ir.Value) -> Value:
        """Return a value of llvmlite as one with operators."""
        return Value(self.builder, llvm)

    def integer(self, number: int, kind: ir.IntType = I32) -> Value:
        """Return a whole number."""
        return self.value(constant(number, kind))

    def f32(self, number: float) -> Value:
        """Return a float32."""
        return self.value(constant(number, F32))

    @property
    def true(self) -> Value:
        """Return a condition that holds."""
        return self.integer(1, ir.IntType(1))

    # Arguments and results.

    def argument(self, kind: Any, value: ir.Value) -> Any:
        """Return an argument as emitters get it: arrays whole, tuples as lists."""
        if isinstance(kind, types.Array):
            return ArrayArgument(kind, value)
        if isinstance(kind, types.BaseTuple):
            return [self.value(self.builder.extract_value(value, place)) for place in range(len(kind))]
        return self.value(value)

    def returned(self, made: Any, kind: Any) -> ir.Value:
        """Return what Numba takes for a result: nothing, a value, or tuples of them."""
        if kind == types.void:
            return self.context.get_dummy_value()
        if isinstance(kind, types.BaseTuple):
            packed = [self.returned(one, own) for one, own in zip(made, kind.types, strict=True)]
            return self.context.make_tuple(self.builder, kind, packed)
        return made.llvm

    def _array(self, array: ArrayArgument) -> Any:
        return self.context.make_array(array.kind)(self.context, self.builder, array.value)

    def pointer(self, array: ArrayArgument, space: int = GLOBAL) -> Value:
        """Return the pointer to an array's first element, into the address space where it lies."""
        return self.value(in_space(self.builder, self._array(array).data, space))

    def shared(self, tile: ArrayArgument) -> Value:
        """Return the pointer to the first element of an array in shared memory."""
        return self.pointer(tile, SHARED)

    def shape(self, array: ArrayArgument) -> list[Value]:
        """Return the sides of an array, 64 bits wide."""
        sides = self._array(array).shape
        return [self.value(self.builder.extract_value(sides, axis)) for axis in range(array.kind.ndim)]

    def weights(self, array: ArrayArgument, count: int, pitch: int, first: int = 0) -> Value:
        """Return the pointer to a mask's weights in constant memory, which the host fills: no compiling when they change.

        Numba's own constant arrays are part of the compiled code. This one has a name instead, and whoever prepares a
        launch writes to it (`Pass.constant`, `engine/device/constant_memory.py`). A warp reads a weight from it into a
        uniform register; with weights from shared memory in ordinary registers 15 x 15 takes 181 instead of 142 us
        (H200), because one instruction reads at most two of those from one bank.

        Parameters
        ----------
        array : argument
            The same weights in global memory, which plain code reads.
        count : int
            Float32 in constant memory, those of other functions too.
        pitch : int
            From one row of `array` to the next in constant memory.
        first : int
            Where its first row begins there.
        """
        module = self.builder.module
        found = module.globals.get(WEIGHTS)
        if found is None:
            found = ir.GlobalVariable(module, ir.ArrayType(F32, count), WEIGHTS, addrspace=CONSTANT)
            # Two or four weights at once need it.
            found.align = 16
        return self.value(self.builder.gep(found, [constant(0), constant(0)])) + first

    # Arithmetic.

    def fma(self, a: Value, b: Value, c: Value) -> Value:
        """Return a b + c, rounded once."""
        name, module = "llvm.fma.f32", self.builder.module
        function = module.globals.get(name) or ir.Function(module, ir.FunctionType(F32, [F32] * 3), name)
        return self.value(self.builder.call(function, [a.llvm, b.llvm, c.llvm]))

    def float32(self, value: Value) -> Value:
        """Return a sample of 8 or 16 bit as float32."""
        return self.value(self.builder.uitofp(value.llvm, F32))

    def signed_float32(self, value: Value) -> Value:
        """Return a signed integer as float32."""
        return self.value(self.builder.sitofp(value.llvm, F32))

    def unsigned(self, value: Value) -> Value:
        """Return an index that is not negative as 64 bits."""
        return value.zext(I64) if value.llvm.type.width < 64 else value

    def select(self, condition: Value, one: Any, other: Any) -> Value:
        """Return one of two values or pointers, without a branch; one of them may be a number of Python."""
        known = one if isinstance(one, Value) else other
        return self.value(self.builder.select(condition.llvm, known._same(one), known._same(other)))

    def smaller(self, value: Value, other: Any) -> Value:
        """Return the smaller of two signed numbers."""
        return self.select(value < other, value, other)

    def larger(self, value: Value, other: Any) -> Value:
        """Return the larger of two signed numbers."""
        return self.select(value > other, value, other)

    def bit_length(self, value: Value) -> Value:
        """Return how many bits a number that is not negative has."""
        zeros = self.builder.ctlz(value.llvm, ir.Constant(ir.IntType(1), 0))
        return 32 - self.value(zeros)

    def all_of(self, *conditions: Value) -> Value:
        """Return whether all conditions hold; all of them are computed."""
        first, *others = conditions
        for other in others:
            first &= other
        return first

    def negated(self, condition: Value) -> Value:
        """Return whether a condition does not hold."""
        return self.value(self.builder.not_(condition.llvm))

    def is_below(self, value: Value, end: Any) -> Value:
        """Return whether 0 <= value < end, in one comparison of unsigned numbers."""
        return self.value(self.builder.icmp_unsigned("<", value.llvm, value._same(end)))

    def is_at_least(self, value: Value, least: Any) -> Value:
        """Return whether value >= least, both unsigned."""
        return self.value(self.builder.icmp_unsigned(">=", value.llvm, value._same(least)))

    def is_at_most(self, value: Value, most: Any) -> Value:
        """Return whether value <= most, both unsigned."""
        return self.value(self.builder.icmp_unsigned("<=", value.llvm, value._same(most)))

    def odd_sign(self, value: Value) -> Value:
        """Return a number that is negative where a value is odd."""
        return narrow(value) << 31

    def by_rule(self, rule: Callable[[int, int], int], index: Value, length: Value) -> Value:
        """Return what a border's index rule says of an index, 32 bits wide; -1 for a ghost cell."""
        kind, arguments = types.int64(types.int64, types.int64), [wide(index).llvm, wide(length).llvm]
        return narrow(self.value(self.context.compile_internal(self.builder, rule, kind, arguments)))

    # Control flow.

    def when(
        self, condition: Value, then: Callable[[], Any], otherwise: Any, *, likely: bool | None = None
    ) -> Any:
        """Do `then` where a condition holds, else `otherwise`; return the values of whichever ran.

        Parameters
        ----------
        condition : condition
        then : callable of no arguments
            Its result: None, a value, or lists of values.
        otherwise : callable of no arguments, or values
            What else is done, or what the values are else.
        likely : bool, optional
            Whether the condition mostly holds.
        """
        if not callable(otherwise):
            before = self.builder.block
            with self.builder.if_then(condition.llvm, likely=likely):
                made, behind = then(), self.builder.block
            return self._merged(otherwise, before, made, behind)
        with self.builder.if_else(condition.llvm, likely=likely) as (holds, fails):
            with holds:
                one, after_one = then(), self.builder.block
            with fails:
                other, after_other = otherwise(), self.builder.block
        return self._merged(one, after_one, other, after_other)

    def where(self, condition: Value | None) -> Iterator[None]:
        """Do a block of statements where a condition holds (None: always): `for _ in code.where(condition): ...`."""
        with nullcontext() if condition is None else self.builder.if_then(condition.llvm):
            yield

    def _merged(self, one: Any, after_one: ir.Block, other: Any, after_other: ir.Block) -> Any:
        if one is None:
            return None
        if isinstance(one, (list, tuple)):
            pairs = zip(one, other, strict=True)
            return [self._merged(first, after_one, second, after_other) for first, second in pairs]
        merged = self.builder.phi(one.llvm.type)
        merged.add_incoming(one.llvm, after_one)
        merged.add_incoming(one._same(other), after_other)
        return self.value(merged)

    def loop(self, first: Any, end: Any, step: int = 1) -> Iterator[Value]:
        """Yield first, first + step ... below `end`, 32 bits wide; the loop stays one: `for row in code.loop(...)`."""
        builder, entry = self.builder, self.builder.block
        head, body, after = (builder.append_basic_block(name) for name in ("loop", "round", "loop_done"))
        builder.branch(head)
        builder.position_at_end(head)
        number = builder.phi(I32)
        number.add_incoming(first.llvm if isinstance(first, Value) else constant(first), entry)
        more = self.value(number) < end
        builder.cbranch(more.llvm, body, after)
        builder.position_at_end(body)
        yield self.value(number)
        number.add_incoming(builder.add(number, constant(step)), builder.block)
        not_unrolled(builder.branch(head), builder.module)
        builder.position_at_end(after)

    def repeat(self, rounds: int, carried: Any, body: Callable[[Value, Any], Any]) -> Any:
        """Do `body(number, values)` for numbers 0 to rounds - 1, at least once; return the values of the last round.

        Parameters
        ----------
        rounds : int
        carried : lists of values
            What the first round gets. What a round returns, lists of the same form, the next one gets.
        body : callable of (int32, lists of values) -> lists of values
        """
        builder, entry = self.builder, self.builder.block
        inside, after = builder.append_basic_block("rounds"), builder.append_basic_block("rounds_done")
        builder.branch(inside)
        builder.position_at_end(inside)
        number = builder.phi(I32)
        number.add_incoming(constant(0), entry)
        phis: list[Any] = []

        def begun(values: Any) -> Any:
            if isinstance(values, list):
                return [begun(value) for value in values]
            phis.append(builder.phi(values.llvm.type))
            phis[-1].add_incoming(values.llvm, entry)
            return self.value(phis[-1])

        made = body(self.value(number), begun(carried))
        following = builder.add(number, constant(1))
        number.add_incoming(following, builder.block)
        for phi, value in zip(phis, leaves(made), strict=True):
            phi.add_incoming(value.llvm, builder.block)
        # What the instruction cache does not hold runs at a third to three quarters of the speed (H200, past 21 KB).
        branch = builder.cbranch(builder.icmp_unsigned("<", following, constant(rounds)), inside, after)
        not_unrolled(branch, builder.module)
        builder.position_at_end(after)
        return made

    def opaque(self, number: int) -> Value:
        """Return a whole number that the compiler does not know; 1 stays known: a loop of one round is none."""
        if number == 1:
            return wide(self.integer(1))
        return wide(self.assembly("mov.u32 $0, $1;", "=r,r", [self.integer(number)], I32))

    # Memory.

    def load_row(self, pointer: Value, count: int, at: int = 0) -> list[Value]:
        """Load `count` float32 by aligned vectors, past the last one too; `pointer` lies `at` after an aligned place."""
        values: list[Value] = []
        for place in range(at, at + count):
            if len(values) <= place - at:
                one = pointer + (place - at)
                values += [one.load()] if place % VECTOR else one.load(VECTOR)
        return values[:count]

    def load_if(
        self,
        condition: Value | None,
        pointer: Value,
        count: int | None = None,
        elsewhere: Value | None = None,
    ) -> Any:
        """Load what is needed only on a condition (None: always), without a branch: else from `elsewhere`, or there too."""
        if condition is not None and elsewhere is not None:
            pointer = self.select(condition, pointer, elsewhere)
        return pointer.load(count)

    def load_bytes(self, pointer: Value, words: int) -> list[Value]:
        """Load `words` x 4 bytes at once, aligned to all of them, as float32; those that are not used leave no code.

        Written so, taking a byte out and converting it are one instruction (`I2F.U8`), which runs beside the
        multiply-adds.
        """
        values = []
        for word in pointer.pointing_to(I32).load(words):
            for byte in range(4):
                line = f"{{ .reg .u32 t; bfe.u32 t, $1, {8 * byte}, 8; cvt.rn.f32.u32 $0, t; }}"
                values.append(self.assembly(line, "=f,r", [word], F32))
        return values

    def store_bytes(self, pointer: Value, value: Value, count: int) -> None:
        """Store a byte in `count` neighbouring places at once."""
        word = value.zext(I32) * 0x01010101
        pointer.store([word] * (count // 4))

    def byte(self, value: Value) -> Value:
        """Return a float32, a whole number from 0 to 255, as a sample."""
        return self.value(self.builder.fptoui(value.llvm, I8))

    def copy_ahead(
        self,
        target: Value,
        source: Value,
        count: int,
        only_if: Value | None = None,
        target_at: int = 0,
        source_at: int = 0,
    ) -> None:
        """Copy elements from global to shared memory, 4 or 16 bytes aligned to all of them, without waiting; or leave it.

        From compute capability 8.0 on that needs no registers (`cp.async`, PTX ISA 9.7.9.25.3); older devices load and
        store. `.ca`: through L1, where the rows that neighbouring tiles share are found again. Past it (`.cg`) 4096 x
        4096 took 39.6 instead of 34.1 us with 3 x 3 (H200). The elements lie `target_at` and `source_at` past the
        pointers: told so, and with a condition that makes no branch, the compiler computes no pointers of their own for
        them.
        """
        itemsize = 4 if target.llvm.type.pointee == F32 else 1
        floats, target_at, source_at = (
            count * itemsize // 4,
            target_at * itemsize // 4,
            source_at * itemsize // 4,
        )
        if itemsize == 1:
            target, source = target.pointing_to(F32), source.pointing_to(F32)
        source = self.value(in_space(self.builder, source.llvm, GLOBAL))

        def asynchronously() -> None:
            address = self.value(self.builder.ptrtoint(target.llvm, I32))
            line = f"cp.async.ca.shared.global [$0+{4 * target_at}], [$1+{4 * source_at}], {4 * floats};"
            if only_if is None:
                self.statement(line, "r,l,~{memory}", [address, source])
                return
            line = "{ .reg .pred p; setp.ne.u32 p, $2, 0; @p " + line + " }"
            self.statement(line, "r,l,r,~{memory}", [address, source, only_if.zext(I32)])

        def at_once() -> None:
            for _ in self.where(only_if):
                (target + target_at).store((source + source_at).load(floats))

        self.when(self._is_at_least(80), asynchronously, at_once)

    def close_group(self) -> None:
        """Make a group of the copies since the last one."""
        for _ in self.where(self._is_at_least(80)):
            self.statement("cp.async.commit_group;", "~{memory}", [])

    def wait_for_groups(self, pending: int) -> None:
        """Wait for this thread's copies but for those of the last `pending` groups."""
        for _ in self.where(self._is_at_least(80)):
            self.statement(f"cp.async.wait_group {pending};", "~{memory}", [])

    # Integers as results; PTX that no LLVM instruction stands for.

    def low_byte(self, word: Value) -> Value:
        """Return the lowest byte of a word."""
        return word.trunc(I8)

    def quantised(self, value: Value, itemsize: int) -> Value:
        """Return a float32 as an unsigned integer of `itemsize` bytes, in one instruction (`cvt.rni.sat`, PTX ISA 9.7.9)."""
        bits = 8 * itemsize
        return self.assembly(f"cvt.rni.sat.u{bits}.f32 $0, $1;", "=r,f", [value], I32).trunc(ir.IntType(bits))

    def packed_word(self, values: list[Value]) -> Value:
        """Return four float32 as the bytes of a word.

        `cvt.rni` saturates to 32 bits and makes NaN 0, `cvt.pack.sat` (PTX ISA 9.7.9.22) saturates two of those to bytes
        beside two that are there; the compiler makes one instruction of two roundings and a packing (`F2IP`), where four
        `cvt.rni.sat.u8` and their packing take seven (5 x 5 grey: 27.2 instead of 27.9 us, H200).
        """
        line = (
            "{ .reg .s32 a, b, c, d, e; "
            "cvt.rni.s32.f32 a, $1; cvt.rni.s32.f32 b, $2; cvt.rni.s32.f32 c, $3; cvt.rni.s32.f32 d, $4; "
            "cvt.pack.sat.u8.s32.b32 e, d, c, 0; cvt.pack.sat.u8.s32.b32 $0, b, a, e; }"
        )
        return self.assembly(line, "=r,f,f,f,f", values, I32)

    def assembly(self, text: str, constraints: str, arguments: list[Value], result: ir.Type) -> Value:
        """Emit a line of PTX that computes a result and changes nothing else."""
        return self._inline(text, constraints, arguments, result, side_effect=False)

    def statement(
        self, text: str, constraints: str, arguments: list[Value], result: ir.Type | None = None
    ) -> Value:
        """Emit a line of PTX that changes memory, or that must not be moved or merged."""
        return self._inline(text, constraints, arguments, result or ir.VoidType(), side_effect=True)

    def _inline(
        self, text: str, constraints: str, arguments: list[Value], result: ir.Type, *, side_effect: bool
    ) -> Value:
        own = [argument.llvm for argument in arguments]
        kind = ir.FunctionType(result, [argument.type for argument in own])
        emitted = ir.InlineAsm(kind, text, constraints, side_effect=side_effect)
        return self.value(self.builder.call(emitted, own))

    def part(self, whole: Value, place: int) -> Value:
        """Return one part of a result that has several."""
        return self.value(self.builder.extract_value(whole.llvm, place))

    def parts(self, whole: Value) -> list[Value]:
        """Return all of them."""
        return [self.part(whole, place) for place in range(len(whole.llvm.type.elements))]

    def slot(self, kind: ir.Type = F32) -> Value:
        """Return the pointer to a variable of the thread's own, which the compiler keeps in a register."""
        return self.value(cgutils.alloca_once(self.builder, kind))

    def _is_at_least(self, capability: int) -> Value:
        """Return whether the device that is compiled for has this compute capability (80: 8.0); known to the compiler."""
        builder, module, name = self.builder, self.builder.module, b"__CUDA_ARCH\0"
        text = ir.GlobalVariable(
            module, ir.ArrayType(I8, len(name)), module.get_unique_name("cuda_arch"), addrspace=CONSTANT
        )
        text.initializer = ir.Constant(text.value_type, bytearray(name))
        text.global_constant = True
        text.linkage = "internal"
        pointer = builder.addrspacecast(builder.gep(text, [constant(0), constant(0)]), I8.as_pointer())
        kind = ir.FunctionType(I32, [I8.as_pointer()])
        reflect = module.globals.get("__nvvm_reflect") or ir.Function(module, kind, "__nvvm_reflect")
        return self.value(builder.call(reflect, [pointer])) >= capability * 10


def leaves(values: Any) -> list[Any]:
    """Return the values of nested lists, in order."""
    if isinstance(values, (list, tuple)):
        return [leaf for one in values for leaf in leaves(one)]
    return [values]


def in_space(builder: ir.IRBuilder, pointer: ir.Value, space: int) -> ir.Value:
    """Return a pointer as one into an address space, which the compiler then need not find out at run time."""
    if pointer.type.addrspace == space:
        return pointer
    return builder.addrspacecast(pointer, ir.PointerType(pointer.type.pointee, space))


def not_unrolled(branch: ir.instructions.Instruction, module: ir.Module) -> None:
    """Mark the branch that closes a loop so that the compiler leaves the loop one."""
    mark = module.add_metadata([module.add_metadata([ir.MetaDataString(module, "llvm.loop.unroll.disable")])])
    # The mark of a loop names itself first.
    mark.operands = (mark, *mark.operands)
    branch.set_metadata("llvm.loop", mark)
