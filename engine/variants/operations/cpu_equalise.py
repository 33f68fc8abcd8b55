"""`cpu-equalise`: the counts of each core added up, 256 levels by NumPy, and all cores look them up.

Limit
    The picture is read twice: once to count, once to look up. The levels of a channel stay in a cache.
"""

import numpy as np

from engine.compiled.machine_code import MachineFunction
from engine.geometry.block import Block
from engine.results.work import Work
from engine.variants.operations.bands import Bands, cpu_variant
from engine.variants.operations.equalise_levels import levels_dtype, levels_of
from engine.variants.operations.histogram_counts import PartialHistograms, shift_of
from engine.work.operations.contract import Patch
from engine.work.operations.problem import OperationProblem
from engine.work.operations.work import operation_work

_WHOLE, _FLOATS = (
    MachineFunction("engine.variants.operations.histogram_code", name, error_model="numpy")
    for name in ("look_up_whole_numbers", "look_up_floats")
)


class Equalisation:
    """Counts, levels, look-ups, ready for one problem."""

    def __init__(self, problem: OperationProblem) -> None:
        self._problem = problem
        self._shape = problem.channels, problem.whole("bins")
        self._counts = PartialHistograms(problem)
        number = problem.whole("bins") if problem.is_float else shift_of(problem)
        self._bands = Bands(
            problem,
            _FLOATS if problem.is_float else _WHOLE,
            2 * problem.width * problem.channels,
            lambda workers: (np.zeros(self._shape, levels_dtype(problem)), number),
        )

    def launch(self, image: np.ndarray, out: np.ndarray, stream: object = None) -> None:
        """Count on all cores, add up, and look up on all cores."""
        counts = np.empty((*self._shape, 1), np.uint32)
        self._counts.launch(image, counts)

        def give(levels: np.ndarray, number: int) -> None:
            levels[...] = levels_of(counts[..., 0], self._problem)

        self._bands.launch(image, out, give=give)


def work(problem: OperationProblem, block: Block) -> Work:
    """Return the work: each sample is read twice, counted, and written once."""
    return operation_work(problem, picture_loads=2 * problem.samples, flops=problem.samples)


def prepare(problem: OperationProblem, constant: Patch | None) -> Equalisation:
    """Return the steps, compiled."""
    return Equalisation(problem)


VARIANT = cpu_variant(
    prepare,
    key="cpu-equalise",
    title="CPU, all cores",
    operation="equalise",
    idea="Each core counts its rows, the counts give the levels, and each core looks its rows up.",
    work=work,
)
