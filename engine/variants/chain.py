"""Chains: each step by a variant of its own, and what lies between on the same device."""

import math
import time
from collections.abc import Callable, Iterator, MutableMapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from engine.device.host_memory import reused_result
from engine.device.kernel_factory import kernel_factory
from engine.device.kernel_names import cuda, float32
from engine.device.launches import Between, DeviceKind, Launch, Operand, Pass, Prepared
from engine.geometry.block import Block
from engine.variants.operations.kernels import CpuCode
from engine.variants.passes import Types, by_passes, made_pass
from engine.work.planned import ChainVariant, Place, Plan, PlannedStep, last_readers, refuse_step
from engine.work.problem import ChainProblem, PictureProblem
from engine.work.steps import CombineStep, needed_places


def how_combined(step: CombineStep) -> tuple[str, tuple[np.float32, ...]]:
    """Return how the code combines two pictures, and the factors of a weighted sum."""
    how = "maximum" if step.how == "maximum" else "magnitude" if step.weights is None else "sum"
    return how, tuple(map(np.float32, step.weights or (1.0, 1.0)))


CPU_STORY = """
`cpu-chain`: one step after the other on the CPU, each by its own variant.

Idea
    What a step makes stays in memory until its last reader is done; then the next step writes there. It is
    float32, or 8 or 16 bit as long as that loses nothing.
Limit
    Each step reads and writes a whole picture: of few operations for a sample, memory counts.
"""
Computation = Callable[[Sequence[np.ndarray], np.ndarray], None]
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


def _times(problem: PictureProblem, dtype: str, factor: float) -> Prepared:
    """Return what multiplies a picture of a type, to float32."""
    own: Any = problem.of_type(dtype)
    return scaled_code.bands(own, problem.width * problem.channels, (np.float32(factor),), dtype="float32")


# A preview follows each edit: what did not change is ready.
@lru_cache(maxsize=128)
def step_launch(planned: PlannedStep, problem: PictureProblem) -> Computation:
    """Return a step, compiled; its inputs are of the type that it reads."""
    step = planned.step
    if isinstance(step, CombineStep):
        how, factors = how_combined(step)
        floats: Any = problem.of_type("float32")
        arguments, steps = (np.empty((1, 1), np.float32), *factors), problem.width * problem.channels
        combine = combining_code.bands(floats, steps, arguments, (how,), dtype="float32")

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
        self._to_floats = {dtype: _times(problem, dtype, 1.0).launch for _, dtype in sources}
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
        for at in sorted(needed_places(plan, len(plan) - 1, known)):
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


CPU = ChainVariant(
    key="cpu-chain",
    title="CPU, all cores",
    device=DeviceKind.CPU,
    idea="Each step by its own kernel on all cores, one after the other, with float32 between them.",
    prepare=lambda problem, constant, block: CpuChain(problem, constant),
    unsupported=refuse_step,
    work=lambda problem, block: None,
)


CUDA_STORY = """
`cuda-chain`: the launches of all steps one after the other; what lies between stays on the device.

Idea
    A step is the passes of its own variant, with its input in the picture's place and what the next step
    reads in the result's. So the picture is copied to the device once, and the last result back.
Who loads what
    As each step's variant says. Samples are converted, scaled and combined by a thread each.
Limit
    Each step reads and writes a whole picture in the device's memory.
"""
BLOCK = Block(32, 8)
Memory = Operand | Between


@kernel_factory
def scaled_kernel():
    """Return the kernel that writes samples times a factor."""

    @cuda.jit
    def scaled(image, width, factor, out):
        column, row = cuda.grid(2)
        channel = cuda.blockIdx.z
        if row >= image.shape[0] or column >= width:
            return
        out[row, column, channel] = float32(image[row, column, channel]) * factor

    return scaled


@kernel_factory
def combine_kernel(how: str):
    """Return the kernel that makes one picture of two."""
    IS_SUM, IS_MAXIMUM = how == "sum", how == "maximum"

    @cuda.jit
    def combine(image, other, width, of_image, of_other, out):
        column, row = cuda.grid(2)
        channel = cuda.blockIdx.z
        if row >= image.shape[0] or column >= width:
            return
        x, y = float32(image[row, column, channel]), float32(other[row, column, channel])
        if IS_SUM:
            result = of_image * x + of_other * y
        elif IS_MAXIMUM:
            result = y if y > x or y != y else x
        else:
            result = float32(math.sqrt(x * x + y * y))
        out[row, column, channel] = result

    return combine


def passes(problem: ChainProblem, plan: Plan, block: Block) -> tuple[Pass, ...]:
    """Return the launches of every step; those of one are its part of the whole."""
    places: dict[int, Memory] = {-1: Operand.IMAGE}
    launches: list[Pass] = []
    for at, planned in enumerate(plan):
        is_last = at == len(plan) - 1
        places[at] = Operand.OUT if is_last else _between(problem, f"step {at}", planned.writes)
        inputs = [places[one] for one in planned.inputs]
        of_step = _passes_of(planned, at, problem, inputs, places[at])
        launches += (one._replace(part=planned.step.id) for one in of_step)
    return tuple(launches)


def _between(problem: ChainProblem, name: str, dtype: str = "float32") -> Between:
    return Between(name, problem.result_shape, dtype)


def _passes_of(
    planned: PlannedStep, at: int, problem: ChainProblem, inputs: list[Memory], out: Memory
) -> Iterator[Pass]:
    step = planned.step
    if isinstance(step, CombineStep):
        how, factors = how_combined(step)
        arguments = (inputs[0], inputs[1], problem.width, *factors, out)
        yield _thread_per_sample(combine_kernel(how), problem, arguments)
        return
    source, target = inputs[0], out
    if planned.white != 1.0 or planned.given != (planned.reads,):
        source = _between(problem, f"input of {at}")
        factor = np.float32(1.0 / planned.white)
        yield _thread_per_sample(scaled_kernel(), problem, (inputs[0], problem.width, factor, source))
    if planned.white != 1.0:
        target = _between(problem, f"result of {at}")
    variant: Any = planned.variant
    own = planned.block or variant.default_block
    for one in variant.passes(planned.problem, planned.mask, own):
        yield one._replace(
            arguments=tuple(_placed(value, at, source, target, problem) for value in one.arguments)
        )
    if planned.white != 1.0:
        factor = np.float32(planned.white)
        yield _thread_per_sample(scaled_kernel(), problem, (target, problem.width, factor, out))


def _placed(value: object, at: int, source: Memory, target: Memory, problem: ChainProblem) -> Any:
    """Return an argument of a step's pass among those of all steps."""
    if value is Operand.IMAGE:
        return source
    if value is Operand.OUT:
        return target
    if value is Operand.SCRATCH:
        return _between(problem, "scratch")
    return value._replace(name=f"{at}: {value.name}") if isinstance(value, Between) else value


def _thread_per_sample(kernel: Any, problem: ChainProblem, arguments: tuple[Any, ...]) -> Pass:
    types: Types = {Operand.IMAGE: (problem.dtype, 3), Operand.OUT: (problem.result_dtype, 3)}
    launch = Launch.of_threads(*problem.result_shape, BLOCK)
    return made_pass(kernel, launch, arguments, types)


CUDA = ChainVariant(
    key="cuda-chain",
    title="CUDA, results stay there",
    idea="The kernels of all steps one after the other; what lies between never leaves the device.",
    **by_passes(passes),
    unsupported=refuse_step,
    work=lambda problem, block: None,
)
