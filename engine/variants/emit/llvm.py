"""What an emitter makes code with: its operations as LLVM IR, for any machine.

`cuda_code.py` adds what only a GPU has.
"""

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any, TypeVar

from llvmlite import ir

from engine.compiled.late_names import cgutils, types
from engine.variants.emit.value import F32, I8, I64, ArrayArgument, Operand, Value, constant, narrow, wide
from engine.variants.passes import VECTOR

Rule = Callable[[int, int], int]
"""A border's index rule: -1 for a ghost cell."""
F = TypeVar("F")
"""A form of values: a value, or lists of them."""
Values = list[Value]
Made = Any
"""A value, or lists or dictionaries of them."""
_Round = list[Made]
NumbaType = Any
Context = Any
"""Numba's, which declares none: a type, what code is made in."""
_NOTHING = ir.VoidType()


class LlvmCode:
    """Emits operations where a builder of Numba's stands, in its context."""

    narrow, wide = staticmethod(narrow), staticmethod(wide)

    def __init__(self, context: Context, builder: ir.IRBuilder) -> None:
        self.context, self.builder = context, builder

    def value(self, llvm: ir.Value) -> Value:
        """Return a value of llvmlite as one with operators."""
        return Value(self.builder, llvm)

    def integer(self, number: int) -> Value:
        """Return a whole number of 32 bits."""
        return self.value(constant(number))

    def f32(self, number: float) -> Value:
        """Return a float32."""
        return self.value(constant(number, F32))

    # Arguments and results.

    def argument(self, kind: NumbaType, value: ir.Value) -> Made:
        """Return an argument as emitters get it: arrays whole, tuples as lists."""
        if isinstance(kind, types.Array):
            return ArrayArgument(kind, value)
        if isinstance(kind, types.BaseTuple):
            parts = [self.builder.extract_value(value, index) for index in range(len(kind))]
            return [self.argument(own, part) for own, part in zip(kind.types, parts, strict=True)]
        return self.value(value)

    def returned(self, made: Made, kind: NumbaType) -> ir.Value:
        """Return what Numba takes for a result: nothing, a value, or tuples of them."""
        if kind == types.void:
            return self.context.get_dummy_value()
        if isinstance(kind, types.BaseTuple):
            packed = [self.returned(one, own) for one, own in zip(made, kind.types, strict=True)]
            return self.context.make_tuple(self.builder, kind, packed)
        return made.llvm

    def _array(self, array: ArrayArgument) -> Made:
        return self.context.make_array(array.kind)(self.context, self.builder, array.value)

    def pointer(self, array: ArrayArgument) -> Value:
        """Return the pointer to an array's first element."""
        return self.value(self._array(array).data)

    def shape(self, array: ArrayArgument) -> list[Value]:
        """Return the sides of an array, 64 bits wide."""
        sides = self._array(array).shape
        return [self.value(self.builder.extract_value(sides, axis)) for axis in range(array.kind.ndim)]

    # Arithmetic.

    def fma(self, a: Value, b: Value, c: Value) -> Value:
        """Return a b + c of numbers or vectors, rounded once."""
        kind = a.llvm.type
        return self.called("fma.f32" if kind == F32 else f"fma.v{kind.count}f32", kind, a, b, c)

    def called(self, name: str, result: ir.Type, *arguments: Value) -> Value:
        """Call one of LLVM's own functions."""
        own = [argument.llvm for argument in arguments]
        kind = ir.FunctionType(result, [argument.type for argument in own])
        function = cgutils.get_or_insert_function(self.builder.module, kind, f"llvm.{name}")
        return self.value(self.builder.call(function, own))

    def float32(self, value: Value) -> Value:
        """Return a sample of 8 or 16 bit as float32."""
        return self.value(self.builder.uitofp(value.llvm, F32))

    def signed_float32(self, value: Value) -> Value:
        """Return a signed integer as float32."""
        return self.value(self.builder.sitofp(value.llvm, F32))

    def unsigned(self, value: Value) -> Value:
        """Return an index that is not negative as 64 bits."""
        return value.zext(I64) if value.llvm.type.width < 64 else value

    def select(self, condition: Value, one: Operand, other: Operand) -> Value:
        """Return one of two values or pointers, without a branch; one may be a number of Python."""
        known = one if isinstance(one, Value) else other
        assert isinstance(known, Value)
        return self.value(self.builder.select(condition.llvm, known._same(one), known._same(other)))

    def smaller(self, value: Value, other: Operand) -> Value:
        """Return the smaller of two signed numbers."""
        return self.select(value < other, value, other)

    def larger(self, value: Value, other: Operand) -> Value:
        """Return the larger of two signed numbers."""
        return self.select(value > other, value, other)

    def all_of(self, *conditions: Value) -> Value:
        """Return whether all conditions hold; all of them are computed."""
        first, *others = conditions
        for other in others:
            first &= other
        return first

    def negated(self, condition: Value) -> Value:
        """Return whether a condition does not hold."""
        return self.value(self.builder.not_(condition.llvm))

    def is_below(self, value: Value, end: Operand) -> Value:
        """Return whether 0 <= value < end, in one comparison of unsigned numbers."""
        return self.value(self.builder.icmp_unsigned("<", value.llvm, value._same(end)))

    def by_rule(self, rule: Rule, index: Value, length: Value) -> Value:
        """Return what a border's index rule says of an index, 32 bits wide; -1 for a ghost cell."""
        kind, arguments = types.int64(types.int64, types.int64), [wide(index).llvm, wide(length).llvm]
        return narrow(self.value(self.context.compile_internal(self.builder, rule, kind, arguments)))

    # Control flow.

    def when(self, condition: Value, then: Callable[[], F], otherwise: Callable[[], F] | F) -> F:
        """Do `then` where a condition holds, else `otherwise`; return the values of whichever ran.

        These are None, a value, or lists of values; `otherwise` may be what they are else.
        """
        if not callable(otherwise):
            before = self.builder.block
            with self.builder.if_then(condition.llvm):
                made, behind = then(), self.builder.block
            return self._merged(otherwise, before, made, behind)
        with self.builder.if_else(condition.llvm) as (holds, fails):
            with holds:
                one, after_one = then(), self.builder.block
            with fails:
                other, after_other = otherwise(), self.builder.block
        return self._merged(one, after_one, other, after_other)

    def where(self, condition: Value | None) -> Iterator[None]:
        """Do a block where a condition holds (None: always): `for _ in code.where(condition): ...`."""
        with nullcontext() if condition is None else self.builder.if_then(condition.llvm):
            yield

    def _merged(self, one: Made, after_one: ir.Block, other: Made, after_other: ir.Block) -> Made:
        if one is None:
            return None
        if isinstance(one, (list, tuple)):
            pairs = zip(one, other, strict=True)
            return [self._merged(first, after_one, second, after_other) for first, second in pairs]
        merged = self.builder.phi(one.llvm.type)
        merged.add_incoming(one.llvm, after_one)
        merged.add_incoming(one._same(other), after_other)
        return self.value(merged)

    def loop(self, first: Operand, end: Operand, step: int = 1) -> Iterator[Value]:
        """Yield first, first + step ... below `end`, 32 bits: `for row in code.loop(...)` stays a loop."""
        start = first if isinstance(first, Value) else self.integer(int(first))
        with self._rounds(start, lambda number: number < end) as (number, following):
            yield number
            following.append(number + step)

    def while_loop(self, start: F, again: Callable[[F], Value], body: Callable[[F], F]) -> F:
        """Do a loop that asks `again` before each round; return the values that it leaves behind.

        `start`, and what `body` returns for the next round, are values, lists or dictionaries of them.
        """
        with self._rounds(start, again) as (values, following):
            following.append(body(values))
        return values

    @contextmanager
    def _rounds(self, start: F, again: Callable[[F], Value]) -> Iterator[tuple[F, list[F]]]:
        """Open a round of a loop: its values, and a list that takes those of the next one."""
        builder, entry = self.builder, self.builder.block
        head, inside, after = (builder.append_basic_block(name) for name in ("loop", "round", "loop_done"))
        builder.branch(head)
        builder.position_at_end(head)
        values, following = self._phis(start), list[F]()
        builder.cbranch(again(values).llvm, inside, after)
        builder.position_at_end(inside)
        yield values, following
        self._close(values, start, entry, following[0])
        not_unrolled(builder.branch(head), builder.module)
        builder.position_at_end(after)

    def repeat(self, rounds: int, carried: F, body: Callable[[Value, F], F]) -> F:
        """Do `body(number, values)` for numbers 0 to rounds - 1, 32 bits; return the last values.

        The first round gets `carried`, lists of values; the next one what it returns, lists of the same form.
        """

        def round_of(values: _Round) -> tuple[_Round, Value]:
            made, following = body(*values), values[0] + 1
            return [following, made], self.is_below(following, rounds)

        # What the instruction cache does not hold runs at a third to three quarters of the speed (H200, past
        # 21 KB).
        after: _Round = [self.integer(0), carried]
        left: F = self.do_while(after, round_of)[1]
        return left

    def do_while(self, start: F, body: Callable[[F], tuple[F, Value]]) -> F:
        """Do a loop that runs at least once; return the values that it leaves behind.

        The first round gets `start`, lists or dictionaries of values. `body` does a round, and returns the
        values for the next one, of the same form, and whether there is one.
        """
        builder, entry = self.builder, self.builder.block
        inside, after = builder.append_basic_block("rounds"), builder.append_basic_block("rounds_done")
        builder.branch(inside)
        builder.position_at_end(inside)
        values = self._phis(start)
        following, again = body(values)
        self._close(values, start, entry, following)
        not_unrolled(builder.cbranch(again.llvm, inside, after), builder.module)
        builder.position_at_end(after)
        return following

    def _phis(self, start: Made) -> Made:
        """Return values of the same form that differ from round to round."""
        if isinstance(start, dict):
            return {key: self._phis(value) for key, value in start.items()}
        if isinstance(start, list):
            return [self._phis(value) for value in start]
        return self.value(self.builder.phi(start.llvm.type))

    def _close(self, values: Made, start: Made, entry: ir.Block, following: Made) -> None:
        """Say where such values come from: from before the loop, and from the round that ends here."""
        if not isinstance(values, Value):
            for key in values if isinstance(values, dict) else range(len(values)):
                self._close(values[key], start[key], entry, following[key])
            return
        values.llvm.add_incoming(start.llvm, entry)
        values.llvm.add_incoming(following.llvm, self.builder.block)

    # Memory.

    def load_row(self, pointer: Value, count: int) -> list[Value]:
        """Load `count` float32 from an aligned address on, by vectors."""
        return [value for at in range(0, count, VECTOR) for value in (pointer + at).load(VECTOR)][:count]

    def byte(self, value: Value) -> Value:
        """Return a float32, a whole number from 0 to 255, as a sample."""
        return self.value(self.builder.fptoui(value.llvm, I8))

    # What no LLVM instruction stands for.

    def assembly(
        self, text: str, constraints: str, arguments: Values, result: ir.Type, *, side_effect: bool = False
    ) -> Value:
        """Emit a line of assembly that computes a result and, by itself, changes nothing else."""
        own = [argument.llvm for argument in arguments]
        kind = ir.FunctionType(result, [argument.type for argument in own])
        emitted = ir.InlineAsm(kind, text, constraints, side_effect=side_effect)
        return self.value(self.builder.call(emitted, own))

    def statement(self, text: str, constraints: str, arguments: Values, result: ir.Type = _NOTHING) -> Value:
        """Emit a line of assembly that changes memory, or that must not be moved or merged."""
        return self.assembly(text, constraints, arguments, result, side_effect=True)

    def parts(self, whole: Value) -> list[Value]:
        """Return the parts of a result that has several."""
        count = len(whole.llvm.type.elements)
        return [self.value(self.builder.extract_value(whole.llvm, index)) for index in range(count)]

    def slot(self) -> Value:
        """Return the pointer to a float32 of the thread's own, which the compiler keeps in a register."""
        return self.value(cgutils.alloca_once(self.builder, F32))


