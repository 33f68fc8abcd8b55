"""What a grid of times leaves out: by which factor random problems took longer, or less, than it says.

`cost_table_cuda.json` has square pictures, square masks, one and three channels.
`cost_corrections_cuda.json` has, for each variant and types of samples and results, the problems of runs of
`bench.choices` and a weight for each, which `python -m bench.corrections` fits. The logarithm of a factor is
a mean plus a weighted sum of radial basis functions, one around each of these problems. Far from all of them
the mean remains.
"""

import json
import math
from collections.abc import Sequence
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.tasks.filtering.problem import Problem
from engine.variants.contract import Variant

Point = tuple[int, int, int, int, int, bool, int, int]
"""Rows and columns of a mask; height, width and channels of a picture; has ghost cells; repeats; jumps."""


def point_of(variant: Variant, problem: Problem, repeats: int) -> Point:
    """Return what counts of a problem for a variant."""
    return (
        *problem.mask_shape,
        problem.height,
        problem.width,
        problem.channels,
        problem.border.has_ghost_cells,
        repeats,
        variant.jumps(problem),
    )


def coordinates_of(point: Sequence[int]) -> list[float]:
    """Return a problem's coordinates: two that are a unit apart along any axis correct each other little."""
    rows, columns, height, width, channels, ghosts, repeats, jumps = point
    return [
        math.log(rows) / 0.25,
        math.log(columns) / 0.25,
        math.log(height * width * channels) / 1.5,
        math.log(width / height) / 2.5,
        2.0 * channels,
        0.5 * ghosts,
        math.log(repeats) / 2.0,
        3.0 * jumps,
    ]


def nearness(points: NDArray[np.float64], others: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the basis function of each pair, (points, others): a narrow and a wide Gaussian, at most 2.5.

    Both are arrays of coordinates, (number, 8).
    """
    squared = ((points[:, np.newaxis] - others[np.newaxis]) ** 2).sum(axis=-1)
    return np.exp(-squared / 2) + 1.5 * np.exp(-squared / 32)  # type: ignore[no-any-return]


class Correction:
    """The factor for one variant and types of samples and results: points, a weight for each, the mean."""

    def __init__(self, points: tuple[Point, ...], weights: tuple[float, ...], mean: float) -> None:
        self.points, self.weights, self.mean = points, weights, mean

    @cached_property
    def _coordinates(self) -> NDArray[np.float64]:
        return np.array([coordinates_of(point) for point in self.points])

    def factor(self, point: Point) -> float:
        """Return by which factor the time of a problem differs from the table's."""
        near = nearness(np.array([coordinates_of(point)]), self._coordinates)
        return math.exp(self.mean + float(near[0] @ np.array(self.weights)))


def types_of(problem: Problem) -> str:
    """Return the types of a problem's samples and results as the file names them."""
    return f"{problem.dtype} to {problem.result_dtype}"


def corrections_path(device_kind: str) -> Path:
    """Return the file of a kind of device: a process that uses another one does not read it."""
    return Path(__file__).with_name(f"cost_corrections_{device_kind}.json")


@cache
def corrections(device_kind: str) -> dict[str, dict[str, Correction]]:
    """Return the corrections of a kind of device by variant and types; none for one that has no file."""
    path = corrections_path(device_kind)
    content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return {
        key: {
            types: Correction(tuple(map(tuple, one["points"])), tuple(one["weights"]), one["mean"])
            for types, one in kinds.items()
        }
        for key, kinds in content.items()
    }
