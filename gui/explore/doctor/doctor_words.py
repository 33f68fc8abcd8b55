"""What the doctor says of a mask: names, numbers and what they mean. No widgets in here."""

from engine.geometry.border import Border
from engine.mask.analysis import (
    Examination,
    describe,
    describe_sum,
    kept_in_a_corner,
    pixels_at_borders,
    reach,
)
from gui.widgets.findings import Finding

_MOST_VALUES = 6
# Singular values below are 0 but for the rounding of the weights to float32.
_LEAST_SHARE = 2.0**-24


def findings(known: Examination, border: Border, shape: tuple[int, int, int] | None) -> list[Finding]:
    """Return what is to be said of a mask on a picture of (height, width, channels), or on none."""
    mask = known.mask
    about_rank, _, about_turn, _ = describe(mask)
    total = describe_sum(mask)
    costs = {"direct": mask.taps}
    if known.factors is not None:
        costs["as column and row"] = sum(mask.shape)
    found = [
        Finding("Gain", gain_text(known), _GAIN_TIP),
        Finding("Sum", total.short.removeprefix("The weights add up to "), total.sentence),
        Finding("Rank", _rank_text(known), about_rank.sentence),
        Finding("Singular values", _values_text(known.singular_values), _VALUES_TIP),
        Finding("Symmetry", _symmetry_text(known), about_turn.sentence),
        Finding("Multiply-adds", _cost_text(costs, 1), _COST_TIP),
    ]
    if shape is not None:
        height, width, channels = shape
        found.append(Finding("For the picture", _cost_text(costs, height * width * channels), _COST_TIP))
        found.append(Finding("At borders", _border_text(known, border, height, width), border.sentence))
    return found


_GAIN_TIP = (
    "How strong stripes of a frequency are in the result: dark is 0, bright the most. Frequencies are in\n"
    "cycles per pixel: 0 is an even area, ½ the finest stripes there are, one pixel bright and one dark."
)
_VALUES_TIP = (
    "The mask is a sum of products of a column and a row, each as strong as its singular value.\n"
    "With one of them the mask is separable."
)
_COST_TIP = (
    "Multiply-adds of a kernel that takes every cell, and of two passes along columns and rows.\n"
    "Transforms and running sums do with fewer."
)


def gain_text(known: Examination) -> str:
    """Return the gain at frequency 0, and the strongest frequency, in one line."""
    response = known.response
    across, down = response.strongest
    zero = f"{response.gain_at_zero:.3g}"
    if describe_sum(known.mask).short.endswith(" 0"):
        zero = "0"
    at_zero = f"{zero} at frequency 0"
    if across == down == 0.0:
        return f"{at_zero}, the largest"
    return f"{at_zero}; largest {response.largest:.3g} at {across:.2g} across, {down:.2g} down"


def _rank_text(known: Examination) -> str:
    if known.facts.separable:
        return f"{known.facts.rank}, separable" if known.facts.rank else "0"
    return f"{known.facts.rank}, not separable"


def _values_text(values: tuple[float, ...]) -> str:
    kept = [value for value in values if value > _LEAST_SHARE * values[0]] or [0.0]
    shown = ", ".join(f"{value:.3g}" for value in kept[:_MOST_VALUES])
    more = len(kept) - _MOST_VALUES
    return f"{shown}, and {more} more" if more > 0 else shown


def _symmetry_text(known: Examination) -> str:
    if known.facts.is_point_symmetric:
        return "symmetric: a 180° turn changes nothing"
    if known.facts.is_point_antisymmetric:
        return "antisymmetric: a 180° turn flips the sign"
    return "none: a 180° turn makes another mask"


def _cost_text(costs: dict[str, int], times: int) -> str:
    return ", ".join(f"{_short(count * times)} {way}" for way, count in costs.items())


def _short(count: int) -> str:
    for size, name in ((10**9, "billion"), (10**6, "million")):
        if count >= size:
            return f"{count / size:.3g} {name}"
    return f"{count:,}"


def _border_text(known: Examination, border: Border, height: int, width: int) -> str:
    above, below, left, right = reach(known.mask)
    if not any((above, below, left, right)):
        return "reads no cell outside the picture"
    pixels = pixels_at_borders(known.mask, height, width)
    share = f"{100 * pixels / (height * width):.2g} %"
    reached = f"reaches {above} up, {below} down, {left} left, {right} right"
    if above == below == left == right:
        reached = f"reaches {above} to each side"
    kept = kept_in_a_corner(known.mask, border)
    dark = f"; a corner keeps {100 * kept:.3g} % of an even area" if kept is not None else ""
    return f"{pixels:,} pixels ({share}) read {border.value} cells: it {reached}{dark}"
