"""Figures of every CUDA variant and of every matrix product on one device, and their tables in the documents.

python -m bench.figures --json bench/results/figures-DEVICE.json     measures (needs a CUDA device)
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bench.markers import TABLES, DocumentTable, page_of
from bench.options import parser_of
from bench.representative import mask_for
from engine.device.devices import backend
from engine.device.launches import DeviceKind
from engine.results.metrics import number_of
from engine.run.measure import measure
from engine.run.sampling import SamplingPlan
from engine.run.task import Choice
from engine.tasks.filtering.resolve import describe_problem
from engine.tasks.filtering.task import filter_job
from engine.tasks.filtering.variants import VARIANTS
from engine.tasks.pictures import as_samples
from engine.tasks.product.job import product_job
from engine.tasks.product.operands import random_matrices
from engine.tasks.product.problem import MatrixProduct
from engine.tasks.product.variants import MATMUL_VARIANTS

SIDE = 4096
MASK_SIDES = (3, 5, 9, 15)
PLAN = SamplingPlan(warm_up_s=0.05, budget_s=0.15, patience_s=2.0)
PRODUCT_SIDES = (512, 1024, 4096)
TILES = (4, 8, 16, 32)


def pictures() -> dict[str, np.ndarray]:
    """Return the pictures by the name of their row."""
    random = np.random.default_rng(0)
    return {
        "float32, 1 channel": random.random((SIDE, SIDE), np.float32),
        "8 bit, RGB": random.integers(0, 256, (SIDE, SIDE, 3), np.uint8),
    }


def measured(parts: Sequence[str]) -> dict[str, Any]:
    """Measure some of the parts."""
    environment = backend("cuda:0").environment()
    versions = ", ".join(
        f"{k} {environment.versions[k]}" for k in ("numba", "numba-cuda") if k in environment.versions
    )
    about = {"device": environment.device, "driver": environment.driver, "versions": versions}
    return about | {part: PARTS[part].measure() for part in parts}


def measured_filters() -> dict[str, Any]:
    """Measure every CUDA variant; a variant that refuses a mask says why."""
    machine = backend("cuda:0")
    found: dict[str, Any] = {}
    for name, picture in pictures().items():
        samples = as_samples(picture)
        for variant in (v for v in VARIANTS if v.device is DeviceKind.CUDA and not v.uint8_only):
            for side in MASK_SIDES:
                mask = mask_for(variant, side, side)
                problem = describe_problem(samples, mask, "zero", 0.0)
                choice = Choice(variant, variant.default_block)
                result = measure(filter_job(choice, problem, mask, samples), machine, PLAN).result
                cell: dict[str, Any] = {
                    "mask": mask.name,
                    "status": result.status,
                    "block": str(choice.block),
                }
                if result.kernel_ms is not None and result.timing is not None and result.work is not None:
                    kernel = result.timing.kernel
                    cell |= {
                        "kernel_us": kernel.median_ms * 1e3,
                        "p20_us": kernel.p20_ms * 1e3,
                        "p80_us": kernel.p80_ms * 1e3,
                        "cgma": result.work.cgma,
                        "loads_a_result": result.work.global_loads / problem.samples,
                    }
                found.setdefault(variant.key, {}).setdefault(name, {})[str(side)] = cell
                print(
                    f"{variant.key:18} {name:20} {mask.name:18} {cell.get('kernel_us', 0):10.1f} us  "
                    f"{result.status}",
                    flush=True,
                )
    return found


def measured_products() -> dict[str, Any]:
    """Measure every CUDA way to multiply square matrices, with each tile."""
    machine = backend("cuda:0")
    found: dict[str, Any] = {}
    for side in PRODUCT_SIDES:
        a, b = random_matrices(MatrixProduct(side, side, side), seed=0)
        for variant in (known for known in MATMUL_VARIANTS if known.device is DeviceKind.CUDA):
            for tile in TILES:
                result = measure(product_job(variant, tile, a, b), machine, PLAN).result
                cell: dict[str, Any] = {
                    "status": result.status,
                    "cgma": number_of(result, "cgma_flop_per_load"),
                }
                if result.kernel_ms is not None:
                    cell |= {"kernel_us": result.kernel_ms * 1e3, "gflops": number_of(result, "gflops")}
                found.setdefault(variant.key, {}).setdefault(str(side), {})[str(tile)] = cell
                print(
                    f"{variant.key:14} {side:5} tile {tile:2} {cell.get('kernel_us', 0):10.1f} us", flush=True
                )
    return found


def filter_table(data: dict[str, Any], key: str) -> list[str]:
    """Return the Markdown of one variant's figures."""
    rows = data["variants"][key]
    first = next(iter(rows.values()))
    sides = list(first)
    shown = [cell["mask"].removeprefix("binomial ") for cell in first.values()]

    def cells(name: str, value: str, form: str) -> str:
        texts = [format(rows[name][s][value], form) if value in rows[name][s] else "refused" for s in sides]
        return " | ".join(texts)

    name = next(iter(rows))
    block = first[sides[0]]["block"]
    return [
        f"{SIDE} × {SIDE}, zero border, block {block}, {data['device']}; kernel time, microseconds (median):",
        "",
        f"| | {' | '.join(shown)} |",
        f"|---|{'---|' * len(sides)}",
        *(f"| {row} | {cells(row, 'kernel_us', '.0f')} |" for row in rows),
        f"| global loads per result (model) | {cells(name, 'loads_a_result', '.2f')} |",
        f"| operations per global load, CGMA (model) | {cells(name, 'cgma', '.2f')} |",
    ]


