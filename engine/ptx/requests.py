"""Loads and stores, and what every request to memory has: its spelling, its guard, its checks."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from engine.ptx.access import Machine
from engine.ptx.active import Active
from engine.ptx.memory import Place
from engine.ptx.module import Instruction, listed
from engine.ptx.operands import Operands, Registers, Step
from engine.ptx.spelling import unknown
from engine.ptx.types import DTYPES, Values, as_type, extended

SPACES = "global", "shared", "local", "const", "param"
# How caches treat an access, and who sees it when: without effect on one launch alone.
_WITHOUT_EFFECT = {
    *("nc", "ca", "cg", "cs", "lu", "cv", "wb", "wt", "volatile", "relaxed", "acquire", "release", "weak"),
    *("cta", "gpu", "sys", "cluster", "shared::cta", "mmio"),
}


def spelled(instruction: Instruction) -> tuple[str, int, np.dtype]:
    """Return the memory ("" for a generic address), how many values at once, and their type."""
    *words, kind = instruction.modifiers
    if kind not in DTYPES:
        raise unknown(instruction)
    space, count = "", 1
    for word in words:
        plain = word.partition("::")[0]
        if plain in SPACES:
            space = plain
        elif word in ("v2", "v4"):
            count = int(word[1])
        elif word not in _WITHOUT_EFFECT and plain not in ("L1", "L2", "level"):
            raise unknown(instruction)
    return space, count, DTYPES[kind]


def load_step(instruction: Instruction, number: int, operands: Operands) -> Step:
    """Make a load."""
    space, count, dtype = spelled(instruction)
    target, address = instruction.operands[:2]
    targets = [operands.register(name, instruction) for name in listed(target)]
    widths = [operands.width(one) for one in targets]
    source, _ = operands.address(address)
    if space == "param":
        return _parameter(instruction, targets, widths, dtype)
    size = count * dtype.itemsize
    choose = guarded(instruction, operands)

    def step(values: Registers, active: Active, machine: Machine) -> None:
        addresses, part, chosen = choose(source, values, active, machine)
        if part is None:
            return
        places = accessed(machine, instruction, number, "loads", space, addresses, size, part)
        found = loaded(places, dtype, count, part)
        for at, width, one in zip(targets, widths, found, strict=True):
            put(values, at, one, width, active, chosen)

    return step


def guarded(instruction: Instruction, operands: Operands) -> Callable[..., Any]:
    """Return what chooses the threads whose guard holds, with a source's values for them.

    It returns the values, the threads (None: no thread) and their places (None: all).
    """
    guard = instruction.guard
    if guard is None:
        return lambda source, values, active, machine: (source(values, active, machine), active, None)
    holds = operands.predicate(guard)

    def choose(source: Any, values: Registers, active: Active, machine: Machine) -> Any:
        condition = holds(values, active, machine)
        if condition.ndim == 0:
            return (source(values, active, machine), active if condition else None, None)
        chosen = np.flatnonzero(condition)
        if not len(chosen):
            return None, None, None
        found = source(values, active, machine)
        if len(chosen) == active.count:
            return found, active, None
        return found if found.ndim == 0 else found[chosen], active.some(chosen), chosen

    return choose


def _parameter(instruction: Instruction, targets: list[int], widths: list[int], dtype: np.dtype) -> Step:
    name, _, by = instruction.operands[1].strip("[] ").partition("+")
    first = int(by or 0)

    def step(values: Registers, active: Active, machine: Machine) -> None:
        _, data = machine.parameters[name.strip()]
        for number, (one, width) in enumerate(zip(targets, widths, strict=True)):
            at = first + number * dtype.itemsize
            values[one] = extended(data[at : at + dtype.itemsize].view(dtype)[0], width)

    return step


def accessed(
    machine: Machine,
    instruction: Instruction,
    number: int,
    kind: str,
    space: str,
    addresses: Values,
    size: int,
    active: Active,
    **checked: bool,
) -> Iterator[Place]:
    """Return where threads access memory, each place checked and counted: loads, stores or atomics."""
    for place in machine.places(space, addresses, size, active, instruction):
        check_alignment(machine, instruction, place, size)
        if machine.checks:
            machine.check("read" if kind == "loads" else "write", number, place, size, **checked)
        if machine.counted:
            count_request(machine, number, kind, place, size)
        yield place


def loaded(places: Iterable[Place], dtype: np.dtype, count: int, active: Active) -> list[Values]:
    """Return what threads load; bytes of ones from outside of every array."""
    whole: list[Values] = []
    for place in places:
        view, at = place.segment.view(dtype), place.flat // dtype.itemsize
        found = [view[at + part] for part in range(count)]
        if place.chosen is None:
            return found
        whole = whole or _ones(dtype, count, active)
        for all_of, some in zip(whole, found, strict=True):
            all_of[place.chosen] = some
    return whole or _ones(dtype, count, active)


def _ones(dtype: np.dtype, count: int, active: Active) -> list[Values]:
    return [np.full(active.count * dtype.itemsize, 0xFF, np.uint8).view(dtype) for _ in range(count)]


def put(values: Registers, at: int, found: Values, width: int, active: Active, chosen: Any) -> None:
    """Write what the chosen ones of these threads have got into their register, as wide as that is."""
    wide = extended(found, width)
    if chosen is not None:
        merged = np.array(np.broadcast_to(as_type(values[at], np.dtype(f"u{width}")), (active.count,)))
        merged[chosen] = as_type(wide, merged.dtype)
        wide = merged
    values[at] = wide


def check_alignment(machine: Machine, instruction: Instruction, place: Place, size: int) -> None:
    """Report threads whose address is no multiple of what they access."""
    offsets = place.offsets
    if size == 1 or not np.bitwise_or.reduce(offsets, axis=None) & np.uint64(size - 1):
        return
    bad = np.broadcast_to((offsets & np.uint64(size - 1)) != 0, (place.active.count,))
    name = place.segment.name
    message = f"a thread accesses {size} bytes of {name} at an address that is no multiple of {size}"
    machine.report("misaligned", instruction, place.active, bad, message, array=name)


def count_request(machine: Machine, number: int, kind: str, place: Place, size: int) -> None:
    """Count the requests of the warps of an access."""
    offsets = np.broadcast_to(place.offsets.view(np.int64), (place.active.count,))
    machine.counts.access(number, kind, place.segment, place.active, offsets, size)


def store_step(instruction: Instruction, number: int, operands: Operands) -> Step:
    """Make a store."""
    space, count, dtype = spelled(instruction)
    address, given = instruction.operands[:2]
    source, _ = operands.address(address)
    parts = [operands.source(name, dtype) for name in listed(given)]
    size = count * dtype.itemsize
    choose = guarded(instruction, operands)

    def step(values: Registers, active: Active, machine: Machine) -> None:
        addresses, part, chosen = choose(source, values, active, machine)
        if part is None:
            return
        stored = [one(values, active, machine) for one in parts]
        if chosen is not None:
            stored = [one if one.ndim == 0 else one[chosen] for one in stored]
        for place in accessed(machine, instruction, number, "stores", space, addresses, size, part):
            view, at = place.segment.view(dtype), place.flat // dtype.itemsize
            for each, one in enumerate(stored):
                own = one if one.ndim == 0 or place.chosen is None else one[place.chosen]
                # Of several threads that write one place the last one stays.
                view[at + each] = own if np.ndim(at) or own.ndim == 0 else own[-1]

    return step
