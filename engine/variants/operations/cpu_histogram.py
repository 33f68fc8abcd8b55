"""`cpu-histogram`: a partial histogram for each core, added up in the end.

Idea
    A core counts the samples of its rows into bins that no other core touches, so nobody waits; the last step
    adds up as many histograms as there are cores. `histogram-shared` does the same with blocks.
Limit
    Two equal samples in a row write the same bin: the second has to wait for the first one's store.
"""

from typing import Any

import numpy as np

from engine.compiled.machine_code import MachineFunction
from engine.geometry.block import Block
from engine.tasks.operation.contract import Patch
from engine.tasks.operation.problem import OperationProblem
from engine.tasks.operation.work import operation_work
from engine.tasks.work import Work
from engine.variants.operations.bands import Bands, cpu_variant
from engine.variants.operations.histogram_counts import shift_of

_WHOLE, _FLOATS = (
    MachineFunction("engine.variants.operations.histogram_code", name, error_model="numpy")
    for name in ("count_whole_numbers", "count_floats")
)


class PartialHistograms:
    """The counts of each worker, ready for one problem."""

    def __init__(self, problem: OperationProblem) -> None:
        bins, channels = problem.whole("bins"), problem.channels
        numbers = (channels, bins) if problem.is_float else (channels, bins, shift_of(problem))
        source, target = np.empty((1, 1), problem.dtype), np.empty((1, 1), np.uint32)
        self._bands = Bands(
            _FLOATS if problem.is_float else _WHOLE,
            source,
            target,
            problem.height,
            2 * problem.width * channels,
            lambda workers: (np.zeros((workers, channels * bins), np.int64), *numbers),
        )

    def launch(self, image: np.ndarray, out: np.ndarray, stream: Any = None) -> None:
        """Count on all cores, and add the cores' counts up."""
        rows = np.ascontiguousarray(image)

        def add_up(counts: np.ndarray, *numbers: int) -> None:
            out[...] = counts.sum(axis=0).reshape(out.shape)
            counts.fill(0)

        self._bands.run(rows.reshape(len(rows), -1), out[..., 0], add_up)


def work(problem: OperationProblem, block: Block) -> Work:
    """Return the work: each sample is read and counted once, and each count is written once.

    The cores' own counts stay in their caches.
    """
    return operation_work(problem, picture_loads=problem.samples, flops=problem.samples)


def prepare(problem: OperationProblem, constant: Patch | None) -> PartialHistograms:
    """Return the counts, compiled."""
    return PartialHistograms(problem)


VARIANT = cpu_variant(
    prepare,
    key="cpu-histogram",
    title="CPU, all cores",
    operation="histogram",
    idea="Each core counts its rows into bins of its own, which are added up in the end.",
    work=work,
)
