"""Asynchronous copies from global to shared memory (`cp.async`): their groups, and who has waited for them."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from engine.ptx.active import Active
from engine.ptx.memory import Place
from engine.ptx.module import Instruction
from engine.ptx.operands import Operands
from engine.ptx.requests import check_alignment, count_request, guarded
from engine.ptx.semantics import unknown

if TYPE_CHECKING:
    from engine.ptx.access import Machine
    from engine.ptx.program import Step

_U32 = np.dtype(np.uint32)


@dataclass(eq=False)
class _Copy:
    """Copies of several threads that one instruction began, and the group of each."""

    number: int
    place: Place
    size: int
    groups: NDArray[np.int64]


class Copies:
    """The copies of a chunk that no thread has waited for yet."""

    def __init__(self, slots: int) -> None:
        # How many groups each thread has closed.
        self.closed = np.zeros(slots, np.int64)
        self._open: list[_Copy] = []

    def begin(self, number: int, place: Place, size: int) -> None:
        """Note copies that have begun."""
        self._open.append(_Copy(number, place, size, self.closed[place.active.slots]))

    def wait(self, machine: "Machine", active: Active, left: int) -> None:
        """Let threads wait until at most `left` of their closed groups are under way; below 0: for all."""
        limit = np.full(len(self.closed), -1, np.int64)
        limit[active.slots] = self.closed[active.slots] - left
        still = []
        for copy in self._open:
            is_done = copy.groups < limit[copy.place.active.slots]
            if is_done.any():
                machine.check("arrive", copy.number, _some(copy.place, np.flatnonzero(is_done)), copy.size)
            if not is_done.all():
                rest = np.flatnonzero(~is_done)
                still.append(_Copy(copy.number, _some(copy.place, rest), copy.size, copy.groups[rest]))
        self._open = still


def _some(place: Place, chosen: NDArray[np.intp]) -> Place:
    offsets = place.offsets if place.offsets.ndim == 0 else place.offsets[chosen]
    flat = place.flat if place.flat.ndim == 0 else place.flat[chosen]
    return Place(place.segment, offsets, flat, place.active.some(chosen), None)


def copy_step(instruction: Instruction, number: int, operands: Operands) -> "Step":
    """Make a `cp.async`, or what closes a group of them or waits."""
    words = instruction.modifiers
    if words[:1] != ("async",) or "bulk" in words or "mbarrier" in words:
        raise unknown(instruction)
    if "commit_group" in words:
        return _close
    if "wait_group" in words or "wait_all" in words:
        left = int(instruction.operands[0], 0) if "wait_group" in words else -1

        def wait(values: list[Any], active: Active, machine: "Machine") -> None:
            if machine.copies is not None and machine.checks:
                machine.copies.wait(machine, active, left)

        return wait
    return _copy(instruction, number, operands)


def _close(values: list[Any], active: Active, machine: "Machine") -> None:
    if machine.copies is not None:
        machine.copies.closed[active.slots] += 1


def _copy(instruction: Instruction, number: int, operands: Operands) -> "Step":
    target_text, source_text, size_text, *rest = instruction.operands
    if rest and (rest[0].startswith("!") or len(rest) > 1):
        raise unknown(instruction)
    size = int(size_text, 0)
    target, _ = operands.address(target_text)
    source, _ = operands.address(source_text)
    taken = operands.source(rest[0], _U32) if rest else None
    choose = guarded(instruction, operands)

    def step(values: list[Any], active: Active, machine: "Machine") -> None:
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
            machine.copies = Copies(len(machine.blocks) * machine.row)
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
    machine: "Machine",
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
