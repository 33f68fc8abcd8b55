"""Instructions that access memory: loads, stores, atomic operations, and asynchronous copies (`cp.async`).

The order of atomic operations is not defined on a device; here it is that of the threads.
"""

import re
from collections.abc import Callable, Collection

import numpy as np
from numpy.typing import NDArray

from engine.ptx import floats
from engine.ptx.active import Active
from engine.ptx.group import Group, Step
from engine.ptx.kernel import SPACES
from engine.ptx.machine import Machine
from engine.ptx.memory import ARRAY_SHIFT, LOCAL_WINDOW, OUTSIDE_BYTE, SHARED_WINDOW, Place, Request, Segment
from engine.ptx.module import Instruction, listed
from engine.ptx.operands import Operands
from engine.ptx.types import BITWISE, U32, Values, extended

# A block, or a thread, has its own: an address counts from its beginning.
_OWN_SPACES = "shared", "local"
_VERBS = {"st": "writes", "red": "writes", "ld": "reads"}
_UPDATES: dict[str, Callable[..., Values]] = {
    "add": np.add,
    "min": floats.least,
    "max": floats.greatest,
    **BITWISE,
    "exch": lambda old, a: a,
    "inc": lambda old, a: np.where(old >= a, old.dtype.type(0), old + old.dtype.type(1)),
    "dec": lambda old, a: np.where((old == 0) | (old > a), a, old - old.dtype.type(1)),
    "cas": lambda old, a, b: np.where(old == a, b, old),
}
# How caches treat an access, and who sees it when, is without effect on one launch alone.
_WITHOUT_EFFECT = (
    r"volatile|relaxed|acquire|release|weak|mmio|cta|gpu|sys|cluster|noftz|nc|c[agsv]|lu|w[bt]"
    r"|(?:L1|L2|level)::[\w:]+"
)
_SPELLED = re.compile(
    rf"(?:(?:{_WITHOUT_EFFECT}|(?P<space>{'|'.join(SPACES)})(?:::\w+)?|v(?P<count>[24])"
    rf"|(?P<update>{'|'.join(_UPDATES)}))\.)*"
)


def _access(instruction: Instruction, operands: Operands) -> Step:
    """Make a load, a store, or an atomic operation: `red`, or `atom`, which gives what was there before."""
    spelled = _SPELLED.fullmatch("".join(f"{one}." for one in instruction.modifiers[:-1]))
    is_atomic = instruction.name in ("atom", "red")
    if spelled is None or is_atomic != bool(spelled["update"]) or (is_atomic and spelled["count"]):
        raise instruction.unknown()
    space, count, update = spelled["space"] or "", int(spelled["count"] or 1), spelled["update"] or ""
    dtype, is_store, texts = instruction.dtype, instruction.name == "st", [*instruction.operands]
    targets: list[int] = []
    if instruction.name not in ("st", "red"):
        names = listed(texts.pop(0))
        targets = [operands.register(name, instruction) for name in names if not update or name != "_"]
    source = operands.address(texts[0])
    if space == "param":
        return _parameter(instruction, targets, operands)
    given = listed(texts[1]) if is_store else texts[1:] if update else []
    sources = [operands.source(name, dtype) for name in given]
    # What an exchange finds it mostly drops.
    effect = {"": "write" if is_store else "read", "exch": "swap"}.get(update, "update")
    read, size, outside = operands.read_by(instruction), count * dtype.itemsize, 0 if update else OUTSIDE_BYTE
    asked = Request(instruction, space, effect, size)

    def act(group: Group, place: Place) -> list[Values]:
        """Do it; return what threads get."""
        view, at = place.segment.view(dtype), place.flat // dtype.itemsize
        stored = [one(group) for one in sources]
        if update:
            every = [np.broadcast_to(one, (group.active.count,)) for one in (at, *stored)]
            return [_updated(view, every[0], every[1:], update)]
        for part, one in enumerate(stored):
            # Of several threads that write one place the last one stays.
            view[at + part] = one if np.ndim(at) or one.ndim == 0 else one[-1]
        return [view[at + part] for part in range(len(targets))]

    def step(group: Group) -> None:
        found = accessed(group, asked, source(group), read)
        if targets and [part for part, _ in found] != [group]:
            none = np.full(group.active.count * dtype.itemsize, outside, np.uint8).view(dtype)
            for at in targets:
                group.values[at] = extended(none, operands.width(at))
        for part, place in found:
            for at, one in zip(targets, act(part, place), strict=False):
                part.values[at] = extended(one, operands.width(at))
            group.take(part, targets)

    return step


def _parameter(instruction: Instruction, targets: list[int], operands: Operands) -> Step:
    (name, first), dtype = instruction.address, instruction.dtype

    def step(group: Group) -> None:
        data = group.machine.layout.parameters[name]
        for number, register in enumerate(targets):
            at = first + number * dtype.itemsize
            found = data[at : at + dtype.itemsize].view(dtype)[0]
            group.values[register] = extended(found, operands.width(register))

    return step


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


def _copies(instruction: Instruction, operands: Operands) -> Step:
    """Make a `cp.async`, or what closes a group of them or waits."""
    words = instruction.modifiers
    if words[:1] != ("async",) or "bulk" in words or "mbarrier" in words:
        raise instruction.unknown()
    if not instruction.first_of("commit_group", "wait_group", "wait_all"):
        return _copy(instruction, operands)
    left = int(instruction.operands[0], 0) if "wait_group" in words else -1

    def step(group: Group) -> None:
        machine, slots = group.machine, group.active.slots
        if "commit_group" in words:
            machine.copies.closed[slots] += 1
        elif machine.checks:
            for asked, place in machine.copies.waited(group.active, left):
                machine.check(asked, place)

    return step


