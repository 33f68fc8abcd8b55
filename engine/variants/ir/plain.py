"""The operations of `CudaCode` on Python's own numbers, for counting and for tests.

A value is a number, an array is whatever can be indexed: NumPy's arrays, arrays that count their accesses.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, cast

from numba import types

from engine.variants.ir.cuda_code import CudaCode
from engine.variants.ir.llvm import F, Rule

Indexable = Any
"""An array of NumPy, or one that counts its accesses."""


class PlainPointer:
    """An offset in an array, counted in elements as if its rows lay one after another.

    `sides` are the array's lengths without the first one, looked up once.
    """

    __slots__ = ("array", "at", "sides")

    def __init__(self, array: Indexable, at: int = 0, sides: tuple[int, ...] = ()) -> None:
        self.array, self.at, self.sides = array, at, sides

    def __add__(self, elements: int) -> "PlainPointer":
        return PlainPointer(self.array, self.at + elements, self.sides)

    def _index(self, at: int) -> Any:
        if not self.sides:
            return at
        if len(self.sides) == 1:
            return divmod(at, self.sides[0])
        index: tuple[int, ...] = ()
        for side in reversed(self.sides):
            at, within = divmod(at, side)
            index = (within, *index)
        return (at, *index)

    def load(self, count: int | None = None) -> Any:
        """Return the element, or a list of `count` neighbours."""
        if count is None:
            return self.array[self._index(self.at)]
        return [self.array[self._index(at)] for at in range(self.at, self.at + count)]

    def store(self, values: float | Sequence[float]) -> None:
        """Store a value, or a list of neighbours."""
        for at, value in enumerate(values if isinstance(values, (list, tuple)) else [values], self.at):
            self.array[self._index(at)] = value


def _sides(array: Indexable) -> tuple[int, ...]:
    return tuple(getattr(array, "shape", ())[1:])


class _LoadedOnce:
    """The weights of a call: the compiler loads each of them once, however often an emitter does."""

    def __init__(self, array: Indexable) -> None:
        self._array, self._loaded = array, {}  # type: ignore[var-annotated]

    def __getitem__(self, index: tuple[int, int]) -> Any:
        if index not in self._loaded:
            self._loaded[index] = self._array[index]
        return self._loaded[index]


class PlainCode:
    """Does the operations at once; what they are `CudaCode` says."""

    has_words = False

    def _same(self, value: int) -> int:
        return value

    integer = narrow = wide = unsigned = opaque = _same

    def f32(self, number: float) -> float:
        return types.float32(number)

    def pointer(self, array: Indexable) -> PlainPointer:
        return PlainPointer(array, 0, _sides(array))

    shared = pointer

    def shape(self, array: Indexable) -> tuple[int, ...]:
        return array.shape

    def weights(self, array: Indexable, count: int, pitch: int, first: int = 0) -> PlainPointer:
        sides = _sides(array)
        return PlainPointer(_LoadedOnce(array), 0, (pitch,) if pitch and len(sides) == 1 else sides)

    def fma(self, a: float, b: float, c: float) -> float:
        return a * b + c

    def float32(self, value: float) -> float:
        return types.float32(value)

    byte = float32

    def select(self, condition: bool, one: F, other: F) -> F:
        return one if condition else other

    def smaller(self, value: float, other: float) -> float:
        return min(value, other)

    def larger(self, value: float, other: float) -> float:
        return max(value, other)

    def all_of(self, *conditions: bool) -> bool:
        return all(conditions)

    def negated(self, condition: bool) -> bool:
        return not condition

    def is_below(self, value: int, end: int) -> bool:
        return 0 <= value < end

    def odd_sign(self, value: int) -> int:
        return -(value & 1)

    def by_rule(self, rule: Rule, index: int, length: int) -> int:
        return rule(index, length)

    def when(self, condition: bool, then: Callable[[], F], otherwise: Callable[[], F] | F) -> F:
        if condition:
            return then()
        return otherwise() if callable(otherwise) else otherwise

    def where(self, condition: bool | None) -> Iterator[None]:
        if condition is None or condition:
            yield

    def loop(self, first: int, end: int, step: int = 1) -> Iterator[int]:
        yield from range(first, end, step)

    def repeat(self, rounds: int, carried: F, body: Callable[[int, F], F]) -> F:
        for number in range(rounds):
            carried = body(number, carried)
        return carried

    def load_row(self, pointer: PlainPointer, count: int, at: int = 0) -> list[float]:
        return pointer.load(count)

    def load_if(
        self,
        condition: bool | None,
        pointer: PlainPointer,
        count: int | None = None,
        elsewhere: PlainPointer | None = None,
    ) -> Any:
        # A load that is not needed does not count.
        if condition is None or condition:
            return pointer.load(count)
        return 0 if count is None else [0] * count

    def load_bytes(self, pointer: PlainPointer, words: int) -> list[float]:
        return [types.float32(value) for value in pointer.load(4 * words)]

    def store_bytes(self, pointer: PlainPointer, value: float, count: int) -> None:
        pointer.store([value] * count)

    def copy_ahead(
        self,
        target: PlainPointer,
        source: PlainPointer,
        count: int,
        only_if: bool | None = None,
        target_at: int = 0,
        source_at: int = 0,
    ) -> None:
        if only_if is None or only_if:
            (target + target_at).store((source + source_at).load(count))

    def slot(self) -> PlainPointer:
        return PlainPointer([0.0])

    def close_group(self) -> None:
        """Do nothing: copies in plain Python have always arrived."""

    def wait_for_groups(self, pending: int) -> None:
        """Do nothing."""

    def quantised(self, value: float, itemsize: int) -> int:
        number = float(value)
        if math.isnan(number):
            return 0
        # Python's round is half to even.
        return round(min(max(number, 0.0), float((1 << 8 * itemsize) - 1)))


PLAIN = cast(CudaCode, PlainCode())
"""As emitters take it: Python's numbers have the operators of a `Value`. A test compares the operations."""
