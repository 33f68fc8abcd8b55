"""What is explained: a variant with a problem and a block, on a GPU that need not be here.

No Numba in here.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Generic

from engine.device_info import DeviceInfo
from engine.explain.architectures import DEFAULT, Architecture
from engine.explain.launch.gpu_limits import ABSENT_GPUS, Gpu
from engine.geometry.block import Block
from engine.geometry.refusal import UnsupportedVariant
from engine.results.measurement import Environment, Measurement
from engine.results.problem import P
from engine.run.variant import AnyVariant


@dataclass(frozen=True, eq=False)
class Subject(Generic[P]):
    """A variant with a problem of its task, the constant that it is compiled with, a block, and a GPU."""

    variant: AnyVariant[P, Any]
    problem: P
    constant: Any
    block: Block
    gpu: Gpu | None  # None for a CPU variant
    mask_name: str = ""  # of a filter

    @property
    def unrun(self) -> Measurement[P]:
        """Its result as far as it is known without a run and without a device."""
        return Measurement(
            variant=self.variant.key,
            title=self.variant.title,
            device="",
            problem=self.problem,
            block=self.block if self.variant.uses_block else None,
            environment=Environment(""),
            work=self.variant.work(self.problem, self.block),
            mask_name=self.mask_name,
        )

    def refuse(self, known: Iterable[AnyVariant[P, Any]] = ()) -> None:
        """Raise UnsupportedVariant for what the variant cannot do on the GPU.

        Of the `known` variants the reason may name others.
        """
        if self.gpu is None:
            return
        refusal = self.variant.why_not(self.problem, self.constant, self.block, self.gpu.limits, known)
        if refusal is not None:
            # Where no other block would do, the block is not the reason.
            with_block = f" with a block of {self.block}" if refusal.nearest_block else ""
            what = f"variant '{self.variant.key}'{with_block} on {self.gpu.architecture}"
            raise UnsupportedVariant(what, refusal)


def gpu_for(devices: Iterable[DeviceInfo], architecture: Architecture | None = None) -> Gpu:
    """Return the GPU that a kernel is explained on.

    That is one of the architecture that is asked for; else the first of the devices that is a real GPU; else
    one of the architecture whose figures the documents show.
    """
    if architecture is None:
        here = next((device for device in devices if device.is_usable_gpu), None)
        if here is not None and here.attributes is not None and here.limits.compute_capability is not None:
            capability = Architecture(*here.limits.compute_capability)
            return Gpu(f"{here.title} ({here.key}, {capability})", capability, here.attributes, here)
    return ABSENT_GPUS[architecture or DEFAULT]
