"""Barriers of blocks: which threads wait where, what `bar.red` tells them, and who never comes."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from engine.ptx.active import Active
from engine.ptx.module import Instruction

if TYPE_CHECKING:
    from engine.ptx.access import Machine

Waiting = Mapping[int, list[Active]]
"""The threads that wait, by the number of the basic block in which they go on."""


def release(machine: "Machine", waiting: Waiting) -> None:
    """Let the threads that wait at barriers go on, and say where some of a block do not come."""
    threads = machine.block[0] * machine.block[1] * machine.block[2]
    total = np.zeros(len(machine.blocks), np.int64)
    barrier_of = np.full(len(machine.blocks), -1)
    for number, groups in waiting.items():
        end = machine.kernel.flow.blocks[number - 1].end
        assert end is not None
        for active in groups:
            machine.counts.waited(active)
            here = np.bincount(active.blocks, minlength=len(total))
            # Of a part of the block: its number of threads is the barrier's second operand.
            is_partial = len(end.operands) > (3 if "red" in end.modifiers else 1)
            total += threads if is_partial else here
            if machine.checks and not is_partial:
                _meet(machine, end, here, barrier_of, number)
    if machine.checks:
        _missing(machine, waiting, total, threads)
    machine.moment += 1
    for segment in (machine.shared, *machine.memory.segments):
        if segment is not None and segment.hazards is not None:
            segment.hazards.begin_interval()


def _meet(
    machine: "Machine", end: Instruction, here: np.ndarray, barrier_of: np.ndarray, number: int
) -> None:
    """Report blocks whose threads wait at barriers of different lines."""
    blocks = machine.kernel.flow.blocks
    for block in np.flatnonzero(here):
        other = barrier_of[block]
        if other >= 0:
            first = blocks[other - 1].end
            assert first is not None
            if first.line != end.line:
                message = "threads of one block wait at two different barriers"
                machine.tell("barrier", (first.line, end.line), message, int(block), -1)
        barrier_of[block] = number


def _missing(machine: "Machine", waiting: Waiting, total: np.ndarray, threads: int) -> None:
    for block in np.flatnonzero((total > 0) & (total < threads)):
        for number, groups in waiting.items():
            end = machine.kernel.flow.blocks[number - 1].end
            slots = np.concatenate([one.slots[one.blocks == block] for one in groups])
            if end is None or not len(slots):
                continue
            absent = np.setdiff1d(np.arange(threads), slots - block * machine.row)
            message = (
                f"{threads - int(total[block])} of {threads} threads of a block never come to the barrier"
            )
            machine.tell("barrier", (end.line,), message, int(block), int(absent[0]))
            break
