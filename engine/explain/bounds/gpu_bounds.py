"""Lower bounds of a filter on a GPU: the least time of each launch for each thing that it must do.

What the launches ask of memory is counted (`engine.explain.counts`), what they execute is bounded by their
compiled code (`least_work.py`), and the rates are those measured on the device (`engine.explain.limits`).
"""

from collections.abc import Iterator
from dataclasses import dataclass

from engine.device.launches import Launch, Pass
from engine.explain.architectures import Architecture
from engine.explain.bounds.issued import integers, issues, multiply_adds, on_64_bit, tensor_multiply_adds
from engine.explain.bounds.least_work import ExecutedCode, Weigh
from engine.explain.code.instruction_classes import InstructionClass
from engine.explain.code.kernel_listing import listing_of, nearest_form
from engine.explain.code.listing import Form
from engine.explain.counts.accesses import BANKS, SECTOR_BYTES, WARP, WORD_BYTES, CountedAccesses
from engine.explain.launch.gpu_limits import Gpu
from engine.explain.limits.device_limits import DeviceLimits, Limit
from engine.results.explained_time import Bound

_WAVEFRONT_BYTES = BANKS * WORD_BYTES
SCHEDULERS = 4
"""Of a multiprocessor; each issues an instruction of one warp per clock (CUDA C++ Programming Guide,
"Hardware Multithreading", for all compute capabilities from 7.0 on)."""


@dataclass(frozen=True, slots=True)
class BoundLaunch:
    """The bounds of one launch, and what a sentence says of its instructions."""

    bounds: tuple[Bound, ...]
    uses_tensor_cores: bool
    instructions: float  # of warps, the fewest
    on_64_bit: float  # those of them on 64-bit integers and addresses

    @property
    def least_ms(self) -> float:
        """The tallest bound."""
        return max((bound.ms for bound in self.bounds), default=0.0)


def bound_launch(step: Pass, counted: CountedAccesses, gpu: Gpu, limits: DeviceLimits) -> BoundLaunch:
    """Return the bounds of a pass on a GPU of known limits.

    Its kernel is compiled where it is not kept, 0.2 to 0.5 s.
    """
    form = nearest_form()
    code = executed_code(step, counted, gpu.architecture, form)
    bounds = [
        Bound(key, title, 1e3 * amount * uneven / rate.measured, amount, unit, rate.measured, source)
        for key, title, amount, unit, rate, source, uneven in _amounts(
            code, counted, step.launch, gpu, limits
        )
        if rate is not None and amount > 0
    ]
    uses_tensor_cores = any(line.kind is InstructionClass.TENSOR for line in code.listing.lines)
    issued, wide = code.along(issues(form)), code.along(on_64_bit)
    return BoundLaunch(tuple(bounds), uses_tensor_cores, issued, wide)


def executed_code(
    step: Pass, counted: CountedAccesses, architecture: Architecture, form: Form
) -> ExecutedCode:
    """Return the code of a pass with what its warps do there; SASS needs a disassembler."""
    warps = step.launch.blocks * -(-_threads(step.launch) // WARP)
    return ExecutedCode(listing_of(step.kernel, step.signature, architecture, form), counted, warps)


_Amount = tuple[str, str, float, str, Limit | None, str, float]


def _amounts(
    code: ExecutedCode, counted: CountedAccesses, launch: Launch, gpu: Gpu, limits: DeviceLimits
) -> Iterator[_Amount]:
    """Yield what a launch must do.

    Key, title, how much of what, the device's rate, what it is counted from, and how much more of it the
    busiest multiprocessor has than the mean.
    """
    form, architecture = code.listing.form, gpu.architecture
    uneven, of_issue = _uneven(launch, gpu.attributes.multiprocessors)
    source = "the kernel's source"
    moved = float(counted.launch_sectors * SECTOR_BYTES)
    copied = limits.copy_rate(moved)
    yield "copy", "copy", moved, "bytes", Limit(copied) if copied else None, source, 1.0
    wavefronts = counted.global_accesses.transactions + counted.shared_accesses.wavefronts
    shared = limits.shared_bytes_per_s
    rate = shared and Limit(shared.measured / _WAVEFRONT_BYTES)
    yield "l1", "L1 and shared memory", wavefronts, "wavefronts", rate, source, uneven
    written = str(form).upper() if form is Form.SASS else "PTX, estimated"
    source = f"{written} of {architecture}"
    issued, rate = code.least(issues(form)), limits.instructions_per_s
    yield "instructions", "instructions issued", issued, "instructions", rate, source, of_issue
    lanes: list[tuple[str, str, Weigh | None, Limit | None]] = [
        ("integers", "integer instructions", integers(form, architecture), limits.integer_operations_per_s),
        ("multiply-adds", "multiply-adds", multiply_adds(form), limits.multiply_adds_per_s),
    ]
    for key, title, weigh, limit in lanes:
        if weigh is not None and limit is not None:
            rate = Limit(limit.measured / WARP)
            yield key, title, code.least(weigh), "instructions", rate, source, of_issue
    for kind in ("int8", "float16"):
        limit = getattr(limits, f"{kind}_tensor_multiply_adds_per_s")
        amount = code.least(tensor_multiply_adds(kind))
        yield f"{kind}-tensor", f"tensor cores, {kind}", amount, "multiply-adds", limit, source, uneven
    blocks = float(launch.blocks)
    yield "blocks", "blocks started", blocks, "blocks", limits.blocks_per_s, "the grid", 1.0
    yield "launch", "launch", 1.0, "launches", limits.launches_per_s, "the plan", 1.0


def _uneven(launch: Launch, multiprocessors: int) -> tuple[float, float]:
    """Return how much more than the mean the busiest multiprocessor has to do, and its busiest scheduler.

    One has a whole number of blocks, the other a whole number of warps.
    """
    if not multiprocessors:
        return 1.0, 1.0
    blocks, warps = -(-launch.blocks // multiprocessors), -(-_threads(launch) // WARP)
    busiest = -(-blocks * warps // SCHEDULERS) * SCHEDULERS
    mean = launch.blocks / multiprocessors
    return blocks / mean, busiest / (mean * warps)


def _threads(launch: Launch) -> int:
    return launch.block[0] * launch.block[1] * launch.block[2]
