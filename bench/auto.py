"""`auto` beside every variant on a grid of pictures and masks, and the table that it chooses by.

python -m bench.auto --device cpu                 what auto chooses in each cell, and how far it is from the
best there python -m bench.auto --device cpu --write         measures the grid of
cost_table_cpu.json first, and writes it python -m bench.auto --device cpu --read FILE
compares anew with what --json FILE kept

Each cell's variants are measured in turn, `ROUNDS` times, so that a machine that slows down slows all of them
down. A variant whose results are not sure to hold the bound of a direct sum is no rival. Results are not
verified here: tests do.
"""

import json
import math
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np

from bench.auto_grid import (
    BORDERS,
    CHANNELS,
    MASK_KINDS,
    MASK_SIDES,
    PICTURE_SIDES,
    ROUNDS,
    TYPES,
    able,
    best_ms,
    is_too_long,
    mask_of,
    picture_of,
)
from bench.cost_grid import write_table
from bench.options import parser_of
from engine.device.backend import Backend
from engine.device.devices import backend, device_named
from engine.device_info import AUTO
from engine.geometry.border import Border
from engine.mask.mask import Mask
from engine.run.resolve import describe_problem
from engine.tasks.filtering.problem import Problem
from engine.variants.auto.costs import cost_table, kind_of
from engine.variants.auto.planner import choose, holds_bound
from engine.variants.contract import Variant


@dataclass(frozen=True)
class Cell:
    """One problem of the benchmark grid: what auto chose, and the times of all variants, ms."""

    name: str
    chosen: str
    times_ms: dict[str, float]

    @property
    def best(self) -> str:
        return min(self.times_ms, key=self.times_ms.__getitem__)

    @property
    def ratio(self) -> float:
        return self.times_ms[self.chosen] / self.times_ms[self.best]


def compared(
    machine: Backend, sides: tuple[int, ...], borders: tuple[Border, ...], within: float
) -> list[Cell]:
    """Measure what auto chose and every variant that may be faster, on the grid; as of `compare`."""
    cells = []
    for (dtype, result), channels, picture_side in product(TYPES, CHANNELS, sides):
        samples = picture_of(dtype, picture_side, channels)
        for mask_side, kind, border in product(MASK_SIDES, MASK_KINDS, borders):
            mask = mask_of(kind, mask_side)
            problem = describe_problem(samples, mask, border, 0.0, result)
            cells.append(compare(problem, mask, samples, machine, within))
            print(line_of(cells[-1]), flush=True)
    return cells


def compare(
    problem: Problem, mask: Mask, samples: np.ndarray, machine: Backend, within: float = math.inf
) -> Cell:
    """Measure one cell, all variants in turn, `ROUNDS` times; only what is near the best is measured again.

    Of the variants those are left out that take more than `within` times as long as what auto chose, by the
    table of costs.
    """
    chosen = choose(AUTO, problem, mask, None, machine.info).variant
    table = cost_table(machine.info.kind)

    def expected_us(known: Variant) -> float:
        return table.time_us(known, problem, table.rates, known.repeats_of(mask))

    most_us = within * expected_us(chosen)
    rivals = [
        known
        for known in able(problem, mask, machine)
        if holds_bound(known, problem, mask) and expected_us(known) <= most_us
    ]
    ways = [known for known in rivals if known is chosen or not is_too_long(known, problem)]
    times: dict[str, list[float]] = {}
    for number in range(ROUNDS):
        best = min((min(found) for found in times.values()), default=0.0)
        for known in ways:
            near = number == 0 or min(times.get(known.key, [np.inf])) < 1.5 * best
            if near and (found := best_ms(known, problem, mask, samples, machine)) is not None:
                times.setdefault(known.key, []).append(found)
    kind = kind_of(problem.dtype, problem.channels, result_dtype=problem.result_dtype)
    name = f"{problem.width} x {problem.height} {kind}, {problem.border}, {mask.name}"
    return Cell(name, chosen.key, {key: min(found) for key, found in times.items()})


def line_of(cell: Cell) -> str:
    """Return a cell as a line."""
    best, chosen = cell.times_ms[cell.best], cell.times_ms[cell.chosen]
    return f"{cell.ratio:5.2f}  {cell.name:52} {cell.chosen} {chosen:.4f} ms; best {cell.best} {best:.4f} ms"


def report(cells: list[Cell]) -> None:
    """Print the worst cells, and how many are past 1.1."""
    print("\nratio  problem")
    for cell in sorted(cells, key=lambda cell: cell.ratio, reverse=True)[:15]:
        print(line_of(cell))
    past = sum(cell.ratio > 1.1 for cell in cells)
    print(f"\nworst {max(cell.ratio for cell in cells):.3f}; past 1.1 in {past} of {len(cells)} cells")


def main() -> None:
    """Measure what the command line asks for."""
    parser = parser_of(__doc__)
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--write", action="store_true", help="measure the table's grid and write it first")
    parser.add_argument(
        "--only", default="", help="variants whose rows are measured anew, separated by commas"
    )
    parser.add_argument(
        "--keep-shorter",
        action="store_true",
        help="keep times of the table that are shorter: for a second run of the same code on a busy machine",
    )
    parser.add_argument("--no-compare", action="store_true")
    parser.add_argument("--sides", default=",".join(map(str, PICTURE_SIDES)))
    parser.add_argument("--borders", default=",".join(BORDERS))
    parser.add_argument(
        "--within",
        type=float,
        default=math.inf,
        help="leave out what the table says takes so many times as long as what auto chose",
    )
    parser.add_argument("--json", type=Path)
    parser.add_argument("--read", type=Path)
    options = parser.parse_args()
    machine = backend(device_named(options.device).key)
    if options.write:
        only = set(filter(None, options.only.split(",")))
        write_table(machine, only, keep_shorter=options.keep_shorter)
    if options.no_compare:
        return
    if options.read:
        cells = [Cell(**cell) for cell in json.loads(options.read.read_text(encoding="utf-8"))]
    else:
        borders = tuple(map(Border.named, options.borders.split(",")))
        cells = compared(machine, tuple(map(int, options.sides.split(","))), borders, options.within)
    if options.json:
        options.json.write_text(json.dumps([vars(cell) for cell in cells]), encoding="utf-8")
    report(cells)


if __name__ == "__main__":
    main()
