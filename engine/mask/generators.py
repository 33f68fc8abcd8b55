"""Masks from a few numbers: box, Gaussian, motion blur, Laplacian of Gaussian, disk.

Sides are 1 to 63 cells, or 1 to 127 in one row or column; a number that is out of range raises `BadValue`.
`generate` reads the short spelling of the command line, such as `gaussian:9:1.5`, `box:7x3` (rows x columns),
`motion:9:45`, `log:9:1.4` and `disk:7`.
"""

import math
from collections.abc import Callable
from typing import NamedTuple, NoReturn

import numpy as np

from engine.errors import BadValue, closest
from engine.mask.mask import MAX_SIDE, SIDES_ALLOWED, Mask, Weights, is_size_allowed, largest_sides

# Below 0.1 nothing but the middle is left, and on an even side, which has no middle cell, 0.01 would
# underflow.
_SIGMA_MIN, _SIGMA_MAX = 0.1, 100.0

# Rounding of sine and cosine puts about 1e-16 into cells beside a line; no real weight is that small.
_DUST = 1e-9


def box(rows: int, columns: int | None = None) -> Mask:
    """Return the mean over `rows` x `columns` cells (square when only `rows` is given)."""
    columns = rows if columns is None else columns
    _check_side("box", rows, columns)
    return Mask(np.full((rows, columns), 1.0 / (rows * columns)), name=f"Box {rows} × {columns}")


def gaussian(rows: int, columns: int | None = None, sigma: float | None = None) -> Mask:
    """Return a Gaussian bell sampled at the cells and divided by its sum.

    Parameters
    ----------
    rows, columns : int
        Sides, 1 to 63, or 1 to 127 in one row or column; square when only `rows` is given.
    sigma : float, optional
        Standard deviation in pixels, 0.1 to 100; by default a sixth of the longer side, so that the mask
        holds the bell out to three standard deviations.
    """
    columns = rows if columns is None else columns
    _check_side("Gaussian", rows, columns)
    sigma = max(max(rows, columns) / 6.0, _SIGMA_MIN) if sigma is None else sigma
    _check_sigma(sigma)
    weights = np.outer(_bell(rows, sigma), _bell(columns, sigma))
    return Mask(weights / weights.sum(), name=f"Gaussian {rows} × {columns}, sigma {sigma:.3g}")


def motion(length: int, angle_deg: float = 0.0) -> Mask:
    """Return the mean along a line, as a camera sees that moves during the exposure.

    A cell's weight falls from 1 on the line to 0 at one pixel from it; then all are divided by their sum.

    Parameters
    ----------
    length : int
        Length of the line in pixels, 1 to 63.
    angle_deg : float
        Direction in degrees, counter-clockwise from "to the right".
    """
    _check_side("motion blur", length, length)
    if not math.isfinite(angle_deg):
        what = f"The angle {angle_deg} cannot be used"
        raise BadValue(what, "it is not finite", "Give degrees, such as 45.")
    angle = math.radians(angle_deg % 180.0)
    # Rows are counted downwards, so a line that rises to the right goes to smaller rows.
    along_row, along_column = -math.sin(angle), math.cos(angle)
    half = (length - 1) / 2.0
    reach = math.ceil(half)
    row, column = np.mgrid[-reach : reach + 1, -reach : reach + 1].astype(np.float64)
    on_line = np.clip(row * along_row + column * along_column, -half, half)
    distance = np.hypot(row - on_line * along_row, column - on_line * along_column)
    weights = np.maximum(0.0, 1.0 - distance)
    weights[weights < _DUST] = 0.0
    weights = _without_empty_edges(weights)
    return Mask(weights / weights.sum(), name=f"Motion blur {length}, {angle_deg:g} degrees")


