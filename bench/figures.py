"""Figures of every CUDA variant on one device, and their tables in the documents.

python -m bench.figures --json bench/results/figures-DEVICE.json     measures (needs a CUDA device)
"""

import json
from pathlib import Path
from typing import Any

import numpy as np

from bench.markers import TABLES, DocumentTable, page_of
from bench.options import parser_of
from bench.representative import filter_job, mask_for
from engine.device.devices import backend
from engine.device.launches import DeviceKind
from engine.run.measure import SamplingPlan, environment_of, measure
from engine.work.filtering.variants import VARIANTS, Variant
from engine.work.problem import as_samples

SIDE = 4096
MASK_SIDES = (3, 5, 9, 15)
PLAN = SamplingPlan(warm_up_s=0.05, budget_s=0.15, patience_s=2.0)


def pictures() -> dict[str, np.ndarray]:
    """Return the pictures by the name of their row."""
    random = np.random.default_rng(0)
    return {
        "float32, 1 channel": random.random((SIDE, SIDE), np.float32),
        "8 bit, RGB": random.integers(0, 256, (SIDE, SIDE, 3), np.uint8),
    }


def measured() -> dict[str, Any]:
    """Measure every CUDA variant; one that refuses a mask says why."""
    environment = environment_of(backend("cuda:0").info)
    names = [name for name in ("numba", "numba-cuda") if name in environment.versions]
    versions = ", ".join(f"{name} {environment.versions[name]}" for name in names)
    found: dict[str, Any] = {}
    for name, picture in pictures().items():
        for variant in (v for v in VARIANTS if v.device is DeviceKind.CUDA and not v.uint8_only):
            for side in MASK_SIDES:
                cell = _measured_cell(variant, as_samples(picture), side)
                found.setdefault(variant.key, {}).setdefault(name, {})[str(side)] = cell
                print(variant.key, name, side, cell.get("kernel_us", ""), cell["status"], flush=True)
    about = {"device": environment.device, "driver": environment.driver, "versions": versions}
    return about | {"variants": found}


def _measured_cell(variant: Variant, samples: np.ndarray, side: int) -> dict[str, Any]:
    mask = mask_for(variant, side, side)
    job = filter_job(variant, mask, samples)
    result = measure(job, backend("cuda:0"), PLAN).result
    cell: dict[str, Any] = {"mask": mask.name, "status": result.status, "block": str(variant.default_block)}
    if result.kernel_ms is not None and result.work is not None:
        cell["kernel_us"] = result.kernel_ms * 1e3
        cell |= {"cgma": result.work.cgma, "loads_a_result": result.work.global_loads / job.problem.samples}
    return cell


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


def overview(data: dict[str, Any]) -> list[str]:
    """Return the Markdown of all filter variants side by side, one row each."""
    kinds = list(next(iter(data["variants"].values())))
    heads = [f"{kind}: {side} × {side}" for kind in kinds for side in MASK_SIDES]
    lines = [
        f"{SIDE} × {SIDE}, zero border, each variant's default block, {data['device']}; kernel time, "
        "microseconds (median). Each variant has the masks of its class: one row for `row-*` (1 × 3 to 1 × "
        "15), equal weights for `box`, rank 2 and 3 for `low-rank-*` (the smallest that they take), and a "
        "binomial mask for all others.",
        "",
        f"| | {' | '.join(heads)} |",
        f"|---|{'---:|' * len(heads)}",
    ]
    for key, rows in data["variants"].items():
        cells = [rows[kind][str(side)] for kind in kinds for side in MASK_SIDES]
        times = [format(cell["kernel_us"], ".0f") if "kernel_us" in cell else "refused" for cell in cells]
        lines.append(f"| [`{key}`]({page_of(key).relative_to(TABLES.parent)}#{key}) | {' | '.join(times)} |")
    return lines


def tables(data: dict[str, Any]) -> list[DocumentTable]:
    """Return a table for each variant's section, and the overview."""
    sections = [
        DocumentTable(page_of(key), f"figures of {key}", filter_table(data, key)) for key in data["variants"]
    ]
    return [DocumentTable(TABLES, "figures", overview(data)), *sections]


def main() -> None:
    """Measure."""
    parser = parser_of(__doc__)
    parser.add_argument("--json", type=Path, required=True)
    path = parser.parse_args().json
    path.write_text(json.dumps(measured(), indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
