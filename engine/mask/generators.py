"""Masks from a few numbers: the functions of the generators in `generator_table`, which has their ranges.

`generate` reads the short spelling of the command line, such as `gaussian:9:1.5`, `box:7x3` (rows x columns),
`motion:9:45`, `log:9:1.4` and `disk:7`.
"""

import math
import re
from collections.abc import Callable, Sequence

import numpy as np

from engine.errors import BadValue, MaskError, closest
from engine.mask.generator_table import GENERATORS, Generator
from engine.mask.mask import SIDES_ALLOWED, Mask, Weights, is_size_allowed, largest_sides
from engine.mask.typed import with_point

# Rounding of sine and cosine puts about 1e-16 into cells beside a line; no real weight is that small.
_DUST = 1e-9

# A larger part of a Gaussian that lies outside its mask is worth a word.
_MOST_CUT = 0.15


def box(rows: int, columns: int | None = None) -> Mask:
    """Return the mean over `rows` x `columns` cells (square when only `rows` is given)."""
    columns = rows if columns is None else columns
    return Mask(np.full((rows, columns), 1.0 / (rows * columns)), name=f"Box {rows} × {columns}")


def gaussian(rows: int, columns: int | None = None, sigma: float | None = None) -> Mask:
    """Return a Gaussian bell sampled at the cells and divided by its sum.

    Square when only `rows` is given. By default `sigma` is a sixth of the longer side, so that the mask holds
    the bell out to three standard deviations.
    """
    columns = rows if columns is None else columns
    sigma = max(rows, columns) / 6.0 if sigma is None else sigma
    weights = np.outer(_bell(rows, sigma), _bell(columns, sigma))
    return Mask(weights / weights.sum(), name=f"Gaussian {rows} × {columns}, sigma {sigma:.3g}")


def motion(length: int, angle_deg: float) -> Mask:
    """Return the mean along a line, as a camera sees that moves during the exposure."""
    angle, half = math.radians(angle_deg % 180.0), (length - 1) / 2.0
    # Rows are counted downwards, so a line that rises to the right goes to smaller rows.
    along_row, along_column = -math.sin(angle), math.cos(angle)
    reach = math.ceil(half)
    row, column = np.mgrid[-reach : reach + 1, -reach : reach + 1].astype(np.float64)
    on_line = np.clip(row * along_row + column * along_column, -half, half)
    distance = np.hypot(row - on_line * along_row, column - on_line * along_column)
    # From 1 on the line to 0 at one pixel from it.
    weights = np.maximum(0.0, 1.0 - distance)
    weights[weights < _DUST] = 0.0
    rows, columns = np.flatnonzero(weights.any(axis=1)), np.flatnonzero(weights.any(axis=0))
    # Without empty edges.
    weights = weights[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]
    return Mask(weights / weights.sum(), name=f"Motion blur {length}, {angle_deg:g} degrees")


