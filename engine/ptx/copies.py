"""Asynchronous copies from global to shared memory: `cp.async`, its groups, and waiting for them."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.ptx.access import Machine
from engine.ptx.active import Active
from engine.ptx.module import Instruction
from engine.ptx.operands import Operands, Registers, Step
from engine.ptx.pending_copies import PendingCopies
from engine.ptx.requests import check_alignment, count_request, guarded
from engine.ptx.spelling import unknown

_U32 = np.dtype(np.uint32)


def copy_step(instruction: Instruction, number: int, operands: Operands) -> Step:
    """Make a `cp.async`, or what closes a group of them or waits."""
    words = instruction.modifiers
    if words[:1] != ("async",) or "bulk" in words or "mbarrier" in words:
        raise unknown(instruction)
    if "commit_group" in words:
        return _close
    if "wait_group" in words or "wait_all" in words:
        left = int(instruction.operands[0], 0) if "wait_group" in words else -1

        def wait(values: Registers, active: Active, machine: Machine) -> None:
            if machine.copies is not None and machine.checks:
                for copy in machine.copies.waited(active, left):
                    machine.check("arrive", copy.number, copy.place, copy.size)

        return wait
    return _copy(instruction, number, operands)


def _close(values: Registers, active: Active, machine: Machine) -> None:
    if machine.copies is not None:
        machine.copies.closed[active.slots] += 1


def _copy(instruction: Instruction, number: int, operands: Operands) -> Step:
    target_text, source_text, size_text, *rest = instruction.operands
    if rest and (rest[0].startswith("!") or len(rest) > 1):
        raise unknown(instruction)
    size = int(size_text, 0)
    target, _ = operands.address(target_text)
    source, _ = operands.address(source_text)
    taken = operands.source(rest[0], _U32) if rest else None
    choose = guarded(instruction, operands)

    def step(values: Registers, active: Active, machine: Machine) -> None:
        from_, part, chosen = choose(source, values, active, machine)
        if part is None:
            return
        to, _, _ = choose(target, values, active, machine)
        lengths = np.full(part.count, size)
        if taken is not None:
            found = taken(values, active, machine)
            found = found if chosen is None or found.ndim == 0 else found[chosen]
            lengths = np.minimum(np.broadcast_to(found, (part.count,)).astype(np.int64), size)
        data = _read(machine, instruction, number, from_, part, lengths, size)
        if machine.copies is None:
            machine.copies = PendingCopies(len(machine.blocks) * machine.row)
        for place in machine.places("shared", to, size, part, instruction):
            check_alignment(machine, instruction, place, size)
            if machine.checks:
                machine.check("copy", number, place, size)
                machine.copies.begin(number, place, size)
            if machine.counted:
                count_request(machine, number, "copies", place, size)
            flat = np.broadcast_to(place.flat, (place.active.count,))
            own = data if place.chosen is None else data[place.chosen]
            place.segment.data[flat[:, None] + np.arange(size)] = own

    return step


def _read(
    machine: Machine,
    instruction: Instruction,
    number: int,
    addresses: Any,
    active: Active,
    lengths: NDArray[np.int64],
    size: int,
) -> NDArray[np.uint8]:
    """Return the bytes that threads copy; zeros behind what each takes."""
    data = np.zeros((active.count, size), np.uint8)
    for length in np.unique(lengths[lengths > 0]):
        takers = np.flatnonzero(lengths == length)
        part = active if len(takers) == active.count else active.some(takers)
        own = addresses if addresses.ndim == 0 else addresses[takers]
        for place in machine.places("global", own, int(length), part, instruction):
            # What it takes may be shorter than what is aligned.
            if length == size:
                check_alignment(machine, instruction, place, size)
            if machine.checks and not length % (1 << place.segment.granule):
                machine.check("read", number, place, int(length))
            if machine.counted:
                count_request(machine, number, "copies", place, int(length))
            flat = np.broadcast_to(place.flat, (place.active.count,))
            rows = takers if place.chosen is None else takers[place.chosen]
            data[rows[:, None], np.arange(int(length))] = place.segment.data[
                flat[:, None] + np.arange(int(length))
            ]
    return data
