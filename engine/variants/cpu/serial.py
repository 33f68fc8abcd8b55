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

import itertools
from functools import partial

import numpy as np

from engine.compiled.entry_point import entry_point
from engine.compiled.late_names import late_njit
from engine.compiled.machine_code import Call, MachineFunction
from engine.device.result_rules import cpu_largest, cpu_result
from engine.geometry.block import Block
from engine.mask.mask import Mask
from engine.results.problem import LoopWork
from engine.run.variant import ON_CPU
from engine.variants import mask_classes
from engine.variants.cpu.banded_filter import Halo, source_row, source_sample
from engine.variants.mask_classes import RANK_1, line_of_taps, loads_along, required_factors, two_pass_work
from engine.work.filtering.sum_order import by_rows
from engine.work.filtering.variants import Variant, filter_work, loads_by_taps
from engine.work.problem import Problem

CORRELATE = MachineFunction(__name__, "correlate_serial")
# 0.04 s, on a slow machine 0.2 s: the longest wait for Ctrl+C (one row of a very wide picture excepted).
MULTIPLY_ADDS_PER_CALL = 100_000_000


class TextbookLoops:
    """Loops, ready for one problem and mask: one pass, or two with float32 sums between them.

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
        # Calls, compiled now, and sums, for each launch that is under way: several threads may call a plan.
        self._kept: list[tuple[list[Call], tuple[np.ndarray, ...]]] = [(self._new_calls(), ())]

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
        passes = zip(self._passes, itertools.pairwise(pictures), strict=True)
        return [function.call(*two, 0, *arguments) for (function, arguments), two in passes]


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
    return TextbookLoops(problem, mask.taps, ((CORRELATE, arguments),), loops)


def correlate_serial(
    image, out, first_row, weights, anchor_row, before, outside_rows, outside_samples, channels, ghost_value,
    offset, largest,
):  # fmt: skip
    """Correlate, result by result.

    `image` is (H, W x C); `out` may be some rows of the result, of which `first_row` is the number of the
    first one. What lies beyond the picture is as in `Halo`, the rest as in every filter kernel and in
    `cpu_result`.
    """
    entry_point()
    height, samples = image.shape
    for row in range(out.shape[0]):
        for sample in range(samples):
            total = np.float32(0.0)
            for m in range(weights.shape[0]):
                source = source_row(first_row + row + m - anchor_row, height, outside_rows, anchor_row)
                total += sum_along(
                    image, source, sample, weights, m, before, outside_samples, channels, ghost_value
                )
            out[row, sample] = cpu_result(total + offset, largest)


# A call takes longer than the sum.
@late_njit(inline="always")
def sum_along(image, row, sample, weights, m, before, outside_samples, channels, ghost_value):
    """Return the sum along a row of the picture, with row `m` of the weights; -1 is a row of ghost cells.

    Two things make this as fast as what a C compiler makes of the same loop. Indices are unsigned: of each
    signed one Numba asks whether it counts from the end. And the loop inside the picture steps by `channels`:
    LLVM cannot tell beforehand how often it runs, and so does not put eight taps into a round, which takes
    more registers than there are.
    """
    samples, taps = image.shape[1], weights.shape[1]
    first = sample - before
    end = first + taps * channels
    total = np.float32(0.0)
    if row >= 0 and first >= 0 and end - channels < samples:
        n, at = 0, first
        while at < end:
            total += np.float32(image[np.uintp(row), np.uintp(at)]) * weights[np.uintp(m), np.uintp(n)]
            n, at = n + 1, at + channels
    else:
        for n in range(taps):
            source = source_sample(first + n * channels, samples, outside_samples, before)
            value = ghost_value
            if row >= 0 and source >= 0:
                value = np.float32(image[np.uintp(row), np.uintp(source)])
            total += value * weights[np.uintp(m), np.uintp(n)]
    return total


VARIANT = Variant(
    **ON_CPU,
    key="cpu-serial",
    title="CPU, one thread",
    idea="The textbook loops on one thread, as fast as in C (gcc -O2): one multiply-add for each pixel and "
    "mask cell. The baseline.",
    # Each tap loads a cell (ghost cells cost no load) and a weight.
    work=lambda problem, block: filter_work(
        problem, picture_loads=loads_by_taps(problem), weight_loads=problem.multiply_adds
    ),
    prepare=prepare,
    sum_order=lambda problem, mask: by_rows(mask.columns, is_fused=False),
    integer_output=True,
)


SEPARABLE_STORY = """
`cpu-separable-serial`: one thread, the textbook loops in two passes. The lab's baseline.

