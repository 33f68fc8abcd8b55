"""`auto` on random problems, beside every variant that could be faster there.

python -m bench.choices --device cuda [--count 500] [--seed N] [--json FILE]
python -m bench.choices --read FILE [FILE ...]     what `auto` would choose today, by such files' times

Widths and heights of 200 to 6000, all borders, one to four channels, all types of samples and results, masks
of 2 x 2 to 31 x 31, half of them not square: random ones, sums of one to three products, equal weights.
Without --seed each run draws new problems. All kernels are compiled first, in as many processes as
there are cores. The variants of a problem are measured alternately, `ROUNDS` times, and the shortest
times are compared. Results are not verified here: tests do.
"""

import math
import os
import secrets
import time
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from bench.auto import able, is_too_long
from bench.options import parser_of
from engine.device.backend import Backend
from engine.device.devices import backend, device_named
from engine.device_info import AUTO
from engine.errors import EngineError
from engine.geometry.border import Border
from engine.mask.mask import Mask
from engine.work.filtering.planner import choose, cost_table, holds_bound
from engine.work.filtering.variants import variant
from engine.work.problem import DTYPES, MAX_CHANNELS, Problem

SIDES, MASK_SIDES = (200, 6000), (2, 31)
# What is estimated to take so many times as long as the choice of `auto` is left out.
WITHIN = 3.0
KINDS = ("random", "random", "rank 1", "rank 2", "rank 3", "box")
ROUNDS = 5
ALLOWED = 1.1


@dataclass
class Draw:
    """A problem, the mask as what makes it again, and the times of the variants that were measured, ms."""

    problem: Problem
    kind: str
    seed: int
    times_ms: dict[str, float] = field(default_factory=dict)

    @property
    def mask(self) -> Mask:
        """The mask."""
        random, (rows, columns) = np.random.default_rng(self.seed), self.problem.mask_shape
        if self.kind == "box":
            weights = np.full((rows, columns), 1 / (rows * columns))
        elif self.kind == "random":
            weights = random.standard_normal((rows, columns))
        else:
            terms = int(self.kind[-1])
            weights = random.random((rows, terms)) @ random.random((terms, columns)) / (rows * columns)
        return Mask(weights, anchor=self.problem.anchor, name=f"{self.kind}, {rows} × {columns}")

    @property
    def name(self) -> str:
        """The problem in words."""
        problem = self.problem
        types = " to ".join(dict.fromkeys((problem.dtype, problem.result_dtype)))
        size = f"{problem.width} × {problem.height} × {problem.channels}"
        return f"{size} {types}, {problem.border}, {self.mask.name}"

    def choice(self, machine: Backend) -> str:
        """Return the variant that `auto` chooses today."""
        return choose(AUTO, self.problem, self.mask, None, machine.info).variant.key

    def ratio(self, key: str) -> float:
        """Return how many times as long as the best a variant takes; infinity if it was not measured."""
        return self.times_ms.get(key, math.inf) / min(self.times_ms.values())


