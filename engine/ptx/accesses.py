"""Instructions that access memory: loads, stores, atomic operations, and asynchronous copies (`cp.async`).

The order of atomic operations is not defined on a device; here it is that of the threads.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.ptx import floats
from engine.ptx.active import Active
from engine.ptx.kernel import Registers, Step
from engine.ptx.machine import Machine
from engine.ptx.memory import OUTSIDE_BYTE, Place
from engine.ptx.module import Instruction, listed
from engine.ptx.operands import Operands, Source
from engine.ptx.types import U32, Values, as_type, extended

SPACES = "global", "shared", "local", "const", "param"
# How caches treat an access, and who sees it when: without effect on one launch alone.
_WITHOUT_EFFECT = {
    *("nc", "ca", "cg", "cs", "lu", "cv", "wb", "wt", "volatile", "relaxed", "acquire", "release", "weak"),
    *("cta", "gpu", "sys", "cluster", "mmio", "L1", "L2", "level"),
}
_UPDATES: dict[str, Callable[..., Values]] = {
    "add": np.add,
    "min": lambda old, a: np.minimum(old, a) if old.dtype.kind in "iu" else floats.least(old, a),
    "max": lambda old, a: np.maximum(old, a) if old.dtype.kind in "iu" else floats.greatest(old, a),
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "exch": lambda old, a: a,
    "inc": lambda old, a: np.where(old >= a, old.dtype.type(0), old + old.dtype.type(1)),
    "dec": lambda old, a: np.where((old == 0) | (old > a), a, old - old.dtype.type(1)),
    "cas": lambda old, a, b: np.where(old == a, b, old),
}
# The threads whose guard holds (None: no thread), and their places among those that are here (None: all).
Chosen = tuple[Active | None, NDArray[np.intp] | None]
# What is done to a view of memory at some places with what threads give, and what they get.
Act = Callable[[np.ndarray, Any, list[Values]], list[Values]]


def _spelled(instruction: Instruction) -> tuple[str, int, str]:
    """Return the memory ("" for a generic address), how many values at once, and an atomic's operation."""
    space, count, update = "", 1, ""
    is_atomic = instruction.name in ("atom", "red")
    for word in instruction.modifiers[:-1]:
        plain = word.partition("::")[0]
        if plain in SPACES:
            space = plain
        elif is_atomic and word in _UPDATES and not update:
            update = word
        elif not is_atomic and word in ("v2", "v4"):
            count = int(word[1])
        elif plain not in _WITHOUT_EFFECT and not (is_atomic and word == "noftz"):
            raise instruction.unknown()
    if is_atomic and not update:
        raise instruction.unknown()
    return space, count, update


def _access(instruction: Instruction, number: int, operands: Operands) -> Step:
    """Make a load, a store, or an atomic operation: `red`, or `atom`, which gives what was there before."""
    space, count, update = _spelled(instruction)
    dtype, is_store, texts = instruction.dtype, instruction.name == "st", [*instruction.operands]
    targets: list[int] = []
    if instruction.name not in ("st", "red"):
        names = listed(texts.pop(0))
        targets = [operands.register(name, instruction) for name in names if not update or name != "_"]
    widths = [operands.width(one) for one in targets]
    source = operands.address(texts[0])
    if space == "param":
        return _parameter(texts[0], targets, widths, dtype)
    given = listed(texts[1]) if is_store else texts[1:] if update else []
    parts = [operands.source(name, dtype) for name in given]
    kind = "atomics" if update else "stores" if is_store else "loads"
    size, whole = count * dtype.itemsize, 0 if update else OUTSIDE_BYTE
    choose = _chooser(instruction, operands)
    # What an exchange finds it mostly drops.
    how = {"atomic": True, "reads": update != "exch"} if update else {}

    def load(view: np.ndarray, at: Any, own: list[Values]) -> list[Values]:
        return [view[at + part] for part in range(count)]

    def store(view: np.ndarray, at: Any, own: list[Values]) -> list[Values]:
        for part, one in enumerate(own):
            # Of several threads that write one place the last one stays.
            view[at + part] = one if np.ndim(at) or one.ndim == 0 else one[-1]
        return []

    def renew(view: np.ndarray, at: Any, own: list[Values]) -> list[Values]:
        return [_updated(view, at, own, update)]

    act: Act = renew if update else store if is_store else load

    def step(values: Registers, active: Active, machine: Machine) -> None:
        part, chosen = choose(values, active, machine)
        if part is None:
            return
        addresses = _some(source(values, active, machine), chosen)
        stored = [_some(one(values, active, machine), chosen) for one in parts]
        found: list[Values] = []
        check = "read" if kind == "loads" else "write"
        for place in _accessed(machine, instruction, number, kind, check, space, addresses, size, part, how):
            at = place.flat // dtype.itemsize
            if update:
                at = np.broadcast_to(at, (place.active.count,))
                stored = [np.broadcast_to(one, (part.count,)) for one in stored]
            got = act(place.segment.view(dtype), at, [_some(one, place.chosen) for one in stored])
            if place.chosen is None:
                found = got
                break
            found = found or _filled(whole, dtype, len(got), part)
            for all_of, one in zip(found, got, strict=True):
                all_of[place.chosen] = one
        if targets:
            found = found or _filled(whole, dtype, count, part)
            for target, width, one in zip(targets, widths, found, strict=True):
                _put(values, target, extended(one, width), active, chosen)

    return step