def laplacian_of_gaussian(side: int, sigma: float | None = None) -> Mask:
    """Return the Laplacian of a Gaussian, negative in the middle, with weights that add up to 0.

    Parameters
    ----------
    side : int
        Odd, 3 to 63.
    sigma : float, optional
        Standard deviation in pixels, 0.1 to 100; by default a sixth of the side.
    """
    _check_side("Laplacian of Gaussian", side, side)
    if side < 3 or side % 2 == 0:
        raise BadValue(
            f"A Laplacian of Gaussian of side {side} cannot be made",
            "it needs a middle cell and cells around it",
            f"Take an odd side from 3 to {MAX_SIDE}.",
        )
    sigma = side / 6.0 if sigma is None else sigma
    _check_sigma(sigma)
    squared = (np.arange(side) - side // 2) ** 2.0 / sigma**2
    radius_squared = squared[:, np.newaxis] + squared[np.newaxis, :]
    weights = (radius_squared - 2.0) * np.exp(-radius_squared / 2.0) / (2.0 * math.pi * sigma**4)
    # Cut off at the edges, the weights do not quite cancel, and a uniform area would not become 0.
    return Mask(weights - weights.mean(), name=f"Laplacian of Gaussian {side}, sigma {sigma:.3g}")


def disk(side: int) -> Mask:
    """Return the mean over a round area of the given diameter in pixels, as a lens out of focus sees."""
    _check_side("disk", side, side)
    squared = (np.arange(side) - (side - 1) / 2.0) ** 2
    inside = squared[:, np.newaxis] + squared[np.newaxis, :] <= (side / 2.0) ** 2
    return Mask(inside / inside.sum(), name=f"Disk {side}")


class _Generator(NamedTuple):
    """How `name:sides:number` becomes a mask."""

    make: Callable[[int, int, float | None], Mask]
    usage: str
    is_square: bool
    takes_number: bool


# box and Gaussian may be rectangles, and box and disk have no second number.
GENERATORS: dict[str, _Generator] = {
    "box": _Generator(lambda rows, columns, _: box(rows, columns), "box:7 or box:7x3", False, False),
    "gaussian": _Generator(gaussian, "gaussian:9:1.5 or gaussian:9x5:1.5", False, True),
    "motion": _Generator(lambda length, _, angle: motion(length, angle or 0.0), "motion:9:45", True, True),
    "log": _Generator(lambda side, _, sigma: laplacian_of_gaussian(side, sigma), "log:9:1.4", True, True),
    "disk": _Generator(lambda side, _, __: disk(side), "disk:7", True, False),
}


def generate(spelling: str) -> Mask | None:
    """Return the mask of a short spelling such as `gaussian:9:1.5`, or None when it is not one.

    Raises BadValue where it begins with the name of a generator and its numbers are wrong.
    """
    name, colon, rest = spelling.strip().partition(":")
    generator = GENERATORS.get(name.lower())
    if generator is None or not colon:
        return None
    sides, has_number, number = rest.partition(":")
    rows, has_columns, columns = sides.partition("x")
    try:
        shape = int(rows), int(columns if has_columns else rows)
        value = float(number) if has_number else None
    except ValueError as error:
        _refuse_spelling(spelling, generator, error)
    if (generator.is_square and has_columns) or (has_number and not generator.takes_number):
        _refuse_spelling(spelling, generator, None)
    return generator.make(*shape, value)


def misspelt_generator(spelling: str) -> str | None:
    """Return what a text such as `gauss:9` was probably meant to be (`gaussian:9`), or None."""
    name, colon, rest = spelling.strip().partition(":")
    wanted = name.lower()
    if wanted in GENERATORS:
        return GENERATORS[wanted].usage.partition(" ")[0] if not colon else None
    near = closest(wanted, GENERATORS) if colon else None
    return f"{near}:{rest}" if near else None


def _refuse_spelling(spelling: str, generator: _Generator, cause: Exception | None) -> NoReturn:
    raise BadValue(
        f"{spelling[:40]!r} makes no mask", "its numbers are not understood", f"Write {generator.usage}."
    ) from cause


def _bell(side: int, sigma: float) -> Weights:
    squared = (np.arange(side) - (side - 1) / 2.0) ** 2
    bell: Weights = np.exp(-squared / (2.0 * sigma**2))
    return bell


def _without_empty_edges(weights: Weights) -> Weights:
    rows, columns = np.flatnonzero(weights.any(axis=1)), np.flatnonzero(weights.any(axis=0))
    return weights[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]


def _check_side(what: str, rows: int, columns: int) -> None:
    if not is_size_allowed(rows, columns):
        size = f"{rows} × {columns}" if rows != columns else f"side {rows}"
        raise BadValue(
            f"A {what} mask of {size} cannot be made",
            SIDES_ALLOWED,
            f"Take a whole number from 1 to {max(largest_sides(rows, columns))}.",
        )


def _check_sigma(sigma: float) -> None:
    if not _SIGMA_MIN <= sigma <= _SIGMA_MAX:
        raise BadValue(
            f"The standard deviation {sigma:g} cannot be used",
            f"it must lie between {_SIGMA_MIN:g} and {_SIGMA_MAX:g} pixels",
            "Take a sixth of the mask's side.",
        )
