"""Jobs of a chain on random pictures: every size on every kind of device."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from engine.device_info import DeviceInfo
from engine.errors import DeviceUnavailable
from engine.geometry.layout import Layout
from engine.results.measurement import AnyResult
from engine.run.device_choice import device_for
from engine.run.sampling import SamplingPlan
from engine.run.sweep import ONE_LAYOUT, measured_result, ways
from engine.work.chain_variants import ChainVariant
from engine.work.pictures import random_picture
from engine.work.request import ChainRequest
from engine.work.resolve import ResolvedChain
from engine.work.step_times import with_steps
from engine.work.steps import Chain
from engine.work.task import ChainJob


def chain_jobs(
    chain: Chain,
    variants: Sequence[ChainVariant],
    sizes: Sequence[tuple[int, int]],
    *,
    device: str,
    layouts: Sequence[Layout] = ONE_LAYOUT,
    channels: int = 3,
    dtype: str = "uint8",
    seed: int = 0,
) -> Iterator[ChainJob]:
    """Return every job, in order of sizes, variants, layouts; sizes are width x height.

    `device` is for CUDA. Raises EngineError for a step that cannot be computed before the first job is made:
    what is measured by then would be lost.
    """

    def job(samples: np.ndarray, variant: ChainVariant, layout: Layout) -> ChainJob:
        try:
            key = device_for(variant, device).key
        except DeviceUnavailable:
            # With any plan: who measures it finds the same, and has it as the reason.
            key = "cpu"
        resolved = ResolvedChain(ChainRequest(chain=chain, device=key, layout=layout), samples)
        return replace(resolved.job(seed=seed), variant=variant)

    for width, height in sizes:
        for variant in variants:
            # The shape alone: it takes no memory.
            job(np.broadcast_to(np.zeros((), dtype), (height, width, channels)), variant, layouts[0])

    return (
        job(samples, variant, layout)
        for width, height in sizes
        for samples in (random_picture((height, width, channels), dtype, seed),)
        for variant, _, layout in ways(variants, (), layouts)
    )


def measured_chain(job: ChainJob, device: DeviceInfo, plan: SamplingPlan) -> AnyResult:
    """Return the result of a chain that is measured where its device is, with the time of each step."""
    return with_steps(measured_result(job, device, plan), job)
