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

import numpy as np

from engine.compiled.machine_code import MachineFunction
from engine.device.result_rules import cpu_largest
from engine.geometry.block import Block
from engine.mask.mask import Mask
from engine.results.problem import LoopWork, Work
from engine.run.variant import ON_CPU
from engine.variants.cpu.edges import Halo
from engine.variants.cpu.textbook_loops import TextbookLoops
from engine.work.filtering.problem import Problem
from engine.work.filtering.sum_order import by_rows
from engine.work.filtering.variants import Variant
from engine.work.filtering.work import filter_work, loads_by_taps

CORRELATE = MachineFunction("engine.variants.cpu.serial_code", "correlate_serial")


def work(problem: Problem, block: Block) -> Work:
    """Return the work: each tap loads a cell (ghost cells cost no load) and a weight."""
    return filter_work(problem, picture_loads=loads_by_taps(problem), weight_loads=problem.multiply_adds)


def prepare(problem: Problem, mask: Mask, block: Block) -> TextbookLoops:
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
    return TextbookLoops(problem, mask.taps, ((CORRELATE, arguments),), loops).compiled()


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
