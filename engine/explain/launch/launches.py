"""The launches of a variant on a GPU, before any run: resident blocks, occupancy, waves, halo, idle threads.

Pure arithmetic on the variant's plan and on what its kernels take; no device is asked. No Numba in here.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from engine.device.cuda_presence import missing
from engine.device.launches import Launch
from engine.geometry.block import Block
from engine.gpu_attributes import GpuAttributes
from engine.reason import Reason
from engine.results.launch_facts import KernelResources, LaunchFacts, Occupancy, launch_facts, occupancy_of
from engine.results.work import BlockShares
from engine.run.variant import AnyVariant


@dataclass(frozen=True, slots=True)
class ExplainedLaunch:
    """One launch, as it would be."""

    facts: LaunchFacts
    occupancy: Occupancy  # without registers where they are not known: then at most this
    constant_bytes: int  # that the kernel declares

    @property
    def is_compiled(self) -> bool:
        """Whether the registers are known."""
        return self.facts.registers is not None


def why_not_compiled() -> Reason | None:
    """Return why this process compiles no kernels, or None."""
    if missing:
        remedy = "Install it: pip install 'haloscope[cuda]' (there is none for macOS)."
        return Reason("package-missing", f"Not compiled: {missing}", remedy=remedy)
    return None


def explained_launches(
    variant: AnyVariant[Any, Any],
    problem: Any,
    block: Block,
    gpu: GpuAttributes,
    resources: Sequence[KernelResources] = (),
) -> tuple[ExplainedLaunch, ...]:
    """Return each launch of a variant; none for one without kernels of ours.

    Parameters
    ----------
    variant, problem, block
        What the variant accepts on that GPU.
    gpu : GpuAttributes
        The GPU, here or not.
    resources : sequence of KernelResources
        What the kernel of each launch takes; empty where that is not known. Occupancy is then what the block
        and the planned shared memory allow.
    """
    launches = variant.plan(problem, block)
    if not launches:
        return ()
    known: Sequence[KernelResources | None] = resources or [None] * len(launches)
    shares = variant.block_shares(problem, block)
    return tuple(_explained(*one, gpu) for one in zip(launches, known, shares, strict=True))


def _explained(
    launch: Launch, taken: KernelResources | None, share: BlockShares, gpu: GpuAttributes
) -> ExplainedLaunch:
    planned = taken or KernelResources(0, launch.shared_bytes, 0)
    facts = launch_facts(launch.grid, launch.block, planned, gpu, share)
    return ExplainedLaunch(facts, occupancy_of(facts.threads, planned, gpu), launch.constant_bytes)
