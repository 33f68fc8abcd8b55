"""Pitched beside packed rows: every 2-D CUDA variant on odd widths, samples interleaved.

python -m bench.pitch [--sizes 1001,2001,3001,4001] [--mask 5] [--rounds 40] [--device cuda:0] [--json FILE]
python -m bench.pitch --write FILE     writes the tables of such a file into docs/experiments/row-layout.md

For each variant, size and type the same filter is made ready twice, once on rows that begin on 128-byte
boundaries and once on dense rows. The pitched result is compared with the float64 oracle (in part where it is
large), the packed one must equal it bit for bit; only then both are timed, a sample of each in turn, the
order changed every round, so that clocks and temperature favour neither. A ratio above 1 says that packed
rows are slower.
"""

import math
import sys
from typing import Any

import numpy as np

from bench.document import ROW_LAYOUT, DocumentTable
from bench.options import add_files, parser_of, wrote_tables
from bench.representative import mask_for
from bench.spreads import spread_summary
from engine.device.backend import Backend, Buffers, LaunchClock
from engine.device.devices import backend
from engine.device.launches import DeviceKind
from engine.errors import EngineError
from engine.files.atomic_write import atomic_write
from engine.geometry.layout import Layout
from engine.mask.mask import Mask
from engine.results.measurement import Spread
from engine.results.strict_json import json_text
from engine.run.device_choice import refuse_unsuitable
from engine.run.resolve import as_samples, describe_problem
from engine.tasks.filtering.agreement import verify
from engine.tasks.filtering.problem import Problem
from engine.variants.contract import MaskClass, Variant
from engine.variants.registry import VARIANTS

# Of the oracle: some 0.2 s a case, and there are about a hundred.
AFFORDABLE_MULTIPLY_ADDS = 20_000_000
WARM_UP_ROUNDS = 3


def pictures(side: int) -> dict[str, np.ndarray]:
    """Return the pictures of one size, H x W x C, by what they are."""
    random = np.random.default_rng(0)
    return {
        "float32 grey": as_samples(random.random((side, side), np.float32)),
        "uint8 RGB": as_samples(random.integers(0, 256, (side, side, 3), np.uint8)),
    }


def compare(
    variant: Variant, samples: np.ndarray, mask: Mask, machine: Backend, rounds: int
) -> dict[str, Any]:
    """Measure one variant on one picture with both layouts."""
    problem = describe_problem(samples, mask, "zero", 0.0)
    refuse_unsuitable(variant, problem, mask, variant.default_block, machine.info)
    machine.activate()
    clocks: dict[Layout, LaunchClock] = {}
    results: list[np.ndarray] = []
    try:
        for layout in Layout:
            # Each its own: a variant of two passes keeps scratch memory of the layout that it was launched
            # with.
            prepared = variant.prepare(problem, mask, variant.default_block)
            buffers = machine.allocate(samples, layout=layout)
            machine.upload(samples, buffers)
            machine.poison(buffers)
            machine.run(prepared, buffers)
            results.append(_checked(machine, buffers, samples, mask, problem, results))
            clocks[layout] = machine.clock(prepared, buffers)
        return _in_turn(clocks, rounds)
    finally:
        for clock in clocks.values():
            clock.close()


def _checked(
    machine: Backend,
    buffers: Buffers,
    samples: np.ndarray,
    mask: Mask,
    problem: Problem,
    before: list[np.ndarray],
) -> np.ndarray:
    values = machine.download(buffers)
    if before:
        if not np.array_equal(before[0], values):
            raise EngineError("The packed result", "it differs from the pitched one", "Run the tests.")
        return values
    proof = verify(values, samples, mask, problem, affordable=AFFORDABLE_MULTIPLY_ADDS)
    if not proof.passed:
        raise EngineError("The pitched result", proof.reason, "Run the tests.")
    return values


def _in_turn(clocks: dict[Layout, LaunchClock], rounds: int) -> dict[str, Any]:
    samples: dict[Layout, list[float]] = {layout: [] for layout in clocks}
    for number in range(WARM_UP_ROUNDS + rounds):
        for layout in list(clocks)[:: -1 if number % 2 else 1]:
            sample_ms = clocks[layout].sample_ms()
            if number >= WARM_UP_ROUNDS:
                samples[layout].append(sample_ms)
    spreads = {layout: Spread(tuple(taken)) for layout, taken in samples.items()}
    cell: dict[str, Any] = {str(layout): spread_summary(spread) for layout, spread in spreads.items()}
    return cell | {
        "packed_over_pitched": spreads[Layout.PACKED].median_ms / spreads[Layout.PITCHED].median_ms
    }


