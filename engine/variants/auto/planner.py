"""`auto`: chooses a device and a variant, and says why. It never hides which one ran."""

import math
from dataclasses import dataclass, replace
from functools import lru_cache

from engine.device_info import AUTO, DeviceInfo
from engine.geometry.block import Block
from engine.mask.factors import factor
from engine.mask.mask import Mask
from engine.tasks.filtering.problem import Problem
from engine.variants.auto.costs import CostTable, cost_table, rates_of
from engine.variants.auto.suitability import why_not
from engine.variants.box.box_mask import is_box
from engine.variants.contract import Growth, MaskClass, Variant
from engine.variants.registry import VARIANTS, variant


@dataclass(frozen=True, slots=True)
class Choice:
    """The variant that runs, and why it was chosen where nobody named it."""

    variant: Variant
    block: Block
    reason: str = ""


def choose(
    key: str, problem: Problem, mask: Mask, block: Block | None, device: DeviceInfo, in_bands: bool = False
) -> Choice:
    """Return the variant and the block that a request means on a device.

    Parameters
    ----------
    key : str
        A variant's key, which is taken at its word, or "auto".
    problem : Problem
    mask : Mask
    block : Block, optional
        None: the variant's default.
    device : DeviceInfo
        `auto` chooses among the variants written for its kind the one that takes the least time by
        `engine.variants.auto.costs`, if its results are sure to hold the bound of a direct sum.
    in_bands : bool
        The picture is filtered in bands: `auto` chooses among the variants whose results do not change by that.

    Raises
    ------
    UnknownName
        No variant is called so.
    """
    if key != AUTO:
        chosen = variant(key)
        return Choice(chosen, block or chosen.default_block)
    return _fastest(problem, mask, block, device, cost_table(device.kind), in_bands)


# The same picture size and mask again, as in a stream: 0.1 to 0.4 ms less before the first copy.
@lru_cache(maxsize=64)
def _fastest(
    problem: Problem, mask: Mask, block: Block | None, device: DeviceInfo, table: CostTable, in_bands: bool
) -> Choice:
    """Return the choice of `auto` by a table of costs."""
    candidates = [
        (candidate, block if block is not None and candidate.uses_block else candidate.default_block)
        for candidate in VARIANTS
        if candidate.device.value == device.kind and (candidate.band_invariant or not in_bands)
    ]
    able = [
        (candidate, wanted)
        for candidate, wanted in candidates
        if why_not(candidate, problem, mask, wanted, device.limits) is None
    ]
    if not able:
        candidate, wanted = candidates[0]
        return Choice(candidate, block or wanted, "nothing else suits this block")
    rates = rates_of(device, table.rates)
    times_us = {
        candidate.key: table.time_us(candidate, problem, rates, candidate.repeats_of(mask))
        for candidate, _ in able
    }
    # A plain sum wins where another method is hardly faster.
    order = sorted(
        able, key=lambda way: times_us[way[0].key] * (1.0 if way[0].grows_with is Growth.CELLS else _LEAD)
    )
    # Few are asked: of a transform the answer takes SciPy, which takes 0.14 s to load.
    place = next((n for n, way in enumerate(order) if holds_bound(way[0], problem, mask)), 0)
    chosen, wanted = order[place]
    where = "on a GPU like the one measured" if device.key == "simulator" else "here"
    reason = _reason([way[0] for way in order], place, times_us, problem, mask, where)
    if problem.is_quantised:
        in_float32 = choose(
            AUTO, replace(problem, result_dtype="float32"), mask, block, device, in_bands
        ).variant
        if not in_float32.integer_output:
            reason += f"; {in_float32.key} would be faster, but writes float32 results only"
    return Choice(chosen, wanted, reason)


_LEAD = 1.05


def holds_bound(candidate: Variant, problem: Problem, mask: Mask) -> bool:
    """Return whether a variant's results are sure to lie within the bound of a direct sum, whatever the picture.

    Two passes make rows + columns roundings more than their rounded factors do, which is more than a direct sum of so few
    cells is granted (`engine.variants.ladder.two_passes`). A transform is sure where results are whole numbers. A float32
    picture may have NaN or infinity, which nobody has looked for yet.
    """
    rows, columns = problem.mask_shape
    few_cells = min(rows, columns) == 2 and rows * columns <= 8
    if candidate.finite_only and problem.dtype == "float32":
        return False
    two_passes = candidate.masks is MaskClass.PRODUCTS
    return not (two_passes and few_cells) and candidate.added_error(problem, mask) == 0.0


def _reason(
    order: list[Variant], place: int, times_us: dict[str, float], problem: Problem, mask: Mask, where: str
) -> str:
    """Return why the variant at a place of the order was chosen: what the mask is, about how long it takes, the next best."""
    chosen, after, passed_over = order[place], order[place + 1 :], order[:place]
    words = f"{mask.rows} x {mask.columns}{_about(mask)}"
    if math.isinf(times_us[chosen.key]):
        return f"{words}; nothing was measured of those that suit"
    if chosen.library:
        words += "; a Fourier transform, exact because results are whole numbers of a unit"
    if chosen.rank > 1:
        words += f"; a sum of {chosen.rank} columns times rows"
    words += f"; about {_milliseconds(times_us[chosen.key])} {where}"
    if after and not math.isinf(times_us[after[0].key]):
        words += f", {after[0].key} about {_milliseconds(times_us[after[0].key])}"
    for other in passed_over[:1]:
        but = "may be off by more than a direct sum"
        if other.finite_only and other.added_error(problem, mask) == 0.0:
            but = "takes no NaN and no infinity"
        words += f"; {other.key} would take about {_milliseconds(times_us[other.key])}, but {but}"
    return words


def _about(mask: Mask) -> str:
    if is_box(mask):
        return ", equal weights"
    return ", rank 1" if factor(mask).separable else ""


def _milliseconds(time_us: float) -> str:
    time_ms = time_us / 1e3
    return f"{time_ms:,.0f} ms" if time_ms >= 10.0 else f"{time_ms:.2g} ms"
