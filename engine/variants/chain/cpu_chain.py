"""`cpu-chain`: one step after the other on the CPU, each by its own variant.

Idea
    What a step makes stays in memory until its last reader is done; then the next step writes there. It is
    float32, or 8 or 16 bit as long as that loses nothing.
Limit
    Each step reads and writes a whole picture: of few operations for a sample, memory counts.
"""

import math
import time
from collections.abc import Callable, MutableMapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from engine.device.host_memory import reused_result
from engine.device.launches import DeviceKind, Prepared
from engine.geometry.block import Block
from engine.variants.operations.kernels import CpuCode, on_all_cores
from engine.work.planned import (
    ChainVariant,
    Place,
    Plan,
    PlannedStep,
    last_readers,
    needed_steps,
    refuse_step,
)
from engine.work.problem import ChainProblem, PictureProblem
from engine.work.steps import CombineStep

if TYPE_CHECKING:
    from engine.variants.operations.bands import Bands

Launch = Callable[[Sequence[np.ndarray], np.ndarray], None]
"""Computes the result of a step from its inputs, all (H, W, C)."""


@CpuCode
def scaled_code():
    """Write samples times a factor, float32."""

    def scaled(image, out, top, bottom, worker, factor):
        for row in range(top, bottom):
            for sample in range(image.shape[1]):
                out[row, sample] = np.float32(image[row, sample]) * factor

    return scaled


@CpuCode
def combining_code(how):
    """Write the weighted sum of two pictures, the root of the sum of their squares, or the larger of two."""

    def combined(image, out, top, bottom, worker, other, of_image, of_other):
        for row in range(top, bottom):
            for sample in range(image.shape[1]):
                x, y = image[row, sample], other[row, sample]
                if how == "sum":
                    out[row, sample] = of_image * x + of_other * y
                elif how == "magnitude":
                    out[row, sample] = math.sqrt(x * x + y * y)
                else:
                    # NaN where one is: nothing is larger than NaN, and it equals nothing.
                    larger = y if y > x else x
                    out[row, sample] = larger if y == y else y

    return combined


def _times(problem: PictureProblem, dtype: str, factor: float) -> "Bands":
    """Return what multiplies a picture of a type, to float32."""
    own: Any = problem.of_type(dtype)
    return on_all_cores(
        own, scaled_code, problem.width * problem.channels, (np.float32(factor),), dtype="float32"
    )


def converted(problem: PictureProblem, dtype: str) -> Callable[[np.ndarray, np.ndarray], None]:
    """Return what makes a picture of a type float32."""
    return _times(problem, dtype, 1.0).launch


# A preview follows each edit: what did not change is ready.
@lru_cache(maxsize=128)
def step_launch(planned: PlannedStep, problem: PictureProblem) -> Launch:
    """Return a step, compiled; its inputs are of the type that it reads."""
    step = planned.step
    if isinstance(step, CombineStep):
        how = "maximum" if step.how == "maximum" else "magnitude" if step.weights is None else "sum"
        factors = tuple(map(np.float32, step.weights or (1.0, 1.0)))
        floats: Any = problem.of_type("float32")
        combine = on_all_cores(
            floats,
            combining_code,
            problem.width * problem.channels,
            (np.empty((1, 1), np.float32), *factors),
            (how,),
            dtype="float32",
        )

        def combined(inputs: Sequence[np.ndarray], out: np.ndarray) -> None:
            other = inputs[1].reshape(len(inputs[1]), -1)
            combine.launch(inputs[0], out, arguments=(other, *factors))

        return combined
    variant: Any = planned.variant
    prepared = variant.prepare(planned.problem, planned.mask, planned.block or variant.default_block)
    if planned.white == 1.0:
        return lambda inputs, out: prepared.launch(inputs[0], out)
    down = _times(problem, "float32", 1.0 / planned.white)
    up = _times(problem, "float32", planned.white)

    def scaled(inputs: Sequence[np.ndarray], out: np.ndarray) -> None:
        between = reused_result(out, out.shape, np.float32)
        down.launch(inputs[0], between)
        prepared.launch(between, out)
        up.launch(out, out)

    return scaled


class CpuChain:
    """The steps of a chain, compiled.

    `took_ms` has how long each step of the last launch took, by its id.
    """

    def __init__(self, problem: ChainProblem, plan: Plan) -> None:
        self._plan, self._last_reader = plan, last_readers(plan)
        self.launches = [step_launch(planned, problem) for planned in plan]
        sources = {source for one in plan for source in one.sources if source not in one.places}
        self._to_floats = {dtype: converted(problem, dtype) for _, dtype in sources}
        self.took_ms = dict[str, float]()

    def launch(
        self,
        image: np.ndarray,
        out: np.ndarray,
        stream: object = None,
        known: MutableMapping[int, np.ndarray] | None = None,
        begins: Callable[[int], object] = lambda at: None,
        found: Callable[[int, np.ndarray], object] = lambda at, result: None,
    ) -> None:
        """Compute every step; the last writes the result.

        `known` are results that are there: what stands before them is not computed, and each is taken from
        it when it is read. `begins` is called before a step is computed, `found` with each result.
        """
        plan, last, known = self._plan, len(self._plan) - 1, {} if known is None else known
        arrays: dict[Place, np.ndarray] = {(-1, image.dtype.name): image}
        self.took_ms = {}
        for at in sorted(needed_steps(plan, known)):
            planned = plan[at]
            place = at, planned.writes
            if at in known:
                arrays[place] = known.pop(at)
                if at == last:
                    out[...] = arrays[place]
            else:
                begins(at)
                begin = time.perf_counter()
                for source, read in zip(planned.sources, planned.places, strict=True):
                    if read not in arrays:
                        arrays[read] = reused_result(image, image.shape, np.float32)
                        self._to_floats[source[1]](arrays[source], arrays[read])
                inputs = [arrays[read] for read in planned.places]
                arrays[place] = out if at == last else reused_result(inputs[0], image.shape, place[1])
                self.launches[at](inputs, arrays[place])
                self.took_ms[planned.step.id] = (time.perf_counter() - begin) * 1e3
                del inputs
            found(at, arrays[place])
            # Their memory is the next step's.
            for done in [one for one in arrays if self._last_reader.get(one) == at]:
                del arrays[done]

    def part_ms(
        self, image: np.ndarray, out: np.ndarray, clock: Callable[[Prepared], float]
    ) -> dict[str, float]:
        """Compute every step once; return how long each took, ms by its id."""
        self.launch(image, out)
        return dict(self.took_ms)


def prepare(problem: ChainProblem, constant: Plan, block: Block) -> CpuChain:
    """Return the steps, compiled."""
    return CpuChain(problem, constant)


VARIANT = ChainVariant(
    key="cpu-chain",
    title="CPU, all cores",
    device=DeviceKind.CPU,
    idea="Each step by its own kernel on all cores, one after the other, with float32 between them.",
    prepare=prepare,
    unsupported=refuse_step,
    work=lambda problem, block: None,
)
