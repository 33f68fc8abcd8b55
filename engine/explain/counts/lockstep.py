"""The threads of some blocks, run in lockstep: one statement after another, each by all threads at once.

A value is one of Python's numbers where it is the same for all threads, and else an array with a number for
each thread. A branch that threads take differently is run for those that take it, then for the others; a
loop, as long as any thread goes on. So what the threads of a warp ask of memory at one statement in one
round of a loop is one request, as on a device: there, too, threads that left come back where the ways meet.

`lockstep_source.py` makes a kernel's source call what is here. No Numba in here.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from engine.explain.code.listing import SourceLine
from engine.explain.counts.accesses import WARP
from engine.explain.counts.request_log import Active, RequestLog
from engine.explain.counts.unknown import UNKNOWN, NotCounted, depends_on_samples
from engine.explain.counts.warp_requests import Numbers
from engine.reason import Reason

Value = Any
"""A number of Python, an array of one for each thread, UNKNOWN, or tuples and lists of such."""
Index3 = tuple[int, int, int]


class _Frame:
    """A call: the threads that made it, those of them that have not returned, what the others returned."""

    __slots__ = ("before", "entered", "loop", "remaining", "result")

    def __init__(self, entered: Active, before: "_Frame | None", loop: SourceLine | None = None) -> None:
        self.entered = self.remaining = entered
        self.before, self.loop = before, loop
        self.result: Value = None


class Lockstep:
    """Runs the threads of blocks; `active` are those that run now.

    Parameters
    ----------
    blocks : list of (x, y, z)
        The blocks, by their place in the grid.
    block : (x, y, z)
        Threads of each.
    checkpoint : callable
        Called again and again; it raises `Cancelled` to stop.
    """

    def __init__(self, blocks: list[Index3], block: Index3, checkpoint: Callable[[], None]) -> None:
        threads = block[0] * block[1] * block[2]
        warps = -(-threads // WARP)
        padded = warps * WARP
        thread = np.arange(padded)
        self.threads = padded * len(blocks)
        # Threads of a warp past a block's last one do nothing.
        self.active = Active(np.tile(thread < threads, len(blocks)))
        axes = (thread % block[0], thread // block[0] % block[1], thread // (block[0] * block[1]))
        self.thread_index = tuple(
            0 if side == 1 else np.tile(axis, len(blocks)) for axis, side in zip(axes, block, strict=True)
        )
        self.block_index = tuple(
            axis[0] if len(set(axis)) == 1 else np.repeat(np.array(axis), padded)
            for axis in zip(*blocks, strict=True)
        )
        self.block_dim = block
        self.number_of_block = np.repeat(np.arange(len(blocks)), padded)
        self.blocks = len(blocks)
        self.log = RequestLog(np.repeat(np.arange(len(blocks)), warps), checkpoint)
        # The innermost loop that goes round now.
        self.loop: SourceLine | None = None
        self._frame = _Frame(self.active, None)
        # Within branches that depend on unknown numbers nobody knows who is active.
        self._unknown_branches = 0

    # Calls.

    def enter(self) -> _Frame:
        """Begin a call of the active threads."""
        self._frame = _Frame(self.active, self._frame, self.loop)
        return self._frame

    def give_back(self, frame: _Frame, value: Value = None) -> bool:
        """Let the active threads return a value; say whether no thread is left in the call."""
        if self._unknown_branches:
            if value is None:
                raise depends_on_samples("Whether a thread returns")
            frame.result = UNKNOWN
            return False
        if not self.active.lanes.any():
            return False
        is_last = self.active is frame.remaining
        frame.result = value if frame.result is None else self.merged(frame.result, value)
        if is_last:
            return True
        frame.remaining = Active(frame.remaining.lanes & ~self.active.lanes)
        self.active = Active(np.zeros(self.threads, bool))
        return not frame.remaining.lanes.any()

    def leave(self, frame: _Frame) -> Value:
        """End a call: its threads go on together; return what they were given back."""
        assert frame.before is not None
        self._frame, self.active, self.loop = frame.before, frame.entered, frame.loop
        return frame.result

    # Values.

    def set(self, old: Value, new: Value) -> Value:
        """Return a variable's value after the active threads have set it."""
        if self._unknown_branches:
            return _maybe(old, new)
        if old is None or self.active is self._frame.remaining:
            return new
        return self.merged(old, new)

    def merged(self, old: Value, new: Value) -> Value:
        """Return the new value for active threads, the old one for all others."""
        if old is new or _is_same_number(old, new):
            return new
        if isinstance(new, tuple | list) and isinstance(old, tuple | list) and len(new) == len(old):
            return type(new)(self.merged(*pair) for pair in zip(old, new, strict=True))
        if old is UNKNOWN or new is UNKNOWN or old is None:
            return UNKNOWN if old is not None else new
        if isinstance(new, np.ndarray | np.generic | int | float):
            return np.where(self.active.lanes, new, old)
        # Arrays and pointers that threads choose between are not merged: the last choice stands.
        select = getattr(new, "merged_with", None)
        return select(old, self.active.lanes) if select else new

    # Branches.

    def sides(self, condition: Value) -> Iterator[bool]:
        """Yield True while the threads are active for which a condition holds, then False for the others."""
        if condition is UNKNOWN:
            self._unknown_branches += 1
            yield True
            yield False
            self._unknown_branches -= 1
        elif not isinstance(condition, np.ndarray):
            yield bool(condition)
        else:
            before, frame = self.active, self._frame
            holds = before.lanes & condition
            fails = before.lanes & ~condition
            if not fails.any():
                yield True
                return
            if not holds.any():
                yield False
                return
            for side, lanes in ((True, holds), (False, fails)):
                self.active = Active(lanes)
                yield side
            self._back_to(before, frame)

    def _back_to(self, before: Active, frame: _Frame) -> None:
        """Make the threads active that were before, but for those that have returned meanwhile."""
        if before is frame.remaining or frame.remaining is frame.entered:
            self.active = before
            return
        left = before.lanes & frame.remaining.lanes
        is_all = np.array_equal(left, frame.remaining.lanes)
        self.active = frame.remaining if is_all else Active(left)

    def rounds(self, line: tuple[str, int] | None, *limits: Value) -> Iterator[Value]:
        """Yield the numbers of `range(*limits)`, each while the threads are active that come so far."""
        if any(limit is UNKNOWN for limit in limits):
            raise depends_on_samples("How often a loop goes round")
        entered, outer = self.active, self._begin_loop(line)
        if not any(isinstance(limit, np.ndarray) for limit in limits):
            numbers = range(*(int(limit) for limit in limits))
            yield from numbers
            self._end_loop(outer, entered, np.full(len(entered.warps), len(numbers)))
            return
        first, end, step = (0, *limits, 1) if len(limits) == 1 else (*limits, 1)[:3]
        frame, number, rounds = self._frame, first, np.zeros_like(entered.warps)
        while True:
            going_on = self.active.lanes & (number < end if np.all(step > 0) else number > end)
            if not going_on.any():
                break
            if not np.array_equal(going_on, self.active.lanes):
                self.active = Active(going_on)
            rounds += self.active.warps > 0
            yield number
            number = number + step
        self._end_loop(outer, entered, rounds)
        self._back_to(entered, frame)

    def repeating(self, line: tuple[str, int] | None, again: Callable[[], Value]) -> Iterator[None]:
        """Yield as long as a condition holds for any thread, while those are active for which it does."""
        entered, outer = self.active, self._begin_loop(line)
        frame, rounds = self._frame, np.zeros_like(entered.warps)
        while True:
            condition = again()
            if condition is UNKNOWN:
                raise depends_on_samples("How often a loop goes round")
            going_on = self.active.lanes & condition
            if not going_on.any():
                break
            if not np.array_equal(going_on, self.active.lanes):
                self.active = Active(going_on)
            rounds += self.active.warps > 0
            yield
        self._end_loop(outer, entered, rounds)
        self._back_to(entered, frame)

    def _begin_loop(self, line: tuple[str, int] | None) -> SourceLine | None:
        """Begin a loop, of an emitter without a line; return the one around it."""
        outer = self.loop
        if line is not None:
            self.loop = SourceLine(*line)
        return outer

    def _end_loop(self, outer: SourceLine | None, entered: Active, rounds: Numbers) -> None:
        if self.loop is not None and self.loop != outer:
            self.log.record_loop(self.loop, outer, entered, rounds)
        self.loop = outer

    # Conditions. `second` is asked only for the threads that need it.

    def both(self, first: Value, second: Callable[[], Value], is_plain: bool) -> Value:
        """Return `first and second()`; a plain condition asks nothing of memory: all threads may form it."""
        if is_plain and isinstance(first, np.ndarray):
            return first & second()
        return self.chosen(first, second, lambda: False)

    def either(self, first: Value, second: Callable[[], Value], is_plain: bool) -> Value:
        """Return `first or second()`."""
        if is_plain and isinstance(first, np.ndarray):
            return first | second()
        return self.chosen(first, lambda: True, second)

    def chosen(self, condition: Value, one: Callable[[], Value], other: Callable[[], Value]) -> Value:
        """Return `one() if condition else other()`."""
        made: Value = None
        for side in self.sides(condition):
            made = self._put(made, (one if side else other)())
        return made

    def _put(self, old: Value, new: Value) -> Value:
        if self._unknown_branches:
            return new if old is None else _maybe(old, new)
        return new if old is None else self.merged(old, new)

    def negated(self, condition: Value) -> Value:
        """Return `not condition`."""
        if isinstance(condition, np.ndarray):
            return ~condition
        return UNKNOWN if condition is UNKNOWN else not condition

    # What threads do together.

    def barrier(self) -> None:
        """Let the active threads meet at a barrier."""
        self.known("Whether a thread comes to a barrier")
        self.log.record_barrier(self.active)

    def known(self, what: str) -> None:
        """Refuse what must not depend on the picture's samples, within a branch that does."""
        if self._unknown_branches:
            raise depends_on_samples(what)

    def of_warps(self, combine: Callable[..., Value], numbers: Value, default: Value) -> Value:
        """Return one number for all threads of a warp, combined from those of its active ones."""
        if not isinstance(numbers, np.ndarray):
            return numbers
        rows = np.where(self.active.lanes, numbers, default).reshape(-1, WARP)
        return np.repeat(combine(rows, axis=1), WARP)


def _maybe(old: Value, new: Value) -> Value:
    """Return a value that nobody knows whether it was set."""
    if isinstance(new, tuple | list) and isinstance(old, tuple | list) and len(new) == len(old):
        return type(new)(_maybe(*pair) for pair in zip(old, new, strict=True))
    return new if old is new or _is_same_number(old, new) else UNKNOWN


def _is_same_number(one: Value, other: Value) -> bool:
    return isinstance(one, int | float) and isinstance(other, int | float) and one == other


def not_in_source(what: str) -> NotCounted:
    """Return why a kernel is not counted whose source does what is not known here."""
    return NotCounted(Reason("not-counted", f"Its source has {what}, which is not counted"))