Idea
    A mask that is one column times one row is applied along the picture's rows, then down the columns of
    these sums, as the GPU levels L0, L1 and L2 do it: rows + columns multiply-adds per result. No tiles,
    threads, fast-math or vectors by hand, on purpose; as fast as the same loops in C with `gcc -O2`
    (`cpu-serial`).
What it saves
    Against `cpu-serial`: 17 x 17 needs 34 instead of 289 multiply-adds. A speed-up of L0 over two-dimensional
    loops would be of the algorithm, not of the GPU.
Limit
    Masks of rank 1. One multiply-add at a time, as in `cpu-serial`; the sums between the passes are a whole
    float32 picture that goes to memory and comes back.

What two passes may replace, and why the result keeps the bound of the direct sum: docs/decisions/0003. Python
looks for Ctrl+C between compiled calls, so long loops are called for a few rows at a time.

Source: G. R. Roberts, Jr., "CUDA: Convolution", 3 Methodology: "The same algorithm is used in the serial
implementation."
"""
ALONG_ROWS, DOWN_COLUMNS = (
    MachineFunction(__name__, name) for name in ("along_rows_serial", "down_columns_serial")
)
INSTEAD = "cpu-serial and cpu-parallel take every mask"


def prepare_separable(problem: Problem, mask: Mask, block: Block) -> TextbookLoops:
    """Return compiled loops; raise UnsupportedVariant for a mask that is not one column times one row."""
    factors, halo = required_factors(mask, INSTEAD), Halo(problem)
    along = (
        np.array(factors.row)[np.newaxis],
        *(halo.before, halo.outside_samples, problem.channels),
        np.float32(problem.ghost_value),
    )
    down = (
        np.array(factors.column),
        *(problem.anchor[0], halo.outside_rows),
        mask_classes.ghost_row_value(problem, factors),
        np.float32(mask.offset),
        cpu_largest(problem.result_dtype),
    )
    loops = LoopWork.of_sum(problem.dtype, mask.columns), LoopWork.of_sum("float32", mask.rows)
    passes = (ALONG_ROWS, along), (DOWN_COLUMNS, down)
    return TextbookLoops(problem, max(mask.shape), passes, loops)


def along_rows_serial(image, sums, first_row, row_factor, before, outside_samples, channels, ghost_value):
    """Sum along rows of `image`, (H, W x C), from `first_row` on into `sums`; the factor is (1, taps)."""
    entry_point()
    for row in range(sums.shape[0]):
        for sample in range(image.shape[1]):
            sums[row, sample] = sum_along(
                image, first_row + row, sample, row_factor, 0, before, outside_samples, channels, ghost_value
            )


def down_columns_serial(
    sums, out, first_row, column_factor, anchor_row, outside_rows, ghost_row_value, offset, largest
):
    """Sum down the columns of the first pass's sums, (H, W x C), result by result.

    `out` may be some rows of the result, of which `first_row` is the number of the first one.
    """
    entry_point()
    height, taps = sums.shape[0], column_factor.shape[0]
    for row in range(out.shape[0]):
        first = first_row + row - anchor_row
        is_inside = first >= 0 and first + taps <= height
        for sample in range(sums.shape[1]):
            total = np.float32(0.0)
            if is_inside:
                for m in range(taps):
                    total += sums[np.uintp(first + m), sample] * column_factor[np.uintp(m)]
            else:
                for m in range(taps):
                    source = source_row(first + m, height, outside_rows, anchor_row)
                    value = ghost_row_value
                    if source >= 0:
                        value = sums[np.uintp(source), sample]
                    total += value * column_factor[np.uintp(m)]
            out[row, sample] = cpu_result(total + offset, largest)


SEPARABLE = Variant(
    **ON_CPU,
    key="cpu-separable-serial",
    title="CPU, one thread, two passes",
    idea="The textbook loops on one thread, as fast as in C (gcc -O2), along the rows, then down the "
    "columns: the baseline of separable kernels.",
    # Each tap loads a cell, or a sum of the first pass, and a weight.
    work=lambda problem, block: two_pass_work(problem, *loads_along(problem, block, line_of_taps)),
    prepare=prepare_separable,
    sum_order=partial(mask_classes.order_of_factors, is_fused=False),
    unsupported=lambda problem, mask, block, limits: mask_classes.refuse_mask(mask, INSTEAD),
    integer_output=True,
    **RANK_1,
)