def _filled(byte: int, dtype: np.dtype, count: int, active: Active) -> list[Values]:
    return [np.full(active.count * dtype.itemsize, byte, np.uint8).view(dtype) for _ in range(count)]


def _some(values: Values, chosen: NDArray[np.intp] | None) -> Values:
    return values if chosen is None or values.ndim == 0 else values[chosen]


def _put(values: Registers, at: int, found: Values, active: Active, chosen: NDArray[np.intp] | None) -> None:
    """Write what the chosen ones of these threads have got into their register, as wide as that is."""
    if chosen is not None:
        merged = np.array(np.broadcast_to(as_type(values[at], np.dtype(f"u{found.itemsize}")), active.count))
        merged[chosen] = as_type(found, merged.dtype)
        found = merged
    values[at] = found


def _chooser(instruction: Instruction, operands: Operands) -> Callable[..., Chosen]:
    """Return what chooses the threads whose guard holds."""
    if instruction.guard is None:
        return lambda values, active, machine: (active, None)
    holds = operands.predicate(instruction.guard)

    def choose(values: Registers, active: Active, machine: Machine) -> Chosen:
        condition = holds(values, active, machine)
        if condition.ndim == 0:
            return active if condition else None, None
        chosen = np.flatnonzero(condition)
        if len(chosen) == active.count:
            return active, None
        return (active.some(chosen), chosen) if len(chosen) else (None, None)

    return choose


def _parameter(address: str, targets: list[int], widths: list[int], dtype: np.dtype) -> Step:
    name, _, by = address.strip("[] ").partition("+")
    first = int(by or 0)

    def step(values: Registers, active: Active, machine: Machine) -> None:
        data = machine.parameters[name.strip()]
        for number, (register, width) in enumerate(zip(targets, widths, strict=True)):
            at = first + number * dtype.itemsize
            values[register] = extended(data[at : at + dtype.itemsize].view(dtype)[0], width)

    return step


def _accessed(
    machine: Machine,
    instruction: Instruction,
    number: int,
    kind: str,
    check: str,
    space: str,
    addresses: Values,
    size: int,
    active: Active,
    how: dict[str, bool],
) -> Iterator[Place]:
    """Return where threads access memory, each place checked and counted: loads, stores, atomics, copies."""
    for place in machine.places(space, addresses, size, active, instruction):
        offsets = place.offsets
        # A copy may take less than what is aligned.
        is_power = size & (size - 1) == 0
        if size > 1 and is_power and np.bitwise_or.reduce(offsets, axis=None) & np.uint64(size - 1):
            bad = np.broadcast_to((offsets & np.uint64(size - 1)) != 0, (place.active.count,))
            name = place.segment.name
            message = f"a thread accesses {size} bytes of {name} at an address that is no multiple of {size}"
            machine.report("misaligned", instruction, place.active, bad, message, array=name)
        if machine.checks and not size % (1 << place.segment.granule):
            machine.check(check, number, place, size, **how)
        if machine.counted:
            offsets = np.broadcast_to(offsets.view(np.int64), (place.active.count,))
            machine.counts.access(number, kind, place.segment, place.active, offsets, size)
        if machine.seen is not None:
            machine.seen.append(place)
        yield place


def _updated(view: np.ndarray, places: np.ndarray, given: list[np.ndarray], name: str) -> np.ndarray:
    """Update places one thread after another; return what each thread found."""
    order = np.argsort(places, kind="stable")
    ordered = places[order]
    is_first = np.concatenate(([True], ordered[1:] != ordered[:-1]))
    starts = np.flatnonzero(is_first)
    found = np.empty(len(places), view.dtype)
    if name == "add" and view.dtype.kind in "iu":
        amounts = given[0][order]
        before = np.cumsum(amounts, dtype=view.dtype) - amounts
        found[order] = view[ordered] + (before - before[starts][np.cumsum(is_first) - 1])
        np.add.at(view, places, given[0])
        return found
    rank = np.arange(len(places)) - np.repeat(starts, np.diff(np.append(starts, len(places))))
    for turn in range(int(rank.max()) + 1):
        chosen = order[rank == turn]
        at = places[chosen]
        found[chosen] = view[at]
        view[at] = _UPDATES[name](view[at], *(one[chosen] for one in given))
    return found