def drawn(seed: int, count: int, most_side: int = SIDES[1]) -> list[Draw]:
    """Return random problems."""
    random = np.random.default_rng(seed)

    def one() -> Draw:
        height, width = (int(side) for side in random.integers(SIDES[0], most_side, 2, endpoint=True))
        rows, columns = (int(side) for side in random.integers(*MASK_SIDES, 2, endpoint=True))
        if random.random() < 0.5:
            columns = rows
        dtype = DTYPES[random.integers(len(DTYPES))]
        problem = Problem(
            height,
            width,
            int(random.integers(1, MAX_CHANNELS, endpoint=True)),
            dtype,
            (rows, columns),
            (rows // 2, columns // 2),
            list(Border)[random.integers(len(Border))],
            result_dtype=dtype if random.random() < 0.5 else "float32",
        )
        return Draw(problem, KINDS[random.integers(len(KINDS))], int(random.integers(2**31)))

    return [one() for _ in range(count)]


def rivals(draw: Draw, machine: Backend) -> list[str]:
    """Return the variants to measure: none whose estimate is more than `WITHIN` times that of the choice."""
    problem, mask = draw.problem, draw.mask
    chosen = draw.choice(machine)
    table = cost_table(machine.info.kind)

    def estimate(key: str) -> float:
        known = variant(key)
        return table.time_us(known, problem, table.rates, known.repeats_of(mask))

    keys = [
        known.key
        for known in able(problem, mask, machine)
        if holds_bound(known, problem, mask) and not is_too_long(known, problem)
    ]
    most = WITHIN * estimate(chosen)
    return sorted({chosen, *(key for key in keys if estimate(key) <= most)})


def compile_all(work: list[tuple[Draw, list[str]]], device: str) -> None:
    """Compile the kernels of all problems into the cache of compiled code."""
    processes = os.cpu_count() or 1
    with ProcessPoolExecutor(processes, get_context("spawn")) as pool:
        list(pool.map(_compile, [(work[number::processes], device) for number in range(processes)]))


def _compile(part: tuple[list[tuple[Draw, list[str]]], str]) -> None:
    work, device = part
    machine = backend(device)
    machine.activate()
    for draw, keys in work:
        for key in keys:
            known = variant(key)
            if known.has_kernels:
                # What fails here fails again when it is measured.
                with suppress(Exception):
                    known.prepare(draw.problem, draw.mask, known.default_block)


def measure(draw: Draw, keys: list[str], machine: Backend, pool: np.ndarray) -> None:
    """Measure the variants of a problem alternately."""
    problem, mask = draw.problem, draw.mask
    shape = problem.height, problem.width, problem.channels
    samples = pool[: math.prod(shape)].reshape(shape)
    machine.activate()
    buffers = machine.allocate(samples, result_dtype=problem.result_dtype)
    machine.upload(samples, buffers)
    clocks: dict[str, Any] = {}
    times: dict[str, float] = {}
    for key in keys:
        known = variant(key)
        try:
            prepared = known.prepare(problem, mask, known.default_block)
            machine.run(prepared, buffers)
            clocks[key] = machine.clock(prepared, buffers)
            times[key] = clocks[key].sample_ms()
        except EngineError as error:
            print(f"{draw.name}: {key}: {error}", flush=True)
    for number in range(ROUNDS):
        best = min(times.values())
        for key, clock in clocks.items():
            # What disturbed a first sample must not leave a variant out.
            if key in times and (number == 0 or times[key] < 1.5 * best):
                times[key] = min(times[key], clock.sample_ms())
    draw.times_ms = {key: float(f"{time_ms:.4g}") for key, time_ms in times.items()}


def measured_all(seed: int, count: int, machine: Backend, most_s: float) -> list[Draw]:
    """Draw problems, compile, and measure them."""
    draws = drawn(seed, count)
    work = [(draw, rivals(draw, machine)) for draw in draws]
    begin = time.perf_counter()
    if machine.info.kind == "cuda":
        compile_all(work, machine.info.key)
        print(f"compiled in {time.perf_counter() - begin:.0f} s", flush=True)
    largest = max(draw.problem.samples for draw in draws)
    random = np.random.default_rng(seed)
    pools = {
        dtype: random.random(largest, np.float32)
        if dtype == "float32"
        else random.integers(0, np.iinfo(dtype).max, largest, dtype, endpoint=True)
        for dtype in DTYPES
    }
    found = []
    for draw, keys in work:
        if time.perf_counter() - begin > most_s:
            print(f"stopped after {len(found)} problems", flush=True)
            break
        measure(draw, keys, machine, pools[draw.problem.dtype])
        found.append(draw)
    print(f"measured in {time.perf_counter() - begin:.0f} s", flush=True)
    return found


def report(draws: list[Draw], machine: Backend, worst: int = 10) -> None:
    """Print how often the choice of `auto` is within `ALLOWED` times the best, and the worst problems."""
    judged = [(draw.ratio(key), key, draw) for draw in draws for key in [draw.choice(machine)]]
    judged.sort(key=lambda one: one[0], reverse=True)
    for ratio, chosen, draw in judged[:worst]:
        best = min(draw.times_ms, key=draw.times_ms.__getitem__)
        times = f"{chosen} {1e3 * draw.times_ms.get(chosen, math.inf):.1f} us; {best} "
        print(f"{ratio:5.2f}  {draw.name}: {times}{1e3 * draw.times_ms[best]:.1f} us")
    ratios = [ratio for ratio, _, _ in judged]
    within = sum(ratio <= ALLOWED for ratio in ratios)
    print(
        f"within {ALLOWED} times the best: {within} of {len(judged)} ({within / len(judged):.1%}); "
        f"19 of 20 within {ratios[len(ratios) // 20]:.3f}; worst {ratios[0]:.2f}"
    )


def read(path: Path) -> list[Draw]:
    """Return the problems of a file, with their times."""
    return msgspec.json.decode(path.read_bytes(), type=list[Draw])


def main() -> None:
    """Measure what the command line asks for."""
    parser = parser_of(__doc__)
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cuda")
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--seed", type=int)
    parser.add_argument("--seconds", type=float, default=math.inf, help="begin no problem after so long")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--read", type=Path, nargs="+")
    options = parser.parse_args()
    machine = backend(device_named(options.device).key)
    if options.read:
        draws = [draw for path in options.read for draw in read(path)]
    else:
        seed = secrets.randbits(31) if options.seed is None else options.seed
        print(f"seed {seed}", flush=True)
        draws = measured_all(seed, options.count, machine, options.seconds)
        if options.json:
            options.json.write_bytes(msgspec.json.encode(draws))
    report(draws, machine)


if __name__ == "__main__":
    main()
