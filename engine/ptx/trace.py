"""A trace of one block: what each of its steps did, so that a person can go through a kernel line by line.

A step is one instruction of the threads of the block that are together. Nothing of this is in the way of a
run without a trace.
"""

from dataclasses import dataclass, replace
from functools import partial
from itertools import zip_longest

import numpy as np
from numpy.typing import NDArray

from engine.ptx.findings import Index3
from engine.ptx.group import Group, Step
from engine.ptx.machine import Machine
from engine.ptx.memory import Access
from engine.ptx.module import Instruction, SourceLine
from engine.ptx.program import Program

# All arrays of a trace; what comes behind is not noted.
MOST_BYTES = 1 << 26
# What a step without lanes takes, about.
_STEP_BYTES = 200
_STORES = "st", "red"


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
    """Notes the steps of one block; None: of none."""

    def __init__(self, machine: Machine, block: Index3 | None) -> None:
        self._machine, self._block = machine, block
        self.steps: list[TraceStep] = []
        self.is_whole = True
        self._bytes = 0
        self._accesses: list[Access] = []
        if block is not None:
            # Nothing that the machine refers to refers to it: its memory goes at once.
            machine.observers.append(self._accesses.append)

    def traced(self, program: Program) -> Program:
        """Return the steps of a kernel as steps that are noted, with what ends each basic block."""
        if self._block is None:
            return program
        return [
            ([partial(self._run, *pair) for pair in zip_longest(block.shown, steps)], leave)
            for block, (steps, leave) in zip(self._machine.kernel.blocks, program, strict=True)
        ]

    def _run(self, instruction: Instruction, step: Step | None, group: Group) -> None:
        machine, values, active = group.machine, group.values, group.active
        kernel = machine.kernel
        chosen = (machine.blocks == self._block).all(1)[active.blocks]

        def held(operand: int) -> np.ndarray | None:
            """Return what the registers of an operand hold for each thread; None for a number."""
            texts = instruction.operands[operand : operand + 1]
            registers = [one for text in texts for one in kernel.registers_in(text)]
            parts = [np.broadcast_to(values[one], (active.count,)) for one in registers]
            return None if not parts else parts[0] if len(parts) == 1 else np.stack(parts)

        is_store = instruction.name in _STORES
        found = held(1) if is_store else None
        self._accesses.clear()
        if step is not None:
            step(group)
        if not self.is_whole or not chosen.any():
            return
        if step is not None and kernel.written_by(instruction):
            found = held(0)
        own = active.slots[chosen]
        parts, accesses = [], [one for one in self._accesses if np.isin(one.active.slots, own).any()]
        for access in accesses or (None,):
            slots = own if access is None else np.intersect1d(own, access.active.slots)
            part = TraceStep(
                instruction.number,
                instruction.text,
                instruction.line,
                (slots % active.row).astype(np.uint16),
                values=None if found is None else found[..., np.searchsorted(active.slots, slots)],
            )
            if access is not None:
                offsets = np.broadcast_to(access.offsets, (access.active.count,)).astype(np.int64)
                addresses = offsets[np.searchsorted(access.active.slots, slots)]
                name, space = access.segment.name, access.segment.space
                part = replace(part, array=name, space=space, addresses=addresses)
            parts.append(part)
        arrays = [one for part in parts for one in (part.threads, part.addresses, part.values)]
        self._bytes += _STEP_BYTES * len(parts) + sum(one.nbytes for one in arrays if one is not None)
        if self._bytes > MOST_BYTES:
            self.is_whole = False
        else:
            self.steps += parts
