"""`auto`: chooses a device and a variant, and says why. It never hides which one ran."""

import math
from functools import lru_cache

from msgspec.structs import replace

from engine.device_info import AUTO, DeviceInfo
from engine.errors import Reason
from engine.geometry.block import Block
from engine.mask.mask import Mask
from engine.run.task import Choice
from engine.work.filtering.auto.costs import CostTable, cost_table, rates_of
from engine.work.filtering.problem import Problem
from engine.work.filtering.variants import VARIANTS, Growth, MaskClass, Variant, variant


def choose(
    key: str, problem: Problem, mask: Mask, block: Block | None, device: DeviceInfo, in_bands: bool = False
) -> Choice[Variant]:
    """Return the variant and the block that a request means on a device.

    Parameters
    ----------
    key : str
        A variant's key, which is obeyed, or "auto".
    problem : Problem
    mask : Mask
    block : Block, optional
        None: the variant's default.
    device : DeviceInfo
        `auto` chooses, among the variants for its kind whose results are sure to hold the bound of a direct
        sum, the one with the least time by `engine.work.filtering.auto.costs`.
    in_bands : bool
        Whether the picture is filtered in bands: `auto` chooses among the `band_invariant` variants.

    Raises
    ------
    UnknownName
        There is no such variant.
    """
    if key != AUTO:
        chosen = variant(key)
        return Choice(chosen, block or chosen.default_block)
    return _fastest(problem, mask, block, device, cost_table(device.kind), in_bands)


# The same picture size and mask again, as in a stream: 0.1 to 0.4 ms less before the first copy.
@lru_cache(maxsize=64)
def _fastest(
    problem: Problem, mask: Mask, block: Block | None, device: DeviceInfo, table: CostTable, in_bands: bool
) -> Choice[Variant]:
    """Return the choice of `auto` by a table of costs."""
    candidates = [
        candidate for candidate in VARIANTS.on(device.kind) if candidate.band_invariant or not in_bands
    ]

    able = [
        candidate
        for candidate in candidates
        if candidate.why_not(problem, mask, candidate.block_for(block), device.limits) is None
    ]
    if not able:
        first = candidates[0]
        nothing = Reason("nothing-suits", "nothing else suits this block")
        return Choice(first, block or first.default_block, nothing)
    rates = rates_of(device, table.rates)
    times_us = {one.key: table.time_us(one, problem, rates, one.repeats_of(mask)) for one in able}
    # A plain sum wins where another method is hardly faster.
    order = sorted(
        able, key=lambda one: times_us[one.key] * (1.0 if one.grows_with is Growth.CELLS else _LEAD)
    )
    # Few are asked: for a transform the answer takes the steps of all weights.
    position = next((n for n, candidate in enumerate(order) if holds_bound(candidate, problem, mask)), 0)
    reason = _reason(order, position, times_us, problem, mask, device.key == "simulator")
    if problem.is_quantised:
        in_float32 = choose(
            AUTO, replace(problem, result_dtype="float32"), mask, block, device, in_bands
        ).variant
        if not in_float32.integer_output:
            reason = reason.and_also(f"{in_float32.key} would be faster, but writes float32 results only")
    return Choice(order[position], order[position].block_for(block), reason)


_LEAD = 1.05

# What a process waits for before its first kernel: Numba's CUDA target (0.65 s), the driver's context, the
# kernel's code.
GPU_START_S = 1.2
# Copies from and to memory that is not pinned.
PAGEABLE_GB_S = 6.0


def why_not_gpu(problem: Problem, mask: Mask, cpu: DeviceInfo, pictures: int) -> str:
    """Return why so many pictures that come from files are filtered on the CPU; empty if a GPU may be faster.

    A GPU that this process has not used yet has to be started, and each picture copied there and back. What
    decoding and encoding take is the same for both.
    """
    cpu_us = kernel_us(problem, mask, cpu) * pictures
    gpu_us = GPU_START_S * 1e6 + pictures * problem.copied_bytes / PAGEABLE_GB_S / 1e3
    if cpu_us > gpu_us:
        return ""
    return f"a GPU would take {milliseconds(gpu_us)} to start and copy"


def kernel_us(problem: Problem, mask: Mask, device: DeviceInfo) -> float:
    """Return about how long the variant that `auto` chooses takes on a device, us."""
    chosen, table = choose(AUTO, problem, mask, None, device).variant, cost_table(device.kind)
    return table.time_us(chosen, problem, rates_of(device, table.rates), chosen.repeats_of(mask))


def holds_bound(candidate: Variant, problem: Problem, mask: Mask) -> bool:
    """Return whether a variant's results lie within the bound of a direct sum, whatever the picture.

    Two passes round more often than a direct sum of a few cells is granted
    (`engine.variants.ladder.separable`), and where samples are subnormal, which is granted to them and asked
    of no picture here. A transform is sure where results are integers. A float32 picture
    may have NaN or infinity: its samples have not been read yet.
    """
    rows, columns = problem.mask_shape
    few_cells = min(rows, columns) == 2 and rows * columns <= 8
    if candidate.finite_only and problem.dtype == "float32":
        return False
    two_passes = candidate.masks is MaskClass.PRODUCTS
    return not (two_passes and few_cells) and candidate.added_error(problem, mask) == 0.0


def _reason(
    order: list[Variant],
    position: int,
    times_us: dict[str, float],
    problem: Problem,
    mask: Mask,
    is_simulated: bool,
) -> Reason:
    """Return why the variant at a position was chosen: its time, and its neighbours' times."""
    chosen, passed_over, after = order[position], order[:position][:1], order[position + 1 :][:1]
    if math.isinf(times_us[chosen.key]):
        return Reason("not-measured", "nothing was measured of those that suit")
    short = f"estimated {milliseconds(times_us[chosen.key])}{' on the GPU that was measured' * is_simulated}"
    also = [
        f"next best: {other.key} ({milliseconds(times_us[other.key])})"
        for other in after
        if not math.isinf(times_us[other.key])
    ]
    if chosen.library:
        also.append("a Fourier transform, exact because results are whole numbers of a unit")
    for other in passed_over:
        but = "its error may exceed that of a direct sum"
        if other.finite_only and other.added_error(problem, mask) == 0.0:
            but = "it takes no NaN and no infinity"
        also.append(f"not {other.key} ({milliseconds(times_us[other.key])}): {but}")
    return Reason("least-estimated-time", short).and_also(*also)


def milliseconds(time_us: float) -> str:
    """Return a time in words."""
    time_ms = time_us / 1e3
    return f"{time_ms:,.0f} ms" if time_ms >= 10.0 else f"{time_ms:.2g} ms"
