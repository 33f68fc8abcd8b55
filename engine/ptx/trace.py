"""A trace of one block: what each of its steps did, so that a person can go through a kernel line by line.

A step is one instruction of the threads of the block that are together. Nothing of this is in the way of a
run without a trace.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.ptx.active import Active
from engine.ptx.findings import Index3
from engine.ptx.kernel import Registers, Step
from engine.ptx.machine import Machine
from engine.ptx.memory import Place
from engine.ptx.module import Instruction, SourceLine

# All arrays of a trace; what comes behind is not noted.
MOST_BYTES = 1 << 26
# What a step without lanes takes, about.
_STEP_BYTES = 200
_STORES = "st", "red"
_WITHOUT_VALUES = "bra", "brx", "ret", "exit", "bar", "barrier", "membar", "fence", "cp", "prefetch"


@dataclass(frozen=True, slots=True, eq=False)
class TraceStep:
    """What one instruction did for threads of the traced block.

    Parameters
    ----------
    number : int
        Of the instruction in the kernel.
    text : str
        The instruction.
    line : SourceLine
        Where it comes from.
    threads : ndarray of uint16
        The numbers, within the block, of the threads that took part.
    array, space : str
        What it accessed, of an access to memory: "image", "shared memory"; and in which memory.
    addresses : ndarray of int64 or None
        Bytes from the beginning of that, for each of the threads whose access was allowed.
    values : ndarray or None
        What each thread loaded, stored or computed; of vectors with a row for each part.
    """

    number: int
    text: str
    line: SourceLine
    threads: NDArray[np.uint16]
    array: str = ""
    space: str = ""
    addresses: NDArray[np.int64] | None = None
    values: np.ndarray | None = None


class Tracer:
    """Notes the steps of one block."""

    def __init__(self, block: Index3) -> None:
        self._block = block
        self.steps: list[TraceStep] = []
        self.is_whole = True
        self._bytes = 0

    def run(
        self,
        number: int,
        step: Step | None,
        values: Registers,
        active: Active,
        machine: "TracedMachine",
    ) -> None:
        """Do a step, None for what ends a basic block, and note it."""
        instruction = machine.kernel.instructions[number]
        chosen = active.blocks == machine.number_of(self._block)
        if instruction.guard is not None:
            guard = values[machine.kernel.registers[instruction.guard.register]]
            chosen = chosen & (guard != instruction.guard.negated)
        stored = None if instruction.name not in _STORES else _values(instruction, 1, values, active, machine)
        machine.seen.clear()
        if step is not None:
            step(values, active, machine)
        if not self.is_whole or not chosen.any():
            return
        at = np.flatnonzero(chosen)
        threads = (active.slots[at] % active.row).astype(np.uint16)
        found = stored
        if found is None and instruction.name not in _WITHOUT_VALUES:
            found = _values(instruction, 0, values, active, machine)
        kept = None if found is None else np.ascontiguousarray(found[..., at])
        parts = [
            TraceStep(number, instruction.text, instruction.line, *one)
            for one in _accesses(machine, self._block, active, at, threads, kept)
        ] or [TraceStep(number, instruction.text, instruction.line, threads, values=kept)]
        self._bytes += sum(_size(one) for one in parts)
        if self._bytes > MOST_BYTES:
            self.is_whole = False
        else:
            self.steps += parts


class TracedMachine(Machine):
    """A machine that remembers where the accesses of the last step went."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self.seen: list[Place] = []

    def number_of(self, block: Index3) -> int:
        """Return the number of a block in the chunk that runs; -1 where it is not in it."""
        found = np.flatnonzero((self.blocks == block).all(1))
        return int(found[0]) if len(found) else -1

    def places(
        self, space: str, addresses: Any, size: int, active: Active, instruction: Instruction
    ) -> list[Place]:
        """Return where accesses go, and remember it."""
        found = super().places(space, addresses, size, active, instruction)
        self.seen += found
        return found


def _accesses(
    machine: TracedMachine,
    block: Index3,
    active: Active,
    at: NDArray[np.intp],
    threads: NDArray[np.uint16],
    values: np.ndarray | None,
) -> list[tuple[Any, ...]]:
    """Return threads, array, space, addresses and values of each access of a step."""
    found = []
    slots = active.slots[at]
    for place in machine.seen:
        there = np.isin(place.active.slots, slots)
        if not there.any():
            continue
        own = np.isin(slots, place.active.slots)
        offsets = np.broadcast_to(place.offsets, (place.active.count,))[there].astype(np.int64)
        segment = place.segment
        part = None if values is None else values[..., own]
        found.append((threads[own], segment.name, segment.space, offsets, part))
    return found


def _values(
    instruction: Instruction, operand: int, values: Registers, active: Active, machine: Machine
) -> np.ndarray | None:
    """Return what the registers of an operand hold for each thread; None for a number."""
    if len(instruction.operands) <= operand:
        return None
    registers = machine.kernel.registers_in(instruction.operands[operand])
    if not registers:
        return None
    parts = [np.broadcast_to(values[one], (active.count,)) for one in registers]
    return parts[0] if len(parts) == 1 else np.stack(parts)


def _size(step: TraceStep) -> int:
    arrays = step.threads, step.addresses, step.values
    return _STEP_BYTES + sum(one.nbytes for one in arrays if one is not None)
