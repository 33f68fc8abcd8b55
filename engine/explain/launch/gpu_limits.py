"""The limits of GPUs that are not here, by their architecture.

Sources: CUDA C++ Programming Guide, "Technical Specifications per Compute Capability"; `arch_traits.h` of
CUDA 13's core libraries, which has the same numbers. How many multiprocessors there are is a fact of a
product, so each architecture names one.
"""

from dataclasses import dataclass

from engine.device_info import DeviceInfo
from engine.explain.architectures import Architecture
from engine.geometry.block import Limits
from engine.gpu_attributes import GpuAttributes, allocation_units


@dataclass(frozen=True, slots=True)
class Gpu:
    """A GPU, here or not, whose occupancy is computed."""

    title: str  # for people
    architecture: Architecture
    attributes: GpuAttributes  # of one that is not here without clocks and memory
    device: DeviceInfo | None = None  # of one that is here

    @property
    def limits(self) -> Limits:
        """The limits on a block."""
        return Limits(max_threads=self.attributes.most_block_threads, compute_capability=self.architecture)


def _of(
    major: int, minor: int, threads: int, blocks: int, shared_kib: int, product: str, multiprocessors: int
) -> Gpu:
    architecture = Architecture(major, minor)
    attributes = GpuAttributes(
        multiprocessors=multiprocessors,
        threads=threads,
        blocks=blocks,
        registers=65_536,
        shared_bytes=shared_kib * 1024,
        reserved_shared_bytes=1024 if major >= 8 else 0,
        most_block_threads=1024,
        clock_mhz=0.0,
        bandwidth_gb_s=0.0,
        **allocation_units((major, minor), blocks),
    )
    title = f"{architecture} ({product})" if product else str(architecture)
    return Gpu(title, architecture, attributes)


# Threads, blocks and KiB of shared memory of a multiprocessor; a product, and its multiprocessors: none where
# they are not known, and then there are no waves.
# fmt: off
_GPUS = (
    _of(7, 5, 1024, 16, 64, "Tesla T4", 40),
    _of(8, 0, 2048, 32, 164, "A100", 108),
    _of(8, 6, 1536, 16, 100, "GeForce RTX 3090", 82),
    _of(8, 7, 1536, 16, 164, "Jetson AGX Orin", 16),
    _of(8, 9, 1536, 24, 100, "GeForce RTX 4090", 128),
    _of(9, 0, 2048, 32, 228, "H100 and H200 SXM", 132),
    _of(10, 0, 2048, 32, 228, "B200", 148),
    _of(10, 3, 2048, 32, 228, "", 0),
    _of(12, 0, 1536, 24, 100, "GeForce RTX 5090", 170),
    _of(12, 1, 1536, 24, 100, "DGX Spark", 48),
)
# fmt: on
ABSENT_GPUS = {gpu.architecture: gpu for gpu in _GPUS}
"""A GPU of every architecture, oldest first."""
