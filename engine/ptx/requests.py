"""Loads and stores, and what every request to memory has: its spelling, its guard, its checks."""

from collections.abc import Callable
from typing import Any

import numpy as np

from engine.ptx.access import Machine
from engine.ptx.active import Active
from engine.ptx.module import Instruction
from engine.ptx.operands import Operands, Step
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
    names = [one.strip() for one in target.strip("{} ").split(",")]
    targets = [operands.register(name, instruction) for name in names]
    widths = [operands.width(one) for one in targets]
    source, _ = operands.address(address)
    if space == "param":
        return _parameter(instruction, targets, widths, dtype)
    size = count * dtype.itemsize
    choose = guarded(instruction, operands)

    def step(values: list[Any], active: Active, machine: Machine) -> None:
        addresses, part, chosen = choose(source, values, active, machine)
        if part is None:
            return
        found = load(machine, instruction, number, space, addresses, dtype, count, size, part)
        for one, width, loaded in zip(targets, widths, found, strict=True):
            wide = extended(loaded, width)
            if chosen is not None:
                old = as_type(values[one], np.dtype(f"u{width}"))
                merged = np.array(np.broadcast_to(old, (active.count,)))
                merged[chosen] = as_type(wide, merged.dtype)
                wide = merged
            values[one] = wide

    return step


def guarded(instruction: Instruction, operands: Operands) -> Callable[..., Any]:
    """Return what chooses the threads whose guard holds, with a source's values for them.

    It returns the values, the threads (None: no thread) and their places (None: all).
    """
    guard = instruction.guard
    if guard is None:
        return lambda source, values, active, machine: (source(values, active, machine), active, None)
    holds = operands.predicate(guard)

    def choose(source: Any, values: list[Any], active: Active, machine: Machine) -> Any:
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

    def step(values: list[Any], active: Active, machine: Machine) -> None:
        _, data = machine.parameters[name.strip()]
        for number, (one, width) in enumerate(zip(targets, widths, strict=True)):
            at = first + number * dtype.itemsize
            values[one] = extended(data[at : at + dtype.itemsize].view(dtype)[0], width)

    return step


def load(
    machine: Machine,
    instruction: Instruction,
    number: int,
    space: str,
    addresses: Values,
    dtype: np.dtype,
    count: int,
    size: int,
    active: Active,
) -> list[Values]:
    """Return what threads load; bytes of ones from outside of every array."""
    places = machine.places(space, addresses, size, active, instruction)
    whole = None
    for place in places:
        check_alignment(machine, instruction, place, size)
        if machine.checks:
            machine.check("read", number, place, size)
        if machine.counted:
            count_request(machine, number, "loads", place, size)
        segment = place.segment
        view = segment.view(dtype)
        at = place.flat // dtype.itemsize if dtype.itemsize > 1 else place.flat
        found = [view[at + part] for part in range(count)]
        if place.chosen is None:
            return found
        if whole is None:
            whole = [np.full(active.count * dtype.itemsize, 0xFF, np.uint8).view(dtype) for _ in range(count)]
        for all_of, some in zip(whole, found, strict=True):
            all_of[place.chosen] = some
    if whole is None:
        whole = [np.full(active.count * dtype.itemsize, 0xFF, np.uint8).view(dtype) for _ in range(count)]
    return whole


def check_alignment(machine: Machine, instruction: Instruction, place: Any, size: int) -> None:
    """Report threads whose address is no multiple of what they access."""
    if size == 1:
        return
    offsets = place.offsets
    low = int(offsets) if offsets.ndim == 0 else int(np.bitwise_or.reduce(offsets))
    if low & (size - 1):
        bad = np.broadcast_to((offsets & np.uint64(size - 1)) != 0, (place.active.count,))
        name = place.segment.name
        message = f"a thread accesses {size} bytes of {name} at an address that is no multiple of {size}"
        machine.report("misaligned", instruction, place.active, bad, message, array=place.segment.name)


def count_request(machine: Machine, number: int, kind: str, place: Any, size: int) -> None:
    """Count the requests of the warps of an access."""
    offsets = place.offsets.view(np.int64)
    if offsets.ndim == 0:
        offsets = np.full(place.active.count, offsets)
    machine.counts.access(number, kind, place.segment, place.active, offsets, size)


def store_step(instruction: Instruction, number: int, operands: Operands) -> Step:
    """Make a store."""
    space, count, dtype = spelled(instruction)
    address, given = instruction.operands[:2]
    source, _ = operands.address(address)
    names = [one.strip() for one in given.strip("{} ").split(",")]
    parts = [operands.source(name, dtype) for name in names]
    size = count * dtype.itemsize
    choose = guarded(instruction, operands)

    def step(values: list[Any], active: Active, machine: Machine) -> None:
        addresses, part, chosen = choose(source, values, active, machine)
        if part is None:
            return
        stored = [one(values, active, machine) for one in parts]
        if chosen is not None:
            stored = [one if one.ndim == 0 else one[chosen] for one in stored]
        for place in machine.places(space, addresses, size, part, instruction):
            check_alignment(machine, instruction, place, size)
            if machine.checks:
                machine.check("write", number, place, size)
            if machine.counted:
                count_request(machine, number, "stores", place, size)
            view = place.segment.view(dtype)
            at = place.flat // dtype.itemsize if dtype.itemsize > 1 else place.flat
            for each, one in enumerate(stored):
                own = one if one.ndim == 0 or place.chosen is None else one[place.chosen]
                # Of several threads that write one place the last one stays.
                view[at + each] = own if np.ndim(at) or own.ndim == 0 else own[-1]

    return step
