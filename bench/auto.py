"""Measures the table of times that `auto` chooses by, or the rows of some variants.

python -m bench.auto --device cpu --only cpu-box     rows of one variant; the others stay
python -m bench.auto --device cuda                   the whole table, on this GPU

The table is `cost_table_cpu.json` or `cost_table_cuda.json` in `engine/work/filtering`. Measure on a
machine where nothing else runs; rows on the same GPU as the others'. Results are not verified here: tests do.
`python -m bench.choices` then says how good the choices are.
"""

import json
import re
import timeit
from collections.abc import Iterator
from itertools import count, product
from typing import Any

import numpy as np

from bench.options import parser_of
from engine.device.backend import Backend
from engine.device.devices import backend, device_named
from engine.device.launches import DeviceKind
from engine.errors import EngineError
from engine.geometry.border import Border
from engine.mask.mask import Mask
from engine.process import cores
from engine.run.measure import environment_of
from engine.variants.fast import digit_sums
from engine.work.filter_task import describe_problem
from engine.work.filtering.planner import (
    CORE_MULTIPLY_ADDS_G_S,
    MANY,
    Rates,
    cost_table,
    kind_of,
    mask_side_of,
    rates_of,
    repeated,
    table_path,
)
from engine.work.filtering.variants import VARIANTS, Growth, MaskClass, Variant, variant
from engine.work.problem import Problem

PICTURE_SIDES = (256, 512, 1024, 2048, 4096)
MASK_SIDES = (3, 5, 7, 9, 15, 23, 31, 63)
CHANNELS = (1, 3)
TYPES = (("uint8", "float32"), ("uint8", "uint8"), ("uint16", "float32"), ("float32", "float32"))
# Cells outside the picture repeat its cells, or are ghosts; other borders of each kind cost about the same.
BORDERS = (Border.MIRROR, Border.ZERO)
MASK_KINDS = ("box", "row", "rank 2", "rank 3", "one digit", "many digits")
"""Masks that the costs are measured with: `cost_rows` says which of them for which variant."""
SAMPLES = 13
# For longer times one launch is exact enough.
LONGEST_MS = 200.0
# What the plain loops and the teaching kernels would take longer for is read from a smaller picture's time.
TOO_LONG_MULTIPLY_ADDS = {
    "cpu-serial": 3e7, "cpu-separable-serial": 3e7, "cpu": 2e10, "tiled-input": 4e9, "constant": 2e10,
    "naive-uncoalesced": 2e10, "cuda": 3e11,
}  # fmt: skip


def mask_of(kind: str, side: int) -> Mask:
    """Return a mask of a kind of `MASK_KINDS`, or a "random" one, which has no structure."""
    random = np.random.default_rng(side)
    if kind == "row":
        return Mask(np.ones((1, side)), name=f"row of {side}")
    if kind.startswith("rank"):
        products = [np.outer(*random.random((2, side))) for _ in range(int(kind[-1]))]
        return Mask(np.sum(products, axis=0) / side**2, name=f"{kind}, {side}")
    if kind == "one digit":
        return Mask(np.ones((side, side)), name=f"ones {side}")
    if kind == "many digits":
        masks = (Mask(np.random.default_rng(n).standard_normal((side, side))) for n in count())
        return next(mask for mask in masks if digit_sums.VARIANT.repeats_of(mask) == MANY)
    if kind == "random":
        return Mask(random.standard_normal((side, side)), name=f"random {side}")
    return Mask(np.ones((side, side)) / side**2, name=f"box {side}")


def cost_rows(known: Variant) -> dict[str, str]:
    """Return which rows a variant has in the cost table, by the kind of mask."""
    if known.repeats is not None:
        return {"one digit": known.key, "many digits": repeated(known.key)}
    if known.rank > 1:
        return {f"rank {known.rank}": known.key}
    return {"row" if known.masks is MaskClass.ONE_ROW else "box": known.key}


def able(problem: Problem, mask: Mask, machine: Backend) -> Iterator[Variant]:
    """Yield the variants of a device that can do a problem."""
    for known in VARIANTS.on(machine.info.kind):
        if known.why_not(problem, mask, known.default_block, machine.info.limits, VARIANTS) is None:
            yield known


def is_too_long(known: Variant, problem: Problem) -> bool:
    """Return whether a variant would hold everything up."""
    limit = TOO_LONG_MULTIPLY_ADDS.get(known.key, TOO_LONG_MULTIPLY_ADDS[known.device.value])
    if known.grows_with is Growth.NOTHING:
        return False
    side = mask_side_of(known, problem)
    per_result = 4 * side if known.grows_with is Growth.SIDES else side**2
    return problem.samples * per_result > limit