def _copy(instruction: Instruction, operands: Operands) -> Step:
    target_text, source_text, size_text, *rest = instruction.operands
    if rest and (rest[0].startswith("!") or len(rest) > 1):
        raise instruction.unknown()
    size = int(size_text, 0)
    target, source = operands.address(target_text), operands.address(source_text)
    # How many bytes each thread takes; zeros are behind them.
    taken = operands.source(rest[0] if rest else size_text, U32)
    read, written = operands.read_by(instruction), Request(instruction, "shared", "copy", size)

    def step(group: Group) -> None:
        machine, count = group.machine, group.active.count
        lengths = np.minimum(np.broadcast_to(taken(group), (count,)).astype(np.int64), size)
        data = np.zeros((count, size), np.uint8)
        for length in map(int, np.unique(lengths[lengths > 0])):
            takers = group.some(np.flatnonzero(lengths == length), read)
            asked = Request(instruction, "global", "read", length)
            for part, place in accessed(takers, asked, source(takers), read):
                rows = takers.at if part is takers else takers.at[part.at]
                data[rows[:, None], np.arange(length)] = place.segment.data[_bytes_at(place, length)]
        for part, place in accessed(group, written, target(group), read):
            if machine.checks:
                machine.copies.begin(written, place)
            place.segment.data[_bytes_at(place, size)] = data if part is group else data[part.at]

    return step


def _bytes_at(place: Place, size: int) -> NDArray[np.int64]:
    return np.broadcast_to(place.flat, (place.active.count,))[:, None] + np.arange(size)


def accessed(
    group: Group, asked: Request, addresses: Values, registers: Collection[int]
) -> list[tuple[Group, Place]]:
    """Return where an access of a group's threads goes, checked and counted.

    Where it is not the same array for all, or not allowed for some, these are parts of the group with some
    registers.
    """
    machine, found = group.machine, _places(group, asked, addresses, registers)
    for _, place in found:
        _check_aligned(machine, asked, place)
        if machine.checks:
            machine.check(asked, place)
        for observe in machine.observers:
            observe(asked, place)
    return found


def _places(
    group: Group, asked: Request, addresses: Values, registers: Collection[int]
) -> list[tuple[Group, Place]]:
    machine = group.machine
    segment, offsets = _segment_at(machine, asked.space, addresses)
    if segment is not None and np.all(segment.contains(offsets, asked.size)):
        return [(group, _placed(segment, offsets, group.active))]
    # Addresses of several arrays, or of none.
    addresses = np.broadcast_to(addresses, (group.active.count,))
    numbers = (addresses + np.uint64(1 << ARRAY_SHIFT - 1)) >> np.uint64(ARRAY_SHIFT)
    found = []
    for number in np.unique(numbers):
        at = np.flatnonzero(numbers == number)
        segment, offsets = _segment_at(machine, asked.space, addresses[at])
        bad = np.ones(len(at), bool) if segment is None else ~segment.contains(offsets, asked.size)
        if bad.any():
            where = _distance(int(offsets[bad][0].view(np.int64)), segment)
            message = f"a thread {_VERBS.get(asked.instruction.name, 'accesses')} {where}"
            name, slot = "" if segment is None else segment.name, group.active.slots[at[bad.argmax()]]
            machine.report("outside", (asked.instruction.line,), slot, message, name)
        if segment is not None and not bad.all():
            part = group.some(at[~bad], registers)
            found.append((part, _placed(segment, offsets[~bad], part.active)))
    return found


def _segment_at(machine: Machine, space: str, addresses: Values) -> tuple[Segment | None, Values]:
    """Return the memory that the first of some addresses lies in, and how far in it they lie."""
    if space in _OWN_SPACES:
        return (machine.shared if space == "shared" else machine.local), addresses
    first = int(addresses if addresses.ndim == 0 else addresses[0])
    if first < SHARED_WINDOW:
        segment = machine.layout.at(first)
    else:
        segment = machine.shared if first < LOCAL_WINDOW else machine.local
    return segment, addresses - np.uint64(0 if segment is None else segment.base)


def _check_aligned(machine: Machine, asked: Request, place: Place) -> None:
    size, name = asked.size, place.segment.name
    # A copy may take less than what is aligned.
    past = np.uint64(0 if size & (size - 1) else size - 1)
    if past and np.bitwise_or.reduce(place.offsets, axis=None) & past:
        slot = place.active.slots[np.argmax(place.offsets & past != 0)]
        message = f"a thread accesses {size} bytes of {name} at an address that is no multiple of {size}"
        machine.report("misaligned", (asked.instruction.line,), slot, message, name)


def _placed(segment: Segment, offsets: Values, active: Active) -> Place:
    flat = offsets.view(np.int64)
    if segment.stride:
        flat = (active.blocks if segment.space == "shared" else active.slots) * segment.stride + flat
    return Place(segment, offsets, flat, active)


def _distance(offset: int, segment: Segment | None) -> str:
    """Return how far outside an offset lies, in words."""
    if segment is None:
        return "an address where no array is"
    if offset < 0:
        return f"{-offset} bytes before the beginning of {segment.name}"
    return f"{segment.name} {offset - segment.owner_bytes + 1} bytes or less past its end"


MEMORY_STEPS: dict[str, Callable[[Instruction, Operands], Step]] = {
    **dict.fromkeys(("ld", "ldu", "st", "atom", "red"), _access),
    "cp": _copies,
}
