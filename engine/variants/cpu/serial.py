"""`cpu-serial`: one thread, the textbook loops. The baseline of every course.

Idea
    For each pixel and mask cell: look the source pixel up, multiply, add. Where the mask reaches over the
    edge of the picture, each cell is looked up by the border's rule; inside, the loop over a mask row has no
    question in it. No tiles, threads, fast-math or vectors by hand, on purpose. It takes as long as the same
    loops in C do with `gcc -O2` (0.8 to 1.1 times; `python -m bench.serial_baselines` measures it where a
    compiler is), so a speed-up over it is one over a plain C program.
Limit
    One multiply-add at a time, each with its own load; only the CPU's caches help.
What the compiler makes of it
    One scalar multiplication and addition per tap (`vmulss`, `vaddss`): a partial sum is one chain of
    additions, which may not be reordered or fused without fast-math. The processor works on several such
    chains at once: a tap takes 0.4 ns.
Ctrl+C
    Python looks for it between compiled calls, so long loops are called for a few rows at a time.

The sum is formed as everywhere in Haloscope: one float32 partial sum per mask row, then their sum, so that
large masks lose far less to rounding than with one long sum. A result of 8 or 16 bit is that sum with the
offset, saturated and rounded half to even.

Source: Drexel ECEC-622, CUDA assignment 3, formula C(i, j); its serial reference.
"""

from typing import Self

import numpy as np

from engine.compiled.machine_code import Call, MachineFunction
from engine.device.result_rules import cpu_largest
from engine.geometry.block import Block
from engine.mask.mask import Mask
from engine.results.work import LoopWork, Work
from engine.run.variant import ON_CPU
from engine.variants.cpu.edges import Halo
from engine.work.filtering.problem import Problem
from engine.work.filtering.sum_order import by_rows
from engine.work.filtering.variants import Variant
from engine.work.filtering.work import filter_work, loads_by_taps

# 0.04 s, on a slow machine 0.2 s: the longest wait for Ctrl+C (one row of a very wide picture excepted).
MULTIPLY_ADDS_PER_CALL = 100_000_000


class Serial:
    """The loops, ready for one problem and mask."""

    function = MachineFunction("engine.variants.cpu.serial_code", "correlate_serial")

    workers = 1

    def __init__(self, problem: Problem, mask: Mask) -> None:
        self.loops = (LoopWork.of_sum(problem.dtype, mask.columns).times(mask.rows),)
        halo = Halo(problem)
        self._types = problem.dtype, problem.result_dtype
        self._arguments = (
            mask.weights32,
            *(problem.anchor[0], halo.before, halo.outside_rows, halo.outside_samples, problem.channels),
            np.float32(problem.ghost_value),
            np.float32(mask.offset),
            cpu_largest(problem.result_dtype),
        )
        multiply_adds_per_row = problem.width * problem.channels * mask.taps
        self._rows_per_call = max(1, MULTIPLY_ADDS_PER_CALL // multiply_adds_per_row)
        # One for each launch that is under way, as several threads may call a plan.
        self._calls: list[Call] = []

    def compiled(self) -> Self:
        """Return the loops compiled: not within the first launch."""
        self._calls.append(self._new_call())
        return self

    def launch(self, image: np.ndarray, out: np.ndarray, stream: object = None) -> None:
        """Filter `image` into `out` on the calling thread."""
        samples, results = (rows.reshape(len(rows), -1) for rows in (image, out))
        try:
            call = self._calls.pop()
        except IndexError:
            call = self._new_call()
        for first in range(0, len(out), self._rows_per_call):
            call.put(0, samples)
            call.put(1, results[first : first + self._rows_per_call])
            call.put(2, first)
            call()
        self._calls.append(call)

    def _new_call(self) -> Call:
        samples, results = (np.empty((0, 1), kind) for kind in self._types)
        return self.function.call(samples, results, 0, *self._arguments)


def work(problem: Problem, block: Block) -> Work:
    """Return the work: each tap loads a cell (ghost cells cost no load) and a weight."""
    return filter_work(problem, picture_loads=loads_by_taps(problem), weight_loads=problem.multiply_adds)


def prepare(problem: Problem, mask: Mask, block: Block) -> Serial:
    """Return the loops for one problem and mask, compiled."""
    return Serial(problem, mask).compiled()


VARIANT = Variant(
    **ON_CPU,
    key="cpu-serial",
    title="CPU, one thread",
    idea="The textbook loops on one thread, as fast as in C (gcc -O2): one multiply-add for each pixel and "
    "mask cell. The baseline.",
    work=work,
    prepare=prepare,
    sum_order=lambda problem, mask: by_rows(mask.columns, is_fused=False),
    integer_output=True,
)
