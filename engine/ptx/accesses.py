"""Instructions that access memory: loads, stores, atomic operations, and asynchronous copies (`cp.async`).

The order of atomic operations is not defined on a device; here it is that of the threads.
"""

import re
from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from engine.ptx import arithmetic
from engine.ptx.arithmetic import BITWISE, U32, Values
from engine.ptx.kernel import SPACES, PtxKernel
from engine.ptx.machine import Group, Machine, Step, address_source, registers_of, source_of
from engine.ptx.memory import ARRAY_SHIFT, LOCAL_WINDOW, OUTSIDE_BYTE, SHARED_WINDOW, Access, Segment
from engine.ptx.module import Instruction, listed

_VERBS = {"st": "writes", "red": "writes", "ld": "reads"}
_UPDATES: dict[str, Callable[..., Values]] = {
    "add": np.add,
    "min": arithmetic.least,
    "max": arithmetic.greatest,
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
_HALF = 1 << ARRAY_SHIFT - 1


def _access(instruction: Instruction, kernel: PtxKernel) -> Step:
    """Make a load, a store, or an atomic operation: `red`, or `atom`, which gives what was there before."""
    spelled = _SPELLED.fullmatch("".join(f"{one}." for one in instruction.modifiers[:-1]))
    is_atomic = instruction.name in ("atom", "red")
    if spelled is None or is_atomic != bool(spelled["update"]) or (is_atomic and spelled["count"]):
        raise instruction.unknown()
    space, count, update = spelled["space"] or "", int(spelled["count"] or 1), spelled["update"] or ""
    dtype, is_store, texts = instruction.dtype, instruction.name == "st", [*instruction.operands]
    names = [] if instruction.name in ("st", "red") else listed(texts.pop(0))
    targets = registers_of(kernel, [name for name in names if not update or name != "_"])
    source = address_source(kernel, texts[0])
    operands = listed(texts[1]) if is_store else texts[1:] if update else []
    sources = [source_of(kernel, name, dtype) for name in operands]
    # What an exchange finds it mostly drops.
    effect = {"": "write" if is_store else "read", "exch": "swap"}.get(update, "update")
    size, outside = count * dtype.itemsize, 0 if update else OUTSIDE_BYTE

    def done(access: Access, stored: list[Values]) -> list[Values]:
        view, at = access.segment.view(dtype), access.flat // dtype.itemsize
        if update:
            every = [np.broadcast_to(one, (access.active.count,)) for one in (at, *stored)]
            return [_updated(view, every[0], every[1:], update)]
        for part, one in enumerate(stored):
            # Of several threads that write one place the last one stays.
            view[at + part] = one if np.ndim(at) or one.ndim == 0 else one[-1]
        return [view[at + part] for part in range(len(targets))]

    def step(group: Group) -> None:
        accesses = [*accessed(group, instruction, space, effect, size, source(group))]
        stored = [one(group) for one in sources]
        if len(accesses) == 1 and accesses[0].at is None:
            group.put(targets, done(accesses[0], stored))
            return
        got = [np.full(group.active.count * dtype.itemsize, outside, np.uint8).view(dtype) for _ in targets]
        for access in accesses:
            parts = [one if one.ndim == 0 else one[access.at] for one in stored]
            for whole, one in zip(got, done(access, parts), strict=False):
                whole[access.at] = one
        group.put(targets, got)

    return step


def _updated(view: np.ndarray, places: np.ndarray, operands: list[np.ndarray], name: str) -> np.ndarray:
    order = np.argsort(places, kind="stable")
    ordered = places[order]
    is_first = np.concatenate(([True], ordered[1:] != ordered[:-1]))
    starts = np.flatnonzero(is_first)
    previous = np.empty(len(places), view.dtype)
    if name == "add" and view.dtype.kind in "iu":
        amounts = operands[0][order]
        before = np.cumsum(amounts, dtype=view.dtype) - amounts
        previous[order] = view[ordered] + (before - before[starts][np.cumsum(is_first) - 1])
        np.add.at(view, places, operands[0])
        return previous
    rank = np.arange(len(places)) - np.repeat(starts, np.diff(np.append(starts, len(places))))
    for chosen in np.split(order[np.argsort(rank, kind="stable")], np.cumsum(np.bincount(rank))[:-1]):
        at = places[chosen]
        previous[chosen] = view[at]
        view[at] = _UPDATES[name](view[at], *(one[chosen] for one in operands))
    return previous


def _copies(instruction: Instruction, kernel: PtxKernel) -> Step:
    words = instruction.modifiers
    if words[:1] != ("async",) or "bulk" in words or "mbarrier" in words:
        raise instruction.unknown()
    if instruction.first_of("wait_group", "wait_all"):
        left = int(instruction.operands[0], 0) if "wait_group" in words else -1
        return lambda group: group.machine.wait_for_copies(group.active, left)
    if "commit_group" in words:

        def close(group: Group) -> None:
            group.machine.closed[group.active.slots] += 1

        return close
    target_text, source_text, size_text, *rest = instruction.operands
    if rest and (rest[0].startswith("!") or len(rest) > 1):
        raise instruction.unknown()
    size = int(size_text, 0)
    target, source = (address_source(kernel, one) for one in (target_text, source_text))
    # How many bytes each thread takes; zeros are behind them.
    taken = source_of(kernel, rest[0] if rest else size_text, U32)

    def step(group: Group) -> None:
        count, addresses = group.active.count, source(group)
        lengths = np.minimum(np.broadcast_to(taken(group), (count,)), np.uint32(size))
        data = np.zeros((count, size), np.uint8)
        for length in map(int, np.unique(lengths[lengths > 0])):
            at = np.flatnonzero(lengths == length)
            some, own = group, addresses
            if len(at) < count:
                some, own = group.some(at, ()), addresses if addresses.ndim == 0 else addresses[at]
            for one in accessed(some, instruction, "global", "read", length, own):
                rows = at if one.at is None else at[one.at]
                data[rows[:, None], np.arange(length)] = one.segment.data[_bytes_at(one)]
        for one in accessed(group, instruction, "shared", "copy", size, target(group)):
            one.segment.data[_bytes_at(one)] = data if one.at is None else data[one.at]

    return step


def _bytes_at(one: Access) -> NDArray[np.int64]:
    return np.broadcast_to(one.flat, (one.active.count,))[:, None] + np.arange(one.size)


def accessed(
    group: Group, instruction: Instruction, space: str, effect: str, size: int, addresses: Values
) -> Iterator[Access]:
    """Yield the accesses of a group's threads, to one array each, checked and counted.

    Those that are not allowed are left out. `space` is empty for generic addresses.
    """
    machine, together = group.machine, group.active

    def noted(segment: Segment, offsets: Values, at: NDArray[np.intp] | None) -> Access:
        active, flat = together if at is None else together.some(at), offsets.view(np.int64)
        if segment.stride:
            flat = (active.blocks if segment.space == "shared" else active.slots) * segment.stride + flat
        access = Access(instruction, effect, size, segment, offsets, flat, active, at)
        machine.note(access)
        return access

    segment, offsets = _segment_at(machine, space, addresses)
    if segment is not None and np.all(segment.contains(offsets, size)):
        yield noted(segment, offsets, None)
        return
    # Addresses of several arrays, or of none.
    addresses = np.broadcast_to(addresses, (together.count,))
    numbers = (addresses + np.uint64(_HALF)) >> np.uint64(ARRAY_SHIFT)
    for number in np.unique(numbers):
        at = np.flatnonzero(numbers == number)
        segment, offsets = _segment_at(machine, space, addresses[at])
        bad = np.ones(len(at), bool) if segment is None else ~segment.contains(offsets, size)
        if bad.any():
            offset, where = int(offsets[bad][0].view(np.int64)), "an address where no array is"
            if segment is not None and offset < 0:
                where = f"{-offset} bytes before the beginning of {segment.name}"
            elif segment is not None:
                where = f"{segment.name} {offset - segment.owner_bytes + 1} bytes or less past its end"
            message = f"a thread {_VERBS.get(instruction.name, 'accesses')} {where}"
            name, slot = "" if segment is None else segment.name, together.slots[at[bad.argmax()]]
            machine.report("outside", (instruction.line,), slot, message, name)
        if segment is not None and not bad.all():
            yield noted(segment, offsets[~bad], at[~bad])


def _segment_at(machine: Machine, space: str, addresses: Values) -> tuple[Segment | None, Values]:
    """Return the memory that the first of some addresses lies in, and how far in it they lie.

    That is an array as far as it lies within 2^39 of its beginning.
    """
    if space in ("shared", "local"):
        # A block, or a thread, has its own: an address counts from its beginning.
        return (machine.shared if space == "shared" else machine.local), addresses
    first = int(addresses if addresses.ndim == 0 else addresses[0])
    if first >= SHARED_WINDOW:
        segment = machine.shared if first < LOCAL_WINDOW else machine.local
    else:
        number = (first + _HALF) >> ARRAY_SHIFT
        segment = machine.segments[number - 1] if 1 <= number <= len(machine.segments) else None
    return segment, addresses - np.uint64(0 if segment is None else segment.base)


MEMORY_STEPS: dict[str, Callable[[Instruction, PtxKernel], Step]] = {
    **dict.fromkeys(("ld", "ldu", "st", "atom", "red"), _access),
    "cp": _copies,
}
