"""GPUs that kernels are explained on, here or not, and the launches of a variant there, before any run.

Pure arithmetic: resident blocks, occupancy, waves, halo, idle threads; no device is needed. No Numba in here.
Curves, the data of plots, show occupancy against one of them while everything else stays as it is, as in
NVIDIA's calculator. Sources of the GPUs: CUDA C++ Programming Guide, "Technical Specifications per Compute
Capability"; `arch_traits.h` of CUDA 13's core libraries, which has the same numbers. How many multiprocessors
there are is a fact of a product, so each architecture names one.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from engine.device.device_list import INSTALL, missing
from engine.device_info import DeviceInfo, GpuAttributes, allocation_units
from engine.errors import BadValue, Reason
from engine.geometry.block import Limits
from engine.results.occupancy import WARP, KernelResources, LaunchFacts, Occupancy, occupancy_of
from engine.results.text_forms import MISSING, digits_text, percent_text


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
        architecture = cls(int(match[1]), int(match[2])) if match else None
        if architecture not in ARCHITECTURES:
            known = ", ".join(map(str, ARCHITECTURES))
            why = "it is none of the architectures that kernels are compiled for here"
            raise BadValue(f"--arch {text}", why, f"Choose one of {known}.")
        return architecture


DEFAULT = Architecture(9, 0)
"""That of the GPU whose figures the documents show."""


# Threads, blocks and KiB of shared memory of a multiprocessor; a product, and its multiprocessors: none where
# they are not known, and then there are no waves.
_PRODUCTS = {
    (7, 5): (1024, 16, 64, "Tesla T4", 40),
    (8, 0): (2048, 32, 164, "A100", 108),
    (8, 6): (1536, 16, 100, "GeForce RTX 3090", 82),
    (8, 7): (1536, 16, 164, "Jetson AGX Orin", 16),
    (8, 9): (1536, 24, 100, "GeForce RTX 4090", 128),
    (9, 0): (2048, 32, 228, "H100 and H200 SXM", 132),
    (10, 0): (2048, 32, 228, "B200", 148),
    (10, 3): (2048, 32, 228, "", 0),
    (12, 0): (1536, 24, 100, "GeForce RTX 5090", 170),
    (12, 1): (1536, 24, 100, "DGX Spark", 48),
}


def _absent(architecture: Architecture) -> DeviceInfo:
    threads, blocks, shared_kib, product, multiprocessors = _PRODUCTS[architecture]
    # Without clocks and a bandwidth.
    memory = shared_kib * 1024, 1024 if architecture.major >= 8 else 0
    limits = multiprocessors, threads, blocks, 65_536, *memory, 1024, 0.0, 0.0
    attributes = GpuAttributes(*limits, **allocation_units(architecture, blocks))
    title = f"{architecture} ({product})" if product else str(architecture)
    of_blocks = Limits(attributes.most_block_threads, compute_capability=architecture)
    return DeviceInfo("", "cuda", title, available=False, limits=of_blocks, attributes=attributes)


def architecture_of(gpu: DeviceInfo) -> Architecture:
    """Return the architecture of a GPU whose compute capability is known."""
    assert gpu.limits.compute_capability is not None
    return Architecture(*gpu.limits.compute_capability)


ABSENT_GPUS = {one: _absent(one) for one in map(Architecture._make, _PRODUCTS)}
"""A GPU of every architecture that need not be here, oldest first: without a key, clocks and memory."""
ARCHITECTURES = tuple(ABSENT_GPUS)
"""From the oldest one that the compiler knows to the newest."""


def gpu_for(devices: Iterable[DeviceInfo], architecture: Architecture | None = None) -> DeviceInfo:
    """Return the GPU that a kernel is explained on.

    That is one of the requested architecture; else the first of the devices that is a real GPU; else
    one of the architecture whose figures the documents show.
    """
    if architecture is None:
        for device in devices:
            if device.is_usable_gpu and device.attributes and device.limits.compute_capability:
                return device
    return ABSENT_GPUS[architecture or DEFAULT]


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
    rates = {
        "copy_bytes_per_s": stated.bandwidth_gb_s * 1e9,
        "multiply_adds_per_s": stated.lanes * clocks,
        "shared_bytes_per_s": _SHARED_BYTES_PER_CLOCK * clocks,
        "instructions_per_s": SCHEDULERS * clocks,
        "int8_tensor_multiply_adds_per_s": _TENSOR.get(capability, 0) * clocks,
    }
    return {name: value for name, value in rates.items() if value > 0}


@dataclass(frozen=True, slots=True)
class ExplainedLaunch:
    """One launch, as it would be."""

    facts: LaunchFacts
    occupancy: Occupancy  # without registers where they are not known: then at most this
    # By what differs along them, each from low to high: "threads" of a block, whole warps; "registers" per
    # thread, empty where they are not known; "shared_bytes" per block.
    curves: dict[str, tuple["CurvePoint", ...]]
    constant_bytes: int  # that the kernel declares

    @property
    def is_compiled(self) -> bool:
        """Whether the registers are known."""
        return self.facts.registers is not None


def why_not_compiled() -> Reason | None:
    """Return why this process compiles no kernels, or None."""
    if missing:
        return Reason("package-missing", f"Not compiled: {missing}", remedy=INSTALL)
    return None


MOST_REGISTERS = 255
"""That a thread can have, on every GPU since compute capability 3.5."""
_KIB = 1024
STATIC_BYTES = 48 * _KIB
"""The most static shared memory of a block, on every GPU."""


class CurvePoint(NamedTuple):
    """The occupancy at one place of a curve."""

    at: int  # threads, registers per thread, or bytes
    blocks: int  # resident on a multiprocessor
    share: float  # the occupancy, 0 to 1


def explained_launch(
    facts: LaunchFacts, taken: KernelResources, gpu: GpuAttributes, constant_bytes: int = 0
) -> ExplainedLaunch:
    """Return a launch whose kernel takes these resources."""

    def point(at: int, threads: int, own: KernelResources) -> CurvePoint:
        occupancy = occupancy_of(threads, own, gpu)
        return CurvePoint(at, occupancy.blocks, occupancy.share)

    threads = facts.threads
    registers = (*range(8, MOST_REGISTERS, 8), MOST_REGISTERS) if taken.registers else ()
    pieces = range(0, STATIC_BYTES + 1, _KIB)
    curves = {
        "threads": tuple(point(at, at, taken) for at in range(WARP, gpu.most_block_threads + 1, WARP)),
        "registers": tuple(point(at, threads, taken._replace(registers=at)) for at in registers),
        "shared_bytes": tuple(point(at, threads, taken._replace(shared_bytes=at)) for at in pieces),
    }
    return ExplainedLaunch(facts, occupancy_of(threads, taken, gpu), curves, constant_bytes)


# How a sentence begins; with others, the first of them.
_LIMITS = {
    "threads": "The room for threads limits",
    "blocks": "The most blocks that fit limit",
    "registers": "Registers limit",
    "shared memory": "Shared memory limits",
    "barriers": "Barriers limit",
}


class LaunchNumber(NamedTuple):
    """A number of a launch in words, and what it means."""

    name: str
    text: str
    tip: str


def numbers_of(launch: ExplainedLaunch, unknown: str = "not known") -> tuple[LaunchNumber, ...]:
    """Return what is worth knowing of a launch, in the order of reading; `unknown` stands for registers."""
    facts, occupancy = launch.facts, launch.occupancy
    block = " × ".join(str(side) for side in facts.block if side > 1) or "1"
    by_resource = ", ".join(f"{limit.what} {limit.blocks}" for limit in occupancy.limits)
    registers = f"{facts.registers}" if launch.is_compiled else unknown
    if launch.is_compiled and facts.local_bytes:
        registers += f", {_several(facts.local_bytes, 'byte')} of local memory"
    shared = waves = halo = idle = MISSING
    if facts.shared_bytes is not None:
        shared = _several(facts.shared_bytes, "byte")
        if launch.constant_bytes:
            shared += f", {_several(launch.constant_bytes, 'byte')} of constant memory"
    if facts.waves is not None and facts.last_wave is not None:
        waves = f"{digits_text(facts.waves, 3)}, the last {percent_text(facts.last_wave)} full"
    if facts.halo_redundancy is not None:
        halo = f"{digits_text(facts.halo_redundancy, 3)} cells per result"
    if facts.idle_threads is not None:
        idle = percent_text(facts.idle_threads)
    # fmt: off
    numbers = {
        "Grid": (f"{sides_text(facts.grid)}, {_several(facts.blocks, 'block')}", "All blocks."),
        "Threads per block": (
            f"{facts.threads:,}, {_several(occupancy.block_warps, 'warp')}",
            f"{block} threads. A warp has 32, and a block takes whole warps."),
        "Registers per thread": (
            registers,
            "That the kernel takes, compiled for this architecture. What had no room in registers, and a "
            "thread's own arrays, lie in its local memory, which is global memory."),
        "Shared memory": (shared, "Of each block; constant memory is what the kernel declares."),
        "Resident blocks": (
            f"{occupancy.blocks}, limited by {occupancy.limited_by}",
            f"Blocks that a multiprocessor holds at once. It has room for, by resource: {by_resource}."),
        "Occupancy": (
            f"{_occupancy(launch)}, {occupancy.warps} of {occupancy.most_warps} warps",
            "Resident warps over those that a multiprocessor has room for. More of them hide more latency, "
            "but a kernel with more need not be faster."),
        "Waves": (
            waves,
            "How often the GPU is filled until all blocks of the grid have run. While a last wave runs that "
            "is not full, multiprocessors stand idle."),
        "Halo redundancy": (
            halo, "Cells of the input tile per result of its block: 1 would be without a halo."),
        "Idle threads": (
            idle, "Threads of the grid that compute no result, such as those beyond the picture's edge."),
    }
    # fmt: on
    return tuple(LaunchNumber(name, *texts) for name, texts in numbers.items())


def sides_text(sides: tuple[int, int, int]) -> str:
    """Return the sides of a grid or a block: two, and the third where it is not 1."""
    across, down, deep = sides
    return f"{across:,} × {down:,}" + (f" × {deep:,}" if deep > 1 else "")


def limit_sentence(launch: ExplainedLaunch) -> str:
    """Return what limits the occupancy of a launch, and what would change it."""
    occupancy, share = launch.occupancy, _occupancy(launch)
    if occupancy.refusal:
        return f"No block can be launched: {occupancy.refusal}."
    if occupancy.share >= 1:
        return f"The occupancy is {share}: no further warp has room."
    # Registers limit, Registers and blocks limit.
    first, *others = occupancy.limited_by.split(", ")
    limit = " and ".join((first.capitalize(), *others)) + " limit" if others else _LIMITS[first]
    sentence = f"{limit} the occupancy to {share}" if occupancy.blocks else f"{limit} it: not one block fits"
    # What alone would raise it: of registers and shared memory the least change, of threads the nearest
    # block that is best.
    facts, ways = launch.facts, list[str]()
    better = {name: [one for one in of if one.share > occupancy.share] for name, of in launch.curves.items()}
    for one in [one for one in better["registers"] if one.at < (facts.registers or 0)][-1:]:
        ways.append(f"{percent_text(one.share)} with {one.at} registers per thread")
    for one in [one for one in better["shared_bytes"] if one.at < (facts.shared_bytes or 0)][-1:]:
        ways.append(f"{percent_text(one.share)} with {one.at // _KIB} KiB of shared memory")
    for one in sorted(better["threads"], key=lambda one: (-one.share, abs(one.at - facts.threads)))[:1]:
        ways.append(f"{percent_text(one.share)} with {one.at:,} threads per block")
    if not ways:
        return f"{sentence}. No change of threads, registers or shared memory alone would raise it."
    return f"{sentence}. It would be {', or '.join(ways)}."


def _occupancy(launch: ExplainedLaunch) -> str:
    return f"{'' if launch.is_compiled else 'at most '}{percent_text(launch.occupancy.share)}"


def _several(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"
