"""Every variant on a large picture, float32 and 8-bit RGB: every pixel verified, kernel and end-to-end time.

python -m bench.large [--side 4096] [--mask 5] [--json FILE]
python -m bench.large --write FILE      writes the table of such a file into docs/performance.md
"""

import json
from dataclasses import replace
from typing import Any

import numpy as np

from bench.document import PERFORMANCE, DocumentTable
from bench.options import add_files, parser_of, wrote_tables
from engine.device.devices import backend
from engine.errors import DeviceUnavailable
from engine.mask.mask import Mask
from engine.results.measurement import RunResult
from engine.run.device_choice import device_for
from engine.run.job import filter_job
from engine.run.measure import measure
from engine.run.resolve import as_samples, describe_problem
from engine.run.sampling import SamplingPlan
from engine.tasks.filtering.agreement import verify
from engine.variants.auto.planner import Choice
from engine.variants.registry import VARIANTS

WITHOUT_LIMIT = 10**15
PLAN = SamplingPlan(budget_s=0.5, patience_s=3.0)


def run_every_variant(image: np.ndarray, side: int) -> list[RunResult]:
    """Measure every variant that has a device here, and verify every pixel of its result."""
    random = np.random.default_rng(1)
    mask = Mask(random.random((side, side)) / side**2, name=f"random {side} x {side}")
    samples = as_samples(image)
    problem = describe_problem(samples, mask, "zero", 0.0)
    results = []
    for variant in VARIANTS:
        try:
            device = device_for(variant, "auto")
        except DeviceUnavailable as error:
            print(f"{variant.key:14} {error}")
            continue
        choice = Choice(variant, variant.default_block)
        outcome = measure(filter_job(choice, problem, mask, samples), backend(device.key), PLAN)
        result = outcome.result
        if outcome.values is not None:
            whole = verify(outcome.values, samples, mask, problem, affordable=WITHOUT_LIMIT)
            result = replace(result, verification=whole)
        results.append(result)
        print(describe(result))
    return results


def describe(result: RunResult) -> str:
    """Return one line of the table."""
    if result.timing is None or result.kernel_ms is None:
        return f"{result.variant:14} {result.status}"
    timing = result.timing
    return (
        f"{result.variant:14} kernel {timing.kernel.median_ms:10.4f} ms "
        f"(p20 {timing.kernel.p20_ms:.4f}, p80 {timing.kernel.p80_ms:.4f})  "
        f"end to end {timing.end_to_end.median_ms:9.2f} ms  {result.status}"
    )


def tables(found: dict[str, list[dict[str, Any]]]) -> list[DocumentTable]:
    """Return the table of times and errors."""
    problem = next(iter(found.values()))[0]["problem"]
    rows, columns = problem["mask_shape"]
    lines = [
        f"{problem['width']} x {problem['height']}, {rows} x {columns} random mask, "
        f"{problem['border']} border; milliseconds (median):",
        "",
        "| picture | variant | device | kernel | end to end "
        "| verified pixels | largest error | rounding bound |",
        "|---|---|---|---:|---:|---:|---:|---:|",
    ]
    for name, results in found.items():
        for one in results:
            kernel, whole = (one["timing"][part]["median_ms"] for part in ("kernel", "end_to_end"))
            proof = one["verification"]
            lines.append(
                f"| {name} | `{one['variant']}` | {one['environment']['device']} "
                f"| {kernel:.4g} | {whole:.4g} "
                f"| {proof['checked_pixels']:,} | {proof['max_error']:.2g} | {proof['bound']:.2g} |"
            )
    return [DocumentTable(PERFORMANCE, "large", lines)]


def main() -> None:
    """Measure both types and print, or write."""
    parser = parser_of(__doc__)
    parser.add_argument("--side", type=int, default=4096)
    parser.add_argument("--mask", type=int, default=5)
    add_files(parser, "docs/performance.md")
    arguments = parser.parse_args()
    if wrote_tables(arguments, tables):
        return
    random = np.random.default_rng(0)
    side = arguments.side
    pictures = {
        "float32, 1 channel": random.random((side, side), dtype=np.float32),
        "8 bit, RGB": random.integers(0, 256, (side, side, 3), dtype=np.uint8),
    }
    found = {}
    for name, image in pictures.items():
        print(f"{side} x {side} {name}, {arguments.mask} x {arguments.mask} mask, zero border")
        found[name] = [result.as_json() for result in run_every_variant(image, arguments.mask)]
    if arguments.json:
        arguments.json.write_text(json.dumps(found, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