def measured(machine: Backend, sides: list[int], mask_side: int, rounds: int) -> list[dict[str, Any]]:
    """Measure every cell and print it; one that cannot be has its reason."""
    found = []
    # Results are float32.
    two_d = [
        v
        for v in VARIANTS
        if v.device is DeviceKind.CUDA and v.masks is not MaskClass.ONE_ROW and not v.uint8_only
    ]
    print(f"{'size':>6} {'type':14}{'variant':16}{'pitched us':>12}{'packed us':>12}{'packed/pitched':>16}")
    for side in sides:
        for name, samples in pictures(side).items():
            for variant in two_d:
                mask = mask_for(variant, mask_side, mask_side)
                cell: dict[str, Any] = {"side": side, "type": name, "variant": variant.key, "mask": mask.name}
                try:
                    cell |= compare(variant, samples, mask, machine, rounds)
                except EngineError as error:
                    cell["failure"] = str(error)
                found.append(cell)
                print(line(cell), flush=True)
    return found


def line(cell: dict[str, Any]) -> str:
    """Return one line of the table."""
    begin = f"{cell['side']:>6} {cell['type']:14}{cell['variant']:16}"
    if "failure" in cell:
        return begin + cell["failure"]
    times = "".join(f"{cell[layout]['median_ms'] * 1e3:12.1f}" for layout in Layout)
    return f"{begin}{times}{cell['packed_over_pitched']:16.3f}"


def summary(cells: list[dict[str, Any]]) -> str:
    """Return the geometric mean of the ratios of each variant."""
    ratios: dict[str, list[float]] = {}
    for cell in cells:
        if "failure" not in cell:
            ratios.setdefault(cell["variant"], []).append(cell["packed_over_pitched"])
    means = {key: math.exp(sum(map(math.log, found)) / len(found)) for key, found in ratios.items()}
    return "packed/pitched, mean: " + ", ".join(f"{key} {mean:.3f}" for key, mean in means.items())


def table(data: dict[str, Any], side: int) -> list[str]:
    """Return the Markdown of the pictures of one size."""
    cells = [cell for cell in data["cells"] if cell["side"] == side and "failure" not in cell]
    rows: dict[str, list[str]] = {}
    for cell in cells:
        times = [f"{cell[layout]['median_ms'] * 1e3:.1f}" for layout in Layout]
        rows.setdefault(cell["variant"], []).extend([*times, f"{cell['packed_over_pitched']:.3f}"])
    types = dict.fromkeys(cell["type"] for cell in cells)
    headings = [f"{kind}: {name}" for kind in types for name in (*Layout, "packed / pitched")]
    return [
        f"{side} x {side}, 5 x 5, {data['border']} border, default blocks, {data['device']}; "
        "microseconds (median):",
        "",
        f"| | {' | '.join(headings)} |",
        f"|---|{'---|' * len(headings)}",
        *(f"| `{key}` | {' | '.join(texts)} |" for key, texts in rows.items()),
    ]


def tables(data: dict[str, Any]) -> list[DocumentTable]:
    """Return the tables of the smallest and of the largest pictures."""
    sides = [cell["side"] for cell in data["cells"]]
    lines = [*table(data, min(sides)), "", *table(data, max(sides))]
    return [DocumentTable(ROW_LAYOUT, "pitched and packed rows", lines)]


def main() -> int:
    """Measure, print, and write everything as JSON where a file is named."""
    parser = parser_of(__doc__)
    parser.add_argument("--sizes", default="1001,2001,3001,4001", help="sides of the square pictures")
    parser.add_argument("--mask", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--device", default="cuda:0")
    add_files(parser, "docs/experiments")
    arguments = parser.parse_args()
    if wrote_tables(arguments, tables):
        return 0
    try:
        machine = backend(arguments.device)
    except EngineError as error:
        sys.stderr.write(f"{error}\n")
        return 3
    sides = [int(side) for side in arguments.sizes.split(",")]
    cells = measured(machine, sides, arguments.mask, arguments.rounds)
    print(summary(cells))
    if arguments.json:
        environment = machine.environment()
        document = {
            "device": environment.device,
            "driver": environment.driver,
            "clocks": environment.clocks,
            "versions": environment.versions,
            "commit": environment.commit,
            "border": "zero",
            "rounds": arguments.rounds,
            "cells": cells,
        }
        atomic_write(arguments.json, json_text(document).encode())
    return 0


if __name__ == "__main__":
    sys.exit(main())