def laplacian_of_gaussian(side: int, sigma: float) -> Mask:
    """Return the Laplacian of a Gaussian, negative in the middle, with weights that add up to 0."""
    squared = (np.arange(side) - side // 2) ** 2.0 / sigma**2
    radius_squared = squared[:, np.newaxis] + squared[np.newaxis, :]
    weights = (radius_squared - 2.0) * np.exp(-radius_squared / 2.0) / (2.0 * math.pi * sigma**4)
    # Cut off at the edges, the weights do not quite cancel, and a uniform area would not become 0.
    return Mask(weights - weights.mean(), name=f"Laplacian of Gaussian {side}, sigma {sigma:.3g}")


def disk(side: int) -> Mask:
    """Return the mean over a round area of the given diameter in pixels, as a lens out of focus sees."""
    squared = (np.arange(side) - (side - 1) / 2.0) ** 2
    inside = squared[:, np.newaxis] + squared[np.newaxis, :] <= (side / 2.0) ** 2
    return Mask(inside / inside.sum(), name=f"Disk {side}")


def difference_of_gaussians(side: int, sigma: float, ratio: float) -> Mask:
    """Return a Gaussian less a wider one, whose weights add up to 0.

    With 1.6 times the width it is nearest to the Laplacian of a Gaussian: D. Marr and E. Hildreth, "Theory of
    edge detection", Proceedings of the Royal Society of London B 207, 1980.
    """
    narrow, wide = (np.outer(bell, bell) for bell in (_bell(side, sigma), _bell(side, sigma * ratio)))
    weights = narrow / narrow.sum() - wide / wide.sum()
    return Mask(weights, name=f"Difference of Gaussians {side}, sigma {sigma:.3g}")


def gabor(
    side: int, wavelength: float, angle_deg: float, sigma: float, phase_deg: float, aspect: float
) -> Mask:
    """Return a cosine under a Gaussian, without its mean under the Gaussian: a uniform area becomes 0.

    exp(-(u^2 + aspect^2 v^2) / (2 sigma^2)) (cos(2 pi u / wavelength + phase) - mean), with u across the
    stripes and v along them, divided by the sum of the weights without signs. J. Daugman, "Uncertainty
    relation for resolution in space, spatial frequency, and orientation optimized by two-dimensional visual
    cortical filters", Journal of the Optical Society of America A 2, 1985.
    """
    across, along = _turned(side, angle_deg)
    bell = np.exp(-(across**2 + (aspect * along) ** 2) / (2.0 * sigma**2))
    wave = np.cos(2.0 * math.pi * across / wavelength + math.radians(phase_deg))
    weights = bell * (wave - (bell * wave).sum() / bell.sum())
    # Where every cell has one value there is no stripe: a single cell, or crests that fall on all cells.
    if np.abs(weights).max() <= _DUST * bell.max():
        remedy = "Take a larger side or another wavelength."
        raise BadValue("This Gabor mask cannot be made", "all its weights are 0", remedy)
    name = f"Gabor {side}, wavelength {wavelength:.3g}, {angle_deg:g} degrees"
    return Mask(weights / np.abs(weights).sum(), name=name)


def unsharp(side: int, sigma: float, amount: float) -> Mask:
    """Return the picture and `amount` times what a Gaussian takes from it; the weights add up to 1.

    (1 + amount) identity - amount Gaussian: unsharp masking, highboost filtering for amounts above 1. R.
    Gonzalez and R. Woods, "Digital Image Processing", the section of that name.
    """
    weights = -amount * gaussian(side, sigma=sigma).weights
    weights[side // 2, side // 2] += 1.0 + amount
    return Mask(weights, name=f"Unsharp mask {side}, sigma {sigma:.3g}, amount {amount:g}")


def edge(side: int, angle_deg: float, sigma: float) -> Mask:
    """Return the slope of a Gaussian in one direction: 1 where the picture rises by 1 a pixel that way.

    u exp(-(u^2 + v^2) / (2 sigma^2)), with u in the direction, divided by the sum of the weights times u. The
    slopes in all directions are sums of two: W. Freeman and E. Adelson, "The design and use of steerable
    filters", IEEE Transactions on Pattern Analysis and Machine Intelligence 13, 1991.
    """
    across, along = _turned(side, angle_deg)
    weights = across * np.exp(-(across**2 + along**2) / (2.0 * sigma**2))
    weights[np.abs(weights) < _DUST * np.abs(weights).max()] = 0.0
    name = f"Oriented edge {side}, {angle_deg:g} degrees, sigma {sigma:.3g}"
    return Mask(weights / (weights * across).sum(), name=name)


_MAKERS: dict[str, Callable[..., Mask]] = {
    "box": box,
    "gaussian": gaussian,
    "disk": disk,
    "motion": motion,
    "unsharp": unsharp,
    "edge": edge,
    "log": laplacian_of_gaussian,
    "dog": difference_of_gaussians,
    "gabor": gabor,
}


def make(generator: Generator, sides: Sequence[int], numbers: Sequence[float] = ()) -> Mask:
    """Return a generator's mask, missing sides as the first, numbers by default; BadValue out of range."""
    sides = [*sides, *sides][: len(generator.sides)]
    side, is_square, rows, columns = generator.sides[0], len(generator.sides) == 1, sides[0], sides[-1]
    if not is_size_allowed(rows, columns) or rows < side.least or (rows - side.least) % side.step:
        most = side.most if is_square else max(largest_sides(rows, columns))
        number = f"{'a whole' if side.step == 1 else 'an odd'} number from {side.least:g} to {most:g}"
        what = f"{generator.title} of {rows} × {columns} cells cannot be made"
        why = f"its {side.name} is {number}" if is_square else SIDES_ALLOWED
        raise BadValue(what, why, f"Take {number}.")
    left_out = generator.numbers[len(numbers) :]
    values = [*numbers, *(parameter.default_in(max(sides)) for parameter in left_out)]
    for parameter, value in zip(generator.numbers, values, strict=True):
        # Angles go round.
        is_angle = parameter.unit == "°" and math.isfinite(value)
        if not (is_angle or parameter.least <= value <= parameter.most):
            unit = f" {parameter.unit}".replace(" °", "°") if parameter.unit else ""
            what = f"The {parameter.title.lower()} {value:g} cannot be used"
            why = f"it goes from {parameter.least:g} to {parameter.most:g}{unit}"
            raise BadValue(what, why, f"Write it as in {generator.example}.")
    return _MAKERS[generator.key](*sides, *values)


def generate(spelling: str) -> Mask | None:
    """Return the mask of a spelling, None for another text; BadValue for wrong numbers of a generator."""
    read = read_spelling(spelling)
    return make(*read) if read is not None else None


def read_spelling(spelling: str) -> tuple[Generator, list[int], list[float]] | None:
    """Return the generator, the sides and the numbers of a spelling, or None; raises as `generate`."""
    name, colon, rest = spelling.strip().partition(":")
    generator = GENERATORS.get(name.strip().lower())
    if generator is None or not colon:
        return None
    size, *words = (word.strip() for word in rest.split(":"))
    try:
        sides = [int(side) for side in re.split("[x×]", size.lower())]
        numbers = [float(with_point(word, "it")) for word in words]
        if len(sides) > len(generator.sides) or len(numbers) > len(generator.numbers):
            raise ValueError("there are more numbers than it takes")
    except ValueError as error:
        what, remedy = f"{spelling[:40]!r} makes no mask", f"Write {generator.form.lower()}, as in"
        raise BadValue(what, "its numbers are not understood", f"{remedy} {generator.example}.") from error
    return generator, sides, numbers


def cut_sentence(spelling: str) -> str:
    """Return that the sides of a spelled mask, beside those of 1, cut off much of its Gaussian; else ""."""
    if (read := read_spelling(spelling)) is None:
        return ""
    generator, sides, numbers = read
    defaults = {parameter.name: parameter.default_for(max(sides)) for parameter in generator.numbers}
    if "sigma" not in defaults:
        return ""
    values = defaults | dict(zip(defaults, numbers, strict=False))
    # Of a difference of Gaussians the wider one.
    sigma = values["sigma"] * values.get("ratio", 1.0)
    kept = math.prod(math.erf(side / sigma / math.sqrt(8)) for side in sides * (3 - len(sides)) if side > 1)
    if kept > 1 - _MOST_CUT:
        return ""
    return (
        f"{spelling.strip()}: {100 * (1 - kept):.0f} % of the Gaussian of sigma {sigma:g} lies outside the "
        f"mask and is cut off; {math.ceil(6 * sigma):,} cells (6 sigma) hold it."
    )


def parse_generator(text: str) -> Mask | None:
    """Return the mask of a spelling in a text of masks, or None; wrong numbers raise MaskError as there."""
    try:
        return generate(text)
    except BadValue as error:
        raise MaskError(error.what, error.why, error.remedy) from error


def misspelt_generator(spelling: str) -> str | None:
    """Return what a text such as `gauss:9` was probably meant to be (`gaussian:9`), or None."""
    name, colon, rest = spelling.strip().partition(":")
    wanted = name.lower()
    if wanted in GENERATORS:
        return None if colon else GENERATORS[wanted].example
    near = closest(wanted, GENERATORS) if colon else None
    return f"{near}:{rest}" if near else None


def _bell(side: int, sigma: float) -> Weights:
    squared = (np.arange(side) - (side - 1) / 2.0) ** 2
    bell: Weights = np.exp(-squared / (2.0 * sigma**2))
    return bell


def _turned(side: int, angle_deg: float) -> tuple[Weights, Weights]:
    """Return how far each cell is from the middle, in a direction and counter-clockwise across it."""
    angle = math.radians(angle_deg)
    at = np.arange(side) - (side - 1) / 2.0
    # Rows are counted downwards, and up is positive here.
    right, up = at[np.newaxis, :], -at[:, np.newaxis]
    return right * math.cos(angle) + up * math.sin(angle), up * math.cos(angle) - right * math.sin(angle)
