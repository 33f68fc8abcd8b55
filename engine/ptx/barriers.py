"""Barriers of blocks: which threads wait where, and who never comes."""

from collections.abc import Mapping

import numpy as np

from engine.ptx.group import Group
from engine.ptx.machine import Machine
from engine.ptx.module import Instruction

Waiting = Mapping[int, list[Group]]
"""The threads that wait, by the number of the basic block in which they go on."""


def release(machine: Machine, waiting: Waiting) -> None:
    """Let the threads that wait at barriers go on, and say where some of a block do not come."""
    total = np.zeros(len(machine.blocks), np.int64)
    barrier_of: dict[int, Instruction] = {}
    for number, groups in waiting.items():
        end = machine.kernel.blocks[number - 1].end
        assert end is not None
        # Of a part of the block: its number of threads is the barrier's second operand.
        is_partial = len(end.operands) > (3 if "red" in end.modifiers else 1)
        for active in (one.active for one in groups):
            machine.counts.waited(active)
            here = np.bincount(active.blocks, minlength=len(total))
            total += machine.threads if is_partial else here
            if not machine.checks or is_partial:
                continue
            for block in map(int, np.flatnonzero(here)):
                other = barrier_of.get(block, end)
                if other.line != end.line:
                    message = "threads of one block wait at two different barriers"
                    slots = np.array([block * machine.row])
                    machine.report("barrier", (other.line, end.line), slots, message)
                barrier_of[block] = end
    if machine.checks:
        for block in map(int, np.flatnonzero((total > 0) & (total < machine.threads))):
            _tell_missing(machine, waiting, block, machine.threads - int(total[block]))
    machine.pass_barrier()
    for number, groups in waiting.items():
        end = machine.kernel.blocks[number - 1].end
        if end is not None and "red" in end.modifiers:
            _reduce(end, machine.kernel.registers[end.operands[0]], groups)


def _reduce(end: Instruction, register: int, groups: list[Group]) -> None:
    """Give threads that waited at a `bar.red` what their block has together."""
    of = np.concatenate([one.active.blocks for one in groups])
    holds = np.concatenate([np.broadcast_to(one.values[register], one.active.count) for one in groups])
    there, yes = np.bincount(of), np.bincount(of, weights=holds)
    known = {"popc": yes.astype(np.uint32), "and": yes == there, "or": yes > 0}
    for one in groups:
        one.values[register] = known[end.first_of(*known)][one.active.blocks]


def _tell_missing(machine: Machine, waiting: Waiting, block: int, missing: int) -> None:
    """Report threads of a block that do not come to the first of the barriers where others wait."""
    for number, groups in waiting.items():
        end = machine.kernel.blocks[number - 1].end
        slots = np.concatenate([one.active.slots[one.active.blocks == block] for one in groups])
        if end is not None and len(slots):
            absent = np.setdiff1d(np.arange(machine.threads), slots - block * machine.row)
            message = f"{missing} of {machine.threads} threads of a block never come to the barrier"
            machine.report("barrier", (end.line,), absent[:1] + block * machine.row, message)
            return
