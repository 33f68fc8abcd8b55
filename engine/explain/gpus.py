"""The GPUs that code is shown and times are explained for, here or not, by their architecture; no Numba.

Sources: CUDA C++ Programming Guide, "Technical Specifications per Compute Capability"; `arch_traits.h` of
CUDA 13's core libraries, which has the same numbers. How many multiprocessors there are is a fact of a
product, so each architecture names one.
"""

import re
from collections.abc import Iterable
from typing import NamedTuple

from engine.device_info import DeviceInfo, GpuAttributes, allocation_units
from engine.errors import BadValue
from engine.geometry.block import Limits


class Architecture(NamedTuple):
    """A compute capability; it need not be that of a device that is here."""

    major: int
    minor: int

    def __str__(self) -> str:
        return f"sm_{self.major}{self.minor}"

    @classmethod
    def named(cls, text: str) -> "Architecture":
        """Return the architecture that a text says: sm_86, compute_86, 86 or 8.6."""
        match = re.fullmatch(r"(?:(?:sm|compute)_)?(\d{1,2})\.?(\d)[a-z]?", text.strip().lower())
        found = cls(int(match[1]), int(match[2])) if match else None
        if found not in ARCHITECTURES:
            known = ", ".join(map(str, ARCHITECTURES))
            why = "it is none of the architectures that kernels are compiled for here"
            raise BadValue(f"--arch {text}", why, f"Choose one of {known}.")
        return found


DEFAULT = Architecture(9, 0)
"""That of the GPU whose figures the documents show."""


def _of(
    major: int, minor: int, threads: int, blocks: int, shared_kib: int, product: str, multiprocessors: int
) -> DeviceInfo:
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
    limits = Limits(attributes.most_block_threads, compute_capability=architecture)
    return DeviceInfo("", "cuda", title, available=False, limits=limits, attributes=attributes)


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


def architecture_of(gpu: DeviceInfo) -> Architecture:
    """Return the architecture of a GPU whose compute capability is known."""
    assert gpu.limits.compute_capability is not None
    return Architecture(*gpu.limits.compute_capability)


ABSENT_GPUS = {architecture_of(gpu): gpu for gpu in _GPUS}
"""A GPU of every architecture that need not be here, oldest first: without a key, clocks and memory."""
ARCHITECTURES = tuple(ABSENT_GPUS)
"""From the oldest one that the compiler knows to the newest."""


def gpu_for(devices: Iterable[DeviceInfo], architecture: Architecture | None = None) -> DeviceInfo:
    """Return the GPU that a kernel is explained on.

    That is one of the architecture that is asked for; else the first of the devices that is a real GPU; else
    one of the architecture whose figures the documents show.
    """
    if architecture is None:
        for device in devices:
            if device.is_usable_gpu and device.attributes and device.limits.compute_capability:
                return device
    return ABSENT_GPUS[architecture or DEFAULT]


def attributes_of(gpu: DeviceInfo) -> GpuAttributes:
    """Return what is stated of a GPU that kernels are explained on."""
    assert gpu.attributes is not None
    return gpu.attributes


def gpu_text(gpu: DeviceInfo) -> str:
    """Return a GPU in words, with its architecture."""
    return f"{gpu.title} ({gpu.key}, {architecture_of(gpu)})" if gpu.available else gpu.title


SCHEDULERS = 4
"""Of a multiprocessor; each issues an instruction of one warp per clock (CUDA C++ Programming Guide,
"Hardware Multithreading", for all compute capabilities from 7.0 on)."""
# Shared memory has 32 banks of 4 bytes, each of which serves one word per clock.
_SHARED_BYTES_PER_CLOCK = 128
# Dense multiply-adds of tensor cores on int8, where the capability alone decides on them: other
# devices of one capability have float32 sums at full or at half speed. NVIDIA A100 and H100 Tensor Core GPU
# Architecture (white papers), peak rates divided by multiprocessors, clock and 2.
_TENSOR = {(8, 0): 2048, (9, 0): 4096}


def theoretical_limits(gpu: DeviceInfo) -> dict[str, float]:
    """Return the known theoretical values by the names of `DeviceLimits`."""
    stated, capability = gpu.attributes, gpu.limits.compute_capability
    if stated is None or capability is None:
        return {}
    clocks = stated.multiprocessors * stated.clock_mhz * 1e6
    found = {
        "copy_bytes_per_s": stated.bandwidth_gb_s * 1e9,
        "multiply_adds_per_s": stated.lanes * clocks,
        "shared_bytes_per_s": _SHARED_BYTES_PER_CLOCK * clocks,
        "instructions_per_s": SCHEDULERS * clocks,
        "int8_tensor_multiply_adds_per_s": _TENSOR.get(capability, 0) * clocks,
    }
    return {name: value for name, value in found.items() if value > 0}
