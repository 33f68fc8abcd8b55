"""The cells of a benchmark: each combination of its lists, on random pictures."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from msgspec.structs import replace

from engine.device_info import DeviceInfo
from engine.errors import DeviceUnavailable
from engine.geometry.block import Block
from engine.geometry.layout import Layout
from engine.results.measurement import AnyResult
from engine.run.measure import measured_result
from engine.run.sampling import SamplingPlan
from engine.run.task import device_for
from engine.run.variant import ONE_LAYOUT, AnyVariant, ways
from engine.work.operations.patch import patch_from
from engine.work.pictures import random_picture
from engine.work.request import PictureRequest
from engine.work.resolve import AnyJob, Resolved
from engine.work.step_times import with_steps


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep:
    """What a benchmark measures: each combination of all lists, on random pictures."""

    asked: Sequence[PictureRequest]  # the lists say variant, block and layout
    variants: Sequence[AnyVariant]
    sizes: Sequence[tuple[int, int]]  # pictures, width x height, pixels
    blocks: Sequence[Block] = ()
    layouts: Sequence[Layout] = ONE_LAYOUT
    channels: int = 1
    dtype: str = "float32"
    seed: int = 0  # of the pictures and the pixels that are verified

    @property
    def cells(self) -> int:
        """How many results there will be."""
        of_each = sum(1 for _ in ways(self.variants, self.blocks, self.layouts))
        return len(self.sizes) * len(self.asked) * of_each

    def refuse(self) -> None:
        """Raise an EngineError for what cannot be computed: what is measured by then would be lost."""
        for width, height in self.sizes:
            # The shape alone: it takes no memory.
            shaped = np.broadcast_to(np.zeros((), self.dtype), (height, width, self.channels))
            for asked in self.asked:
                step = asked.operation
                if step is not None:
                    parameters = step.known.read(dict(step.settings))
                    step.known.problem(shaped, parameters)
                    if step.known.takes_patch:
                        patch_from(shaped, parameters)
                elif asked.step is None:
                    for variant in self.variants:
                        assert _on(asked, variant, shaped).plan

    def jobs(self) -> Iterator[AnyJob]:
        """Yield every job, in order of sizes, what is asked, variants, blocks, layouts."""
        for width, height in self.sizes:
            samples = random_picture((height, width, self.channels), self.dtype, self.seed)
            for asked in self.asked:
                resolved = Resolved(asked, samples)
                for variant, block, layout in ways(self.variants, self.blocks, self.layouts):
                    if resolved.step is None:
                        resolved = _on(asked, variant, samples)
                    resolved.asked = replace(resolved.asked, layout=layout)
                    yield resolved.job_by(variant, block, seed=self.seed)


def _on(asked: PictureRequest, variant: AnyVariant, samples: np.ndarray) -> Resolved:
    """Return several steps with the plan for the device that a variant of chains is written for."""
    try:
        key = device_for(variant, asked.device).key
    except DeviceUnavailable:
        # With any plan: who measures it finds the same, and has it as the reason.
        key = "cpu"
    return Resolved(replace(asked, device=key), samples)


def measured_work(job: AnyJob, device: DeviceInfo, plan: SamplingPlan) -> AnyResult:
    """Return the result of a job that is measured on a device; of a chain with the times of its steps."""
    return with_steps(measured_result(job, device, plan), job)