def not_unrolled(branch: ir.instructions.Instruction, module: ir.Module) -> None:
    """Mark the branch that closes a loop so that the compiler leaves the loop one."""
    mark = module.add_metadata([module.add_metadata([ir.MetaDataString(module, "llvm.loop.unroll.disable")])])
    # The mark of a loop names itself first.
    mark.operands = (mark, *mark.operands)
    branch.set_metadata("llvm.loop", mark)


def definition(
    returns: NumbaType,
    emit: Callable[..., Made],
    backend: Callable[[Context, ir.IRBuilder], LlvmCode],
    taken: Callable[[NumbaType], NumbaType] = lambda kind: kind,
) -> Callable[..., object]:
    """Return an emitter as Numba's `intrinsic` takes it: a function of the arguments' types.

    `taken` is the type that an argument of another is converted to.
    """

    def typed(typingctx: object, *kinds: NumbaType) -> tuple[NumbaType, Callable[..., ir.Value]]:
        def codegen(
            context: Context, builder: ir.IRBuilder, signature: NumbaType, arguments: Values
        ) -> ir.Value:
            code = backend(context, builder)
            values = [code.argument(kind, one) for kind, one in zip(signature.args, arguments, strict=True)]
            return code.returned(emit(code, *values), signature.return_type)

        return returns(*map(taken, kinds)), codegen

    # Numba asks for the names of the arguments; the first one is its typing context.
    typed.__name__, typed.__signature__ = emit.__name__, inspect.signature(emit)  # type: ignore[attr-defined]
    return typed
