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


CORRELATE = MachineFunction("engine.variants.cpu.serial_code", "correlate_serial")


class Serial:
    """Textbook loops, ready for one problem and mask: one pass, or two with float32 sums between them.

    Each compiled function takes the picture or the sums before, some rows of what it writes, the number of
    the first of these, and arguments of its own. `taps` are the most multiply-adds of a result in a pass.
    """

    workers = 1

    def __init__(
        self,
        problem: Problem,
        taps: int,
        passes: tuple[tuple[MachineFunction, tuple[object, ...]], ...],
        loops: tuple[LoopWork, ...],
    ) -> None:
        self.loops, self._passes = loops, passes
        sums = ["float32"] * (len(passes) - 1)
        self._types = (problem.dtype, *sums, problem.result_dtype)
        multiply_adds_per_row = problem.width * problem.channels * taps
        self._rows_per_call = max(1, MULTIPLY_ADDS_PER_CALL // multiply_adds_per_row)
        # Calls and sums, for each launch that is under way, as several threads may call a plan.
        self._kept: list[tuple[list[Call], tuple[np.ndarray, ...]]] = []

    def compiled(self) -> Self:
        """Return the loops compiled: not within the first launch."""
        self._kept.append((self._new_calls(), ()))
        return self

    def launch(self, image: np.ndarray, out: np.ndarray, stream: object = None) -> None:
        """Filter `image` into `out` on the calling thread."""
        samples, results = (rows.reshape(len(rows), -1) for rows in (image, out))
        try:
            calls, sums = self._kept.pop()
        except IndexError:
            calls, sums = self._new_calls(), ()
        sums = sums or tuple(np.empty(samples.shape, np.float32) for _ in calls[1:])
        for call, source, target in zip(calls, (samples, *sums), (*sums, results), strict=True):
            for first in range(0, len(target), self._rows_per_call):
                call.put(0, source)
                call.put(1, target[first : first + self._rows_per_call])
                call.put(2, first)
                call()
        self._kept.append((calls, sums))

    def _new_calls(self) -> list[Call]:
        pictures = [np.empty((0, 1), kind) for kind in self._types]
        return [
            function.call(source, target, 0, *arguments)
            for (function, arguments), source, target in zip(
                self._passes, pictures[:-1], pictures[1:], strict=True
            )
        ]


def work(problem: Problem, block: Block) -> Work:
    """Return the work: each tap loads a cell (ghost cells cost no load) and a weight."""
    return filter_work(problem, picture_loads=loads_by_taps(problem), weight_loads=problem.multiply_adds)


def prepare(problem: Problem, mask: Mask, block: Block) -> Serial:
    """Return the loops for one problem and mask, compiled."""
    halo = Halo(problem)
    arguments = (
        mask.weights32,
        *(problem.anchor[0], halo.before, halo.outside_rows, halo.outside_samples, problem.channels),
        np.float32(problem.ghost_value),
        np.float32(mask.offset),
        cpu_largest(problem.result_dtype),
    )
    loops = (LoopWork.of_sum(problem.dtype, mask.columns).times(mask.rows),)
    return Serial(problem, mask.taps, ((CORRELATE, arguments),), loops).compiled()


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
