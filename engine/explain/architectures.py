"""The architectures of NVIDIA GPUs that kernels are compiled for without a device, and their limits.

Sources: CUDA C++ Programming Guide, "Technical Specifications per Compute Capability"; `arch_traits.h` of
CUDA 13's core libraries, which has the same numbers. How many multiprocessors there are is a fact of a
product, so each architecture names one.
"""

import re
from dataclasses import dataclass

from engine.errors import UnknownName
from engine.geometry.block import Limits
from engine.gpu_attributes import GpuAttributes, allocation_units

Capability = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Architecture:
    """What a GPU of a compute capability has."""

    capability: Capability
    product: str  # a GPU of it, whose multiprocessors are counted; empty where they are not known
    gpu: GpuAttributes  # limits of a multiprocessor; no clocks and no memory

    @property
    def name(self) -> str:
        """Its name for compilers, such as "sm_86"."""
        return architecture_name(self.capability)

    @property
    def title(self) -> str:
        """Its name for people, with its product."""
        return f"{self.name} ({self.product})" if self.product else self.name

    @property
    def limits(self) -> Limits:
        """The limits on a block, as a device of it states them."""
        return Limits(compute_capability=self.capability)


def architecture_name(capability: Capability) -> str:
    """Return the name of a compute capability for compilers.

    Examples
    --------
    >>> architecture_name((12, 1))
    'sm_121'
    """
    return "sm_{}{}".format(*capability)


def _of(
    capability: Capability, threads: int, blocks: int, shared_kib: int, product: str, multiprocessors: int
) -> Architecture:
    gpu = GpuAttributes(
        multiprocessors=multiprocessors,
        threads=threads,
        blocks=blocks,
        registers=65_536,
        shared_bytes=shared_kib * 1024,
        reserved_shared_bytes=1024 if capability >= (8, 0) else 0,
        most_block_threads=1024,
        clock_mhz=0.0,
        bandwidth_gb_s=0.0,
        **allocation_units(capability, blocks),
    )
    return Architecture(capability, product, gpu)


# fmt: off
ARCHITECTURES = (
    _of((7, 5), 1024, 16, 64, "Tesla T4", 40),
    _of((8, 0), 2048, 32, 164, "A100", 108),
    _of((8, 6), 1536, 16, 100, "GeForce RTX 3090", 82),
    _of((8, 7), 1536, 16, 164, "Jetson AGX Orin", 16),
    _of((8, 9), 1536, 24, 100, "GeForce RTX 4090", 128),
    _of((9, 0), 2048, 32, 228, "H100 and H200 SXM", 132),
    _of((10, 0), 2048, 32, 228, "B200", 148),
    _of((10, 3), 2048, 32, 228, "", 0),
    _of((12, 0), 1536, 24, 100, "GeForce RTX 5090", 170),
    _of((12, 1), 1536, 24, 100, "DGX Spark", 48),
)
# fmt: on
"""Every architecture, oldest first."""


def architecture(name: str) -> Architecture:
    """Return the architecture of a name: "sm_86", "8.6" or "86". Raises UnknownName, which lists all."""
    digits = re.sub(r"^sm_?|\.", "", name.strip().lower())
    for known in ARCHITECTURES:
        if digits == known.name.removeprefix("sm_"):
            return known
    names = ", ".join(known.name for known in ARCHITECTURES)
    raise UnknownName(f"architecture '{name}'", "there is no such one here", f"Choose one of {names}.")