class PendingCopies:
    """The copies of a chunk that no thread has waited for yet: their groups, thread by thread."""

    def __init__(self, slots: int) -> None:
        # How many groups each thread has closed.
        self.closed = np.zeros(slots, np.int64)
        self._open: list[tuple[int, Place, int, NDArray[np.int64]]] = []

    def begin(self, number: int, place: Place, size: int) -> None:
        """Note copies of several threads that one instruction began, in the group of each."""
        self._open.append((number, place, size, self.closed[place.active.slots]))

    def waited(self, active: Active, left: int) -> Iterator[tuple[int, Place, int]]:
        """Return the copies that threads have waited for, which wait until at most `left` groups are left.

        Those are of the groups that each thread has closed; below 0: all.
        """
        limit = np.full(len(self.closed), -1, np.int64)
        limit[active.slots] = self.closed[active.slots] - left
        were_open, self._open = self._open, []
        for number, place, size, groups in were_open:
            is_done = groups < limit[place.active.slots]
            done, rest = np.flatnonzero(is_done), np.flatnonzero(~is_done)
            if len(rest):
                self._open.append((number, place.some(rest), size, groups[rest]))
            if len(done):
                yield number, place.some(done), size


def _copies(instruction: Instruction, number: int, operands: Operands) -> Step:
    """Make a `cp.async`, or what closes a group of them or waits."""
    words = instruction.modifiers
    if words[:1] != ("async",) or "bulk" in words or "mbarrier" in words:
        raise instruction.unknown()
    if not instruction.first_of("commit_group", "wait_group", "wait_all"):
        return _copy(instruction, number, operands)
    left = int(instruction.operands[0], 0) if "wait_group" in words else -1

    def step(values: Registers, active: Active, machine: Machine) -> None:
        if machine.copies is None:
            return
        if "commit_group" in words:
            machine.copies.closed[active.slots] += 1
        elif machine.checks:
            for copy in machine.copies.waited(active, left):
                machine.check("arrive", *copy)

    return step


def _copy(instruction: Instruction, number: int, operands: Operands) -> Step:
    target_text, source_text, size_text, *rest = instruction.operands
    if rest and (rest[0].startswith("!") or len(rest) > 1):
        raise instruction.unknown()
    size = int(size_text, 0)
    target, source = operands.address(target_text), operands.address(source_text)
    # How many bytes each thread takes; zeros are behind them.
    taken: Source = operands.source(rest[0] if rest else size_text, U32)
    choose = _chooser(instruction, operands)

    def step(values: Registers, active: Active, machine: Machine) -> None:
        part, chosen = choose(values, active, machine)
        if part is None:
            return
        from_, to, lengths = (_some(one(values, active, machine), chosen) for one in (source, target, taken))
        lengths = np.minimum(np.broadcast_to(lengths, (part.count,)).astype(np.int64), size)
        data = np.zeros((part.count, size), np.uint8)

        def places(check: str, space: str, at: Values, length: int, threads: Active) -> Iterator[Place]:
            return _accessed(machine, instruction, number, "copies", check, space, at, length, threads, {})

        for length in map(int, np.unique(lengths[lengths > 0])):
            takers = np.flatnonzero(lengths == length)
            own = part if len(takers) == part.count else part.some(takers)
            for place in places("read", "global", _some(from_, takers), length, own):
                rows = _some(takers, place.chosen)
                data[rows[:, None], np.arange(length)] = place.segment.data[_bytes_at(place, length)]
        if machine.copies is None:
            machine.copies = PendingCopies(len(machine.blocks) * machine.row)
        for place in places("copy", "shared", to, size, part):
            if machine.checks:
                machine.copies.begin(number, place, size)
            place.segment.data[_bytes_at(place, size)] = _some(data, place.chosen)

    return step


def _bytes_at(place: Place, size: int) -> NDArray[np.int64]:
    return np.broadcast_to(place.flat, (place.active.count,))[:, None] + np.arange(size)


MEMORY_STEPS: dict[str, Callable[[Instruction, int, Operands], Step]] = {
    **dict.fromkeys(("ld", "ldu", "st", "atom", "red"), _access),
    "cp": _copies,
}
