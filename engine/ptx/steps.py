"""Which step each instruction becomes that is more than values: requests, copies, exchanges, fences."""

from collections.abc import Callable
from typing import Any

from engine.ptx.access import Machine
from engine.ptx.active import Active
from engine.ptx.atomics import atomic_step
from engine.ptx.copies import copy_step
from engine.ptx.module import Instruction
from engine.ptx.operands import Operands, Step
from engine.ptx.requests import load_step, store_step
from engine.ptx.warp import WARP_STEPS


def _nothing(instruction: Instruction, number: int, operands: Operands) -> Step:
    """Make what orders accesses only as other threads see them, or asks for a line ahead."""
    return lambda values, active, machine: None


def _warp_barrier(instruction: Instruction, number: int, operands: Operands) -> Step:
    """Make `bar.warp.sync`; barriers of the block end a basic block."""

    def step(values: list[Any], active: Active, machine: Machine) -> None:
        warps = active.slots[active.starts(5)] >> 5
        machine.warp_moments[warps] += 1

    return step


STEPS: dict[str, Callable[[Instruction, int, Operands], Step]] = {
    "ld": load_step,
    "ldu": load_step,
    "st": store_step,
    "membar": _nothing,
    "fence": _nothing,
    "prefetch": _nothing,
    "prefetchu": _nothing,
    "nanosleep": _nothing,
    "bar": _warp_barrier,
    "atom": atomic_step,
    "red": atomic_step,
    "cp": copy_step,
    **WARP_STEPS,
}
