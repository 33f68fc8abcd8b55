"""Figures of every CUDA variant on one device, and their place in docs/variants.md.

python -m bench.figures --json bench/results/figures-DEVICE.json     measures (needs a CUDA device)
python -m bench.figures --write bench/results/figures-DEVICE.json    writes them between the markers of each variant
"""

import argparse
import json
import re
from pathlib import Path
from typing import Any

import numpy as np

from bench.representative import mask_for
from engine.device.devices import backend
from engine.timing.plan import SamplingPlan
from engine.timing.request import as_samples, describe_problem
from engine.timing.runner import measure
from engine.variants.contract import DeviceKind
from engine.variants.planner import Choice
from engine.variants.registry import VARIANTS

SIDE = 4096
MASK_SIDES = (3, 5, 9, 15)
PLAN = SamplingPlan(warm_up_s=0.05, budget_s=0.15, patience_s=2.0)
DOCUMENT = Path("docs/variants.md")
END = "<!-- end of figures -->"


def pictures() -> dict[str, np.ndarray]:
    """Return the pictures by the name of their row."""
    random = np.random.default_rng(0)
    return {
        "float32, 1 channel": random.random((SIDE, SIDE), np.float32),
        "8 bit, RGB": random.integers(0, 256, (SIDE, SIDE, 3), np.uint8),
    }


def measured() -> dict[str, Any]:
    """Measure every CUDA variant; a variant that refuses a mask says why."""
    machine = backend("cuda:0")
    found: dict[str, Any] = {}
    for name, picture in pictures().items():
        samples = as_samples(picture)
        for variant in (known for known in VARIANTS if known.device is DeviceKind.CUDA):
            for side in MASK_SIDES:
                mask = mask_for(variant, side, side)
                problem = describe_problem(samples, mask, "zero", 0.0)
                choice = Choice(variant, variant.default_block)
                result = measure(choice, problem, mask, samples, machine, PLAN).result
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
                    f"{variant.key:18} {name:20} {mask.name:18} {cell.get('kernel_us', 0):10.1f} us  {result.status}",
                    flush=True,
                )
    environment = machine.environment()
    versions = ", ".join(
        f"{k} {environment.versions[k]}" for k in ("numba", "numba-cuda") if k in environment.versions
    )
    return {
        "device": environment.device,
        "driver": environment.driver,
        "versions": versions,
        "variants": found,
    }


def table(data: dict[str, Any], key: str) -> str:
    """Return the Markdown of one variant's figures, with its markers."""
    rows = data["variants"][key]
    first = next(iter(rows.values()))
    sides = list(first)
    shown = [cell["mask"].removeprefix("binomial ") for cell in first.values()]

    def cells(name: str, value: str, form: str) -> str:
        texts = [format(rows[name][s][value], form) if value in rows[name][s] else "refused" for s in sides]
        return " | ".join(texts)

    name = next(iter(rows))
    block = first[sides[0]]["block"]
    lines = [
        f"<!-- figures of {key}, written by python -m bench.figures -->",
        f"{SIDE} x {SIDE}, zero border, block {block}, {data['device']}; kernel time, microseconds (median):",
        "",
        f"| | {' | '.join(shown)} |",
        f"|---|{'---|' * len(sides)}",
        *(f"| {row} | {cells(row, 'kernel_us', '.0f')} |" for row in rows),
        f"| global loads a result (model) | {cells(name, 'loads_a_result', '.2f')} |",
        f"| operations a global load, CGMA (model) | {cells(name, 'cgma', '.2f')} |",
        END,
    ]
    return "\n".join(lines)


def write(data: dict[str, Any]) -> None:
    """Put each variant's table between its markers, at the end of its section where there are none yet."""
    sections = re.split(r"(?m)^(?=## )", DOCUMENT.read_text(encoding="utf-8"))
    for number, section in enumerate(sections):
        heading = re.match(r"## `([a-z0-9-]+)`", section)
        if heading is None or heading.group(1) not in data["variants"]:
            continue
        text = re.sub(rf"\n*<!-- figures of .*?{END}\n*", "\n\n", section, flags=re.DOTALL)
        sections[number] = f"{text.rstrip()}\n\n{table(data, heading.group(1))}\n\n"
    DOCUMENT.write_text("".join(sections).rstrip() + "\n", encoding="utf-8")


def main() -> None:
    """Measure or write."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", type=Path)
    parser.add_argument("--write", type=Path)
    arguments = parser.parse_args()
    if arguments.json:
        arguments.json.write_text(json.dumps(measured(), indent=1) + "\n", encoding="utf-8")
    if arguments.write:
        write(json.loads(arguments.write.read_text(encoding="utf-8")))


if __name__ == "__main__":
    main()
