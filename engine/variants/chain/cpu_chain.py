"""`cpu-chain`: one step after the other on the CPU, each by its own variant.

Idea
    What a step makes stays in memory until its last reader is done; then the next step writes there. It is
    float32, or 8 or 16 bit as long as that loses nothing.
Limit
    Each step reads and writes a whole picture: of few operations for a sample, memory counts.
"""

import time
from collections.abc import Callable, MutableMapping

import numpy as np

from engine.device.anti_aliasing import reused_result
from engine.device.launches import DeviceKind, Prepared
from engine.geometry.block import Block
from engine.variants.chain.cpu_steps import converted, step_launch
from engine.work.picture_problem import ChainProblem
from engine.work.planned import ChainVariant, Place, Plan, last_readers, needed_steps, refuse_step


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