def shortest_us(
    known: Variant, problem: Problem, mask: Mask, samples: np.ndarray, machine: Backend
) -> float | None:
    """Return the shortest time of a variant (what else runs only ever adds); None where it fails."""
    machine.activate()
    try:
        prepared = known.prepare(problem, mask, known.default_block)
        buffers = machine.allocate(samples, result_dtype=problem.result_dtype)
        machine.upload(samples, buffers)
        machine.run(prepared, buffers)
        clock = machine.clock(prepared, buffers)
        first = clock.sample_ms()
        shortest = first if first > LONGEST_MS else min(clock.sample_ms() for _ in range(SAMPLES))
        return float(f"{shortest * 1e3:.4g}")
    except EngineError as error:
        print(f"{known.key}: {error}", flush=True)
        return None


def picture_of(dtype: str, side: int, channels: int) -> np.ndarray:
    """Return a random picture."""
    random, shape = np.random.default_rng(side), (side, side, channels)
    if dtype == "float32":
        return random.random(shape, np.float32)
    return random.integers(0, np.iinfo(dtype).max, shape, dtype, endpoint=True)


def measured_times(machine: Backend, only: set[str]) -> dict[str, Any]:
    """Return the grid of times of each variant, or of those with the keys `only`."""
    times: dict[str, dict[str, list[list[float | None]]]] = {}
    for (dtype, result), channels, picture_side in product(TYPES, CHANNELS, PICTURE_SIDES):
        samples = picture_of(dtype, picture_side, channels)
        for border in BORDERS:
            kind = kind_of(dtype, channels, has_ghost_cells=border.has_ghost_cells, result_dtype=result)
            rows = _measured_rows(machine, samples, result, border, only)
            for key, row in rows.items():
                times.setdefault(key, {}).setdefault(kind, []).append(row)
            if rows:
                print(f"{kind}, {picture_side}: {', '.join(rows)}", flush=True)
    return times


def _measured_rows(
    machine: Backend, samples: np.ndarray, result: str, border: Border, only: set[str]
) -> dict[str, list[float | None]]:
    """Return rows of times, one time per mask side, microseconds."""
    rows: dict[str, list[float | None]] = {}
    for (index, mask_side), kind in product(enumerate(MASK_SIDES), MASK_KINDS):
        if kind == "many digits" and mask_side**2 > digit_sums.VARIANT.most_cells:
            continue
        mask = mask_of(kind, mask_side)
        problem = describe_problem(samples, mask, border, 0.0, result)
        for known in able(problem, mask, machine):
            name = cost_rows(known).get(kind)
            # The border counts for those that load tiles by vectors.
            border_counts = known.device is DeviceKind.CUDA and not known.uses_block
            is_asked = not only or known.key in only
            if name is None or not is_asked or (border.has_ghost_cells and not border_counts):
                continue
            row = rows.setdefault(name, [None] * len(MASK_SIDES))
            if not is_too_long(known, problem):
                row[index] = shortest_us(known, problem, mask, samples, machine)
    return rows


def machine_rates(machine: Backend) -> Rates:
    """Return the rates of this machine: a GPU's by its facts, a CPU's copy as one thread makes it."""
    if machine.info.kind == "cuda":
        return rates_of(machine.info, cost_table("cuda").rates)
    source = np.ones(1 << 24, np.float32)
    target = np.empty_like(source)
    best_s = min(timeit.repeat(lambda: np.copyto(target, source), number=1, repeat=7))
    return Rates(float(f"{2 * source.nbytes / best_s / 1e9:.4g}"), CORE_MULTIPLY_ADDS_G_S * cores())


def as_text(table: dict[str, Any]) -> str:
    """Return a table as JSON, one row of times per line."""
    text = json.dumps(table, indent=1)
    return re.sub(r"\[[\s\d.,e+\-nul]*\]", lambda row: json.dumps(json.loads(row[0])), text) + "\n"


def main() -> None:
    """Measure what the command line asks for, and write it."""
    parser = parser_of(__doc__)
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--only", default="", help="variants whose rows are measured, separated by commas")
    options = parser.parse_args()
    only = {variant(key).key for key in options.only.split(",") if key}
    machine = backend(device_named(options.device).key)
    times = measured_times(machine, only)
    environment, path = environment_of(machine.info), table_path(options.device)
    where = f"{environment.device}, commit {environment.commit}"
    if only:
        table = json.loads(path.read_text(encoding="utf-8"))
        table["from"] += f"; {', '.join(sorted(only))}: {where}"
        table["times_us"] |= times
    else:
        table = {
            "from": f"python -m bench.auto --device {options.device}, {where}",
            "rates": machine_rates(machine)._asdict(),
            "picture_sides": PICTURE_SIDES,
            "mask_sides": MASK_SIDES,
            "times_us": times,
        }
    path.write_text(as_text(table), encoding="utf-8")


if __name__ == "__main__":
    main()