def product_table(data: dict[str, Any], key: str) -> list[str]:
    """Return the Markdown of the figures of one way to multiply."""
    rows = data["products"][key]

    def cells(side: str, value: str, form: str) -> str:
        cells = rows[side].values()
        return " | ".join(format(cell[value], form) if value in cell else "failed" for cell in cells)

    tiles = list(next(iter(rows.values())))
    first = next(iter(rows))
    return [
        f"Square matrices, {data['device']}; kernel time, microseconds (median), and GFLOPS:",
        "",
        f"| | {' | '.join(f'tile {tile}' for tile in tiles)} |",
        f"|---|{'---|' * len(tiles)}",
        *(f"| {side} × {side}, us | {cells(side, 'kernel_us', '.0f')} |" for side in rows),
        *(f"| {side} × {side}, GFLOPS | {cells(side, 'gflops', '.0f')} |" for side in rows),
        f"| operations per global load, CGMA (model) | {cells(first, 'cgma', '.2f')} |",
    ]


@dataclass(frozen=True)
class Part:
    """Figures of one kind: how they are measured, and the table of one key of them."""

    measure: Callable[[], dict[str, Any]]
    table: Callable[[dict[str, Any], str], list[str]]


PARTS = {"variants": Part(measured_filters, filter_table), "products": Part(measured_products, product_table)}


def overview(data: dict[str, Any]) -> list[str]:
    """Return the Markdown of all filter variants side by side, one row each."""
    kinds = list(pictures_of(data))
    heads = [f"{kind}: {side} × {side}" for kind in kinds for side in MASK_SIDES]
    lines = [
        f"{SIDE} × {SIDE}, zero border, each variant's default block, {data['device']}; kernel time, "
        "microseconds "
        "(median). Each variant has the masks of its class: one row for `row-*` (1 × 3 to 1 × 15), equal "
        "weights for "
        "`box`, rank 2 and 3 for `low-rank-*` (the smallest that they take), and a binomial mask for all "
        "others.",
        "",
        f"| | {' | '.join(heads)} |",
        f"|---|{'---:|' * len(heads)}",
    ]
    for key, rows in data["variants"].items():
        cells = [rows[kind][str(side)] for kind in kinds for side in MASK_SIDES]
        times = [format(cell["kernel_us"], ".0f") if "kernel_us" in cell else "refused" for cell in cells]
        lines.append(f"| [`{key}`]({page_of(key).relative_to(TABLES.parent)}#{key}) | {' | '.join(times)} |")
    return lines


def pictures_of(data: dict[str, Any]) -> list[str]:
    """Return the kinds of pictures that were measured."""
    return list(next(iter(data["variants"].values())))


def tables(data: dict[str, Any]) -> list[DocumentTable]:
    """Return a table for each variant's section, and the overview."""
    found = [DocumentTable(TABLES, "figures", overview(data))] if "variants" in data else []
    for name, part in PARTS.items():
        found += [
            DocumentTable(page_of(key), f"figures of {key}", part.table(data, key))
            for key in data.get(name, {})
        ]
    return found


def main() -> None:
    """Measure."""
    parser = parser_of(__doc__)
    parser.add_argument("--json", type=Path, required=True)
    parser.add_argument("--only", choices=PARTS, help="measure this; what else the file has stays")
    arguments = parser.parse_args()
    data = json.loads(arguments.json.read_text(encoding="utf-8")) if arguments.only else {}
    # After each part: a run that is cut off keeps what it has.
    for part in [arguments.only] if arguments.only else list(PARTS):
        data |= measured([part])
        arguments.json.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
