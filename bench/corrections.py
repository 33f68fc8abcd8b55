"""Fits the file by which `auto` corrects its grid of times to random problems (`corrections.py`).

python -m bench.corrections FILE [FILE ...]     files of `python -m bench.choices --json FILE`

The result must be judged on other problems than these: `python -m bench.choices` draws some.
"""

import json
import math
from collections import defaultdict
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from bench.choices import MASK_SIDES, Measured, unpacked
from bench.options import parser_of
from engine.geometry.border import Border
from engine.tasks.filtering.problem import Problem
from engine.variants.auto.corrections import (
    Point,
    coordinates_of,
    corrections,
    corrections_path,
    nearness,
    point_of,
    types_of,
)
from engine.variants.auto.costs import CostTable, cost_table, kind_of
from engine.variants.registry import variant

NOISE = 0.35
"""Regularisation, as a variance of the logarithms: with 0 every measured problem would be met exactly."""
LEAST_POINTS = 20
"""Of fewer problems nothing is learned: `constant` took 3 times as long as 9 of them had said."""
SMALL_SIDES = 2
"""Sides of pictures of the table, the smallest first, that are kept as they are: 256 and 512."""


def fitted(cells: list[Measured], device_kind: str) -> dict[str, Any]:
    """Return the corrections as the file has them."""
    table = cost_table(device_kind)
    found: dict[tuple[str, str], dict[Any, float]] = defaultdict(dict)
    for cell in cells:
        problem, mask = cell.draw.problem, cell.draw.mask
        for key, time_ms in cell.times_ms.items():
            known = variant(key)
            repeats = known.repeats_of(mask)
            expected_us = table.measured_us(known, problem, table.rates, repeats)
            point = point_of(known, problem, repeats)
            found[key, types_of(problem)][point] = math.log(1e3 * time_ms / expected_us)
    found = {kind: logs for kind, logs in found.items() if len(logs) >= LEAST_POINTS}
    for (key, types), logs in found.items():
        logs |= dict.fromkeys(_small_on_the_grid(table, key, types), 0.0)
    made: dict[str, Any] = {}
    for (key, types), logs in sorted(found.items()):
        places = np.array([coordinates_of(point) for point in logs])
        values = np.array(list(logs.values()))
        mean = float(np.median(values))
        weights = np.linalg.solve(nearness(places, places) + NOISE * np.eye(len(values)), values - mean)
        made.setdefault(key, {})[types] = {
            "mean": round(mean, 3),
            "weights": [float(f"{weight:.3g}") for weight in weights],
            "points": [[int(number) for number in point] for point in logs],
        }
    return made


def _small_on_the_grid(table: CostTable, key: str, types: str) -> Iterator[Point]:
    """Yield the table's own small pictures, where its times are right: random problems have few of these."""
    dtype, _, result = types.partition(" to ")
    for channels, border in product((1, 3), (Border.MIRROR, Border.ZERO)):
        kind = kind_of(dtype, channels, has_ghost_cells=border.has_ghost_cells, result_dtype=result)
        rows = table.times_us[key].get(kind, [])
        for side, row in list(zip(table.picture_sides, rows, strict=False))[:SMALL_SIDES]:
            for m, time_us in zip(table.mask_sides, row, strict=True):
                if time_us is not None and m <= MASK_SIDES[1]:
                    problem = Problem(side, side, channels, dtype, (m, m), (m // 2, m // 2), border)
                    yield point_of(variant(key), problem, 1)


def main() -> None:
    """Fit what the command line names, and write it."""
    parser = parser_of(__doc__)
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cuda")
    parser.add_argument("files", type=Path, nargs="+")
    options = parser.parse_args()
    cells = [cell for path in options.files for cell in unpacked(json.loads(path.read_text("utf-8")))]
    made = fitted(cells, options.device)
    text = json.dumps(made, separators=(",", ":"))
    for name in ("points", "weights"):
        text = text.replace(f'"{name}"', f'\n"{name}"')
    corrections_path(options.device).write_text(text + "\n", encoding="utf-8")
    corrections.cache_clear()
    for key, kinds in made.items():
        counts = [f"{types} {len(one['weights'])}" for types, one in kinds.items()]
        print(f"{key}: {', '.join(counts)}")


if __name__ == "__main__":
    main()
