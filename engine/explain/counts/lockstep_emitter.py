"""What an emitter makes code with, for threads in lockstep: its operations on a number for each thread.

They have the names and the meaning of `engine.variants.ir.cuda_code.CudaCode`; an operation that is not here
says so. Vectors are one request of each warp, as on a device.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from engine.explain.counts.accesses import WARP, WORD_BYTES
from engine.explain.counts.lockstep import Lockstep, Value
from engine.explain.counts.lockstep_arrays import LockstepArray
from engine.explain.counts.unknown import UNKNOWN, WORD, NotCounted
from engine.reason import Reason

VECTOR = 4


class LockstepPointer:
    """An element of an array, for each thread; `unit` has its bytes, where they are not the array's own."""

    __slots__ = ("array", "at", "unit")

    def __init__(self, array: LockstepArray, at: Value = 0, unit: int = 0) -> None:
        self.array, self.at, self.unit = array, at, unit

    def __add__(self, elements: Value) -> "LockstepPointer":
        return LockstepPointer(self.array, self.at + elements, self.unit)

    def pointing_to(self, kind: Any) -> "LockstepPointer":
        """Return it as a pointer to numbers of another type of LLVM's."""
        unit = getattr(kind, "width", 32) // 8
        return LockstepPointer(self.array, self.at * (self.unit or self.array.itemsize) // unit, unit)

    def load(self, count: int | None = None) -> Any:
        """Load the element, or a list of `count` neighbours at once."""
        if not self.unit:
            loaded = self.array.load(self.at, count or 1)
            return loaded[0] if count is None else loaded
        self._in_other_units("loads", self.at, count or 1, self.unit)
        return UNKNOWN if count is None else [UNKNOWN] * count

    def store(self, values: Value | Sequence[Value]) -> None:
        """Store a value, or a list of neighbours at once."""
        values = values if isinstance(values, list | tuple) else [values]
        if values[0] is WORD and not self.unit:
            at = self.at * self.array.itemsize // WORD_BYTES
            self._in_other_units("stores", at, len(values), WORD_BYTES)
        elif self.unit:
            self._in_other_units("stores", self.at, len(values), self.unit)
        else:
            self.array.store(self.at, values)

    def _in_other_units(self, kind: str, at: Value, count: int, unit: int) -> None:
        if self.array.values is not None:
            raise not_emitted("words of several numbers")
        self.array.request(kind, at, count, unit)

    def merged_with(self, old: "LockstepPointer", lanes: np.ndarray) -> "LockstepPointer":
        """Return this pointer for some threads, an older one for the others."""
        if old.array is not self.array or old.unit != self.unit:
            raise not_emitted("a choice between two arrays")
        return LockstepPointer(self.array, np.where(lanes, self.at, old.at), self.unit)


class _Slot:
    """A value that outlasts a branch or a round."""

    def __init__(self, run: Lockstep) -> None:
        self._run, self._value = run, 0.0

    def load(self) -> Value:
        return self._value

    def store(self, value: Value) -> None:
        self._value = self._run.set(self._value, value)


class _LoadedOnce:
    """Weights of a call: the compiler loads each of them once, however often an emitter does."""

    def __init__(self, array: LockstepArray) -> None:
        self._array, self._loaded = array, {}  # type: ignore[var-annotated]

    def load(self, element: Value, count: int = 1) -> list[Value]:
        if isinstance(element, np.ndarray):
            return self._array.load(element, count)
        key = int(element), count
        if key not in self._loaded:
            self._loaded[key] = self._array.load(element, count)
        found: list[Value] = self._loaded[key]
        return found


def not_emitted(what: str) -> NotCounted:
    """Return why a kernel is not counted whose emitter uses what is not here."""
    return NotCounted(Reason("not-counted", f"Its emitter uses {what}, which is not counted"))


class LockstepCode:
    """Does the operations at once, for all threads that are active.

    Parameters
    ----------
    run : Lockstep
    constant : LockstepArray, optional
        The kernel's array in constant memory.
    rule_of : callable
        Makes a plain function run for threads in lockstep.
    has_values : bool
        Whether arrays hold values.
    """

    has_warp = true = True

    def __init__(
        self,
        run: Lockstep,
        constant: LockstepArray | None,
        rule_of: Callable[[Callable[..., int]], Callable[..., Value]],
        has_values: bool,
    ) -> None:
        self._run, self._constant, self._rule_of = run, constant, rule_of
        # With values each sample is a number of its own.
        self.has_words = not has_values

    def __getattr__(self, name: str) -> Any:
        raise not_emitted(f"`{name}`")

    def function(self, function: Any) -> Callable[..., Any]:
        """Return what a kernel calls for what an emitter makes."""

        def call(*arguments: Any) -> Any:
            try:
                made = function.emit(self, *arguments)
            except AttributeError as error:
                # Numbers here have no words and no bits.
                raise not_emitted(f"`{error.name}`") from error
            return tuple(made) if isinstance(made, list) else made

        return call

    def _same(self, value: Value) -> Value:
        return value

    integer = narrow = wide = unsigned = opaque = _same

    def f32(self, number: float) -> Value:
        return np.float32(number)

    def pointer(self, array: LockstepArray) -> LockstepPointer:
        return LockstepPointer(array)

    shared = pointer

    def shape(self, array: LockstepArray) -> tuple[int, ...]:
        return array.shape

    def weights(self, array: LockstepArray, count: int, pitch: int, first: int = 0) -> LockstepPointer:
        once: Any = _LoadedOnce(array if self._constant is None else self._constant)
        return LockstepPointer(once, first)

    def fma(self, a: Value, b: Value, c: Value) -> Value:
        return a * b + c

    def float32(self, value: Value) -> Value:
        if value is UNKNOWN:
            return value
        return value.astype(np.float32) if isinstance(value, np.ndarray) else np.float32(value)

    byte = signed_float32 = float32

    def select(self, condition: Value, one: Any, other: Any) -> Any:
        if condition is UNKNOWN:
            return UNKNOWN
        if not isinstance(condition, np.ndarray):
            return one if condition else other
        if isinstance(one, LockstepPointer):
            return one.merged_with(other, condition)
        return UNKNOWN if one is UNKNOWN or other is UNKNOWN else np.where(condition, one, other)

    def smaller(self, value: Value, other: Value) -> Value:
        return self.select(value < other, value, other)

    def larger(self, value: Value, other: Value) -> Value:
        return self.select(value > other, value, other)

    def all_of(self, *conditions: Value) -> Value:
        first, *others = conditions
        for other in others:
            first = first & other
        return first

    def negated(self, condition: Value) -> Value:
        return self._run.negated(condition)

    def is_below(self, value: Value, end: Value) -> Value:
        return (value >= 0) & (value < end)

    def compared(self, value: Value, sign: str, other: Value) -> Value:
        if value is UNKNOWN or other is UNKNOWN:
            return UNKNOWN
        raise not_emitted(f"unsigned {sign}")

    def odd_sign(self, value: Value) -> Value:
        return -(value & 1)

    def by_rule(self, rule: Callable[..., int], index: Value, length: Value) -> Value:
        return self._rule_of(rule)(index, length)

    def when(self, condition: Value, then: Callable[[], Any], otherwise: Any, *, likely: Any = None) -> Any:
        def other() -> Any:
            return otherwise() if callable(otherwise) else otherwise

        return self._run.chosen(condition, then, other)

    def where(self, condition: Value | None) -> Iterator[None]:
        for side in self._run.sides(True if condition is None else condition):
            if side:
                yield

    def loop(self, first: Value, end: Value, step: int = 1) -> Iterator[Value]:
        yield from self._run.rounds(None, first, end, step)

    def repeat(self, rounds: int, carried: Any, body: Callable[[int, Any], Any]) -> Any:
        for number in range(rounds):
            carried = body(number, carried)
        return carried

    def while_loop(self, start: Any, again: Callable[[Any], Value], body: Callable[[Any], Any]) -> Any:
        values = [start]
        for _ in self._run.repeating(None, lambda: again(values[-1])):
            values.append(self._run.merged(values[-1], body(values[-1])))
        return values[-1]

    def load_row(self, pointer: LockstepPointer, count: int, at: int = 0) -> list[Value]:
        values: list[Value] = []
        for index in range(at, at + count):
            if len(values) <= index - at:
                one = pointer + (index - at)
                values += [one.load()] if index % VECTOR else one.load(min(VECTOR, at + count - index))
        return values

    def load_if(
        self,
        condition: Value | None,
        pointer: LockstepPointer,
        count: int | None = None,
        elsewhere: LockstepPointer | None = None,
    ) -> Any:
        if condition is not None and elsewhere is not None:
            pointer = self.select(condition, pointer, elsewhere)
        return pointer.load(count)

    def load_bytes(self, pointer: LockstepPointer, words: int) -> list[Value]:
        return [self.float32(value) for value in pointer.load(4 * words)]

    def store_bytes(self, pointer: LockstepPointer, value: Value, count: int) -> None:
        pointer.store([value] * count)

    def copy_ahead(
        self,
        target: LockstepPointer,
        source: LockstepPointer,
        count: int,
        only_if: Value | None = None,
        target_at: int = 0,
        source_at: int = 0,
    ) -> None:
        for _ in self.where(only_if):
            loaded = source.array.load(source.at + source_at, count, "copies")
            target.array.store(target.at + target_at, loaded, "copies")

    def slot(self) -> _Slot:
        return _Slot(self._run)

    def close_group(self) -> None:
        pass

    def wait_for_groups(self, pending: int) -> None:
        pass

    def statement(self, text: str, constraints: str, arguments: list[Value], result: Any = None) -> Value:
        # A barrier of a warp, or what is computed from words.
        if not text.startswith(("bar.warp.sync", "prmt.b32")):
            raise not_emitted(f"`{text}`")
        return None if result is None else UNKNOWN

    def assembly(self, text: str, constraints: str, arguments: list[Value], result: Any) -> Value:
        # Of no emitter an address depends on what it computes like this.
        if hasattr(result, "elements"):
            return [UNKNOWN] * len(result.elements)
        return WORD if any(one is WORD for one in arguments) else UNKNOWN

    def parts(self, values: list[Value]) -> list[Value]:
        return values

    def packed_word(self, values: list[Value]) -> Value:
        return WORD

    def low_byte(self, word: Value) -> Value:
        return UNKNOWN

    def quantised(self, value: Value, itemsize: int) -> Value:
        if value is UNKNOWN:
            return value
        most = (1 << 8 * itemsize) - 1
        return np.rint(np.clip(np.nan_to_num(value, posinf=most), 0, most)).astype(np.int64)

    # What the lanes of a warp do together.

    def any_lane(self, condition: Value) -> Value:
        return self._run.of_warps(np.any, condition, False)

    def of_all_lanes(self, how: str, number: Value) -> Value:
        is_most = how == "max"
        least = 0 if is_most else 1 << 62
        return self._run.of_warps(np.max if is_most else np.min, number, least)

    def from_lane(self, lane: Value, word: Value) -> Value:
        if not isinstance(word, np.ndarray):
            return word
        own = np.arange(self._run.threads) // WARP * WARP
        return word[own + lane % WARP]

    def multiplied(self, kind: str, samples: Any, weights: Any, sums: Sequence[Value]) -> list[Value]:
        return [UNKNOWN] * len(sums)
