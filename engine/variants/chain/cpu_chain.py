"""`cpu-chain`: one step after the other on the CPU, each by its own variant.

Idea
    What a step makes is float32 and stays in memory until its last reader is done; then the next step writes
    there.
Limit
    Each step reads and writes a whole picture: of few operations for a sample, memory counts.
"""

import time
from collections.abc import Callable

import numpy as np

from engine.device.anti_aliasing import reused_result
from engine.device.launches import DeviceKind, Prepared
from engine.geometry.block import Block
from engine.variants.chain.cpu_steps import converted, step_launch
from engine.work.picture_problem import ChainProblem
from engine.work.planned import ChainVariant, Plan, last_readers, refuse_step


class CpuChain:
    """The steps of a chain, compiled.

    `launches` has each by itself, `convert` what makes the picture float32, and `took_ms` how long each step
    took in the last launch, by its id.
    """

    def __init__(self, problem: ChainProblem, plan: Plan) -> None:
        self._plan = plan
        self.launches = [step_launch(planned, problem) for planned in plan]
        reads_floats = any(-1 in planned.inputs and not planned.is_mask for planned in plan)
        self._reads_floats = reads_floats and problem.dtype != "float32"
        self.convert = converted(problem)
        self._last_reader = last_readers(plan)
        self.took_ms = dict[str, float]()

    def launch(self, image: np.ndarray, out: np.ndarray, stream: object = None) -> None:
        """Compute every step; the last writes the result."""
        floats = image
        if self._reads_floats:
            floats = reused_result(image, image.shape, np.float32)
            self.convert(image, floats)
        arrays: dict[int, np.ndarray] = {}
        for at, (planned, launch) in enumerate(zip(self._plan, self.launches, strict=True)):
            begin = time.perf_counter()
            picture = floats if not planned.is_mask else image
            inputs = [picture if one == -1 else arrays[one] for one in planned.inputs]
            is_last = at == len(self._plan) - 1
            arrays[at] = out if is_last else reused_result(inputs[0], image.shape, np.float32)
            launch(inputs, arrays[at])
            self.took_ms[planned.step.id] = (time.perf_counter() - begin) * 1e3
            for one in planned.inputs:
                # Its memory is the next step's.
                if self._last_reader.get(one) == at:
                    arrays.pop(one, None)
                    floats = image if one == -1 else floats

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
