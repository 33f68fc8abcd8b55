"""`cpu-morphology`: lowest and highest in turns (`cpu-minimum`), and a difference where the kind has one.

Limit
    A whole picture lies between the two, and the difference reads it once more: memory.
"""

import numpy as np

from engine.compiled.machine_code import MachineFunction
from engine.geometry.block import Block
from engine.results.work import Work
from engine.variants.operations.bands import Bands, cpu_variant
from engine.variants.operations.extremes import bands_of, cpu_comparisons
from engine.work.operations.contract import Patch
from engine.work.operations.problem import OperationProblem
from engine.work.operations.work import operation_work

_DIFFERENCE = MachineFunction("engine.variants.operations.extreme_code", "difference", error_model="numpy")


class Morphology:
    """Two passes and a difference, ready for one problem."""

    def __init__(self, problem: OperationProblem) -> None:
        self._kind = problem.parameters["kind"]
        lowest, highest = (bands_of(problem, highest=highest) for highest in (False, True))
        begins_low = self._kind in ("open", "top-hat", "gradient")
        self._first, self._second = (lowest, highest) if begins_low else (highest, lowest)
        less = self._kind != "top-hat"
        self._difference = Bands(
            problem, _DIFFERENCE, problem.width * problem.channels, lambda workers: (less,)
        )
        # Pictures between the passes: a launch takes one, and several may be under way.
        self._between: list[np.ndarray] = []

    def launch(self, image: np.ndarray, out: np.ndarray, stream: object = None) -> None:
        """Compute on all cores."""
        between = self._between.pop() if self._between else np.empty_like(image)
        self._first.launch(image, between)
        self._second.launch(image if self._kind == "gradient" else between, out)
        if self._kind == "gradient":
            self._difference.launch(between, out)
        elif self._kind in ("top-hat", "black-hat"):
            self._difference.launch(image, out)
        self._between.append(between)


def work(problem: OperationProblem, block: Block) -> Work:
    """Return the work: two passes as of `cpu-minimum`, with a picture between, and a difference."""
    size, samples = problem.whole("size"), problem.samples
    has_difference = problem.parameters["kind"] not in ("open", "close")
    return operation_work(
        problem,
        picture_loads=(2 * size + has_difference) * samples,
        result_loads=has_difference * samples,
        stores=(2 + has_difference) * samples,
        flops=(2 * cpu_comparisons(size) + has_difference) * samples,
    )


def prepare(problem: OperationProblem, constant: Patch | None) -> Morphology:
    """Return the passes, compiled."""
    return Morphology(problem)


VARIANT = cpu_variant(
    prepare,
    key="cpu-morphology",
    title="CPU, all cores",
    operation="morphology",
    idea="Lowest, then highest of whole rows and columns in vectors, on all cores, and their difference.",
    work=work,
)
