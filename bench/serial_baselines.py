"""The baselines on one thread beside the same loops in C (`bench/serial_baselines.c`), compiled by `gcc -O2`.

python -m bench.serial_baselines        half a minute; another compiler: CC=clang

A speed-up says something of a kernel only where its baseline is what it says: a plain program. Both are called
in turns, the time is the thread's CPU time, the least of each. Both must give the same result bit for bit.
"""

import ctypes
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from bench.options import parser_of
from engine.mask.mask import Mask
from engine.tasks.filtering.resolve import describe_problem
from engine.tasks.filtering.variants import variant
from engine.tasks.network.problem import ForwardPass
from engine.tasks.network.weights import random_weights
from engine.tasks.pictures import random_picture
from engine.variants.network.host_layers import connect, convolve, pool
from engine.variants.network.layer_kernels import TILE

SOURCE = Path(__file__).with_suffix(".c")
SAMPLES = {"float32": "float", "uint8": "unsigned char"}
# Height, width, channels, type, rows and columns of the mask: those of the courses, then others.
FILTERS = (
    (512, 512, 1, "float32", 5, 5),
    (512, 512, 3, "float32", 9, 9),
    (512, 512, 1, "uint8", 5, 5),
    (512, 512, 3, "uint8", 3, 3),
    (512, 512, 1, "float32", 3, 3),
    (512, 512, 1, "float32", 15, 15),
    (128, 128, 1, "float32", 5, 5),
)
TWO_PASSES = (
    (512, 512, 1, "float32", 17, 17),
    (512, 512, 3, "uint8", 5, 5),
    (512, 512, 1, "float32", 3, 3),
)
ROUNDS = 15


class Pair(NamedTuple):
    """A baseline and the same loops in C; each writes into its own result."""

    name: str
    in_c: Callable[[], object]
    ours: Callable[[], object]
    c_result: np.ndarray
    our_result: np.ndarray


class Program:
    """The loops in C for pictures of one type."""

    def __init__(self, library: Path) -> None:
        self._library = ctypes.CDLL(str(library))

    def call(self, name: str, *arguments: Any) -> Callable[[], object]:
        """Return a call of a function with arrays and whole numbers."""
        taken = [
            ctypes.c_void_p(one.ctypes.data) if isinstance(one, np.ndarray) else ctypes.c_long(one)
            for one in arguments
        ]
        function = getattr(self._library, name)
        # The arrays live as long as the call.
        return lambda: (function(*taken), arguments)


def compiler() -> str | None:
    """Return the C compiler of this machine, None where there is none."""
    return shutil.which(os.environ.get("CC", "gcc"))


def programs(command: str, folder: Path) -> dict[str, Program]:
    """Compile the loops for each type of samples."""
    found = {}
    for dtype, sample in SAMPLES.items():
        library = folder / f"{dtype}.so"
        options = ["-O2", f"-DSAMPLE={sample}", "-shared", "-fPIC", "-o", str(library), str(SOURCE)]
        subprocess.run([command, *options], check=True)
        found[dtype] = Program(library)
    return found


def pairs(made: dict[str, Program]) -> Iterator[Pair]:
    """Yield every baseline with its loops in C."""
    yield from _filters(made)
    yield from _layers(made["float32"])


def _filters(made: dict[str, Program]) -> Iterator[Pair]:
    cases = [("cpu-serial", one) for one in FILTERS]
    for key, (height, width, channels, dtype, rows, columns) in [
        *cases, *(("cpu-separable-serial", one) for one in TWO_PASSES),
    ]:  # fmt: skip
        image = random_picture((height, width, channels), dtype, seed=0)
        random = np.random.default_rng(1)
        column, row = (random.normal(size=count).astype(np.float32) for count in (rows, columns))
        mask = Mask(np.outer(column.astype(np.float64), row.astype(np.float64)))
        problem = describe_problem(image, mask, "zero", 0.0)
        known = variant(key)
        prepared = known.prepare(problem, mask, known.default_block)
        ours, theirs, sums = (np.empty(image.shape, np.float32) for _ in range(3))
        size = (height, width, channels)
        if key == "cpu-serial":
            in_c = made[dtype].call("correlate", image, theirs, *size, mask.weights32, rows, columns)
        else:
            factors = mask_factors(mask)
            arguments = (*size, factors[0], rows, factors[1], columns)
            in_c = made[dtype].call("correlate_in_two_passes", image, sums, theirs, *arguments)
        name = f"{key}, {rows} x {columns} on {height} x {width} x {channels} {dtype}"
        yield Pair(name, in_c, lambda launch=prepared.launch, one=image, out=ours: launch(one, out), theirs, ours)


def mask_factors(mask: Mask) -> tuple[np.ndarray, np.ndarray]:
    """Return column and row of a mask, as the variant has them."""
    from engine.variants.tiles.separable import required_factors

    factors = required_factors(mask, "")
    return np.array(factors.column), np.array(factors.row)


def _layers(made: Program) -> Iterator[Pair]:
    problem = ForwardPass(1)
    weights = random_weights(problem, 0)
    random = np.random.default_rng(2)

    def values(*shape: int) -> np.ndarray:
        return random.random(shape, np.float32)

    for name, filters, side in (
        ("convolution 1", weights.convolution_1, problem.side),
        ("convolution 2", weights.convolution_2, (problem.side - 4) // 2),
    ):
        count, channels = filters.shape[:2]
        maps, out = values(channels, side, side), side - 4
        ours, theirs = np.empty((2, count, out, out), np.float32)
        call = made.call("convolve", maps, filters, theirs, channels, side, count)
        yield Pair(f"network-serial, {name}", call, convolve.call(maps, filters, ours), theirs, ours)
        ours, theirs, maps = *np.empty((2, count, out // 2, out // 2), np.float32), values(count, out, out)
        call = made.call("pool", maps, theirs, count, out)
        yield Pair(f"network-serial, pool after {name}", call, pool.call(maps, ours), theirs, ours)
    inputs, outputs = weights.hidden.shape
    linear = values(inputs)
    ours, theirs = np.empty((2, outputs), np.float32)
    call = made.call("connect_layer", linear, weights.hidden, theirs, inputs, outputs, TILE)
    yield Pair("network-serial, hidden", call, connect.call(linear, weights.hidden, True, ours), theirs, ours)


def times_ms(pair: Pair, rounds: int) -> tuple[float, float]:
    """Return the least CPU time of a call in C and of ours, called in turns; at least 1 ms of each in a round."""
    calls = (pair.in_c, pair.ours)
    pair.ours()
    count = max(1, int(1e6 / max(1, _ns(pair.in_c, 1))))
    found = [[_ns(call, count) / count for call in calls] for _ in range(rounds)]
    least = np.min(found, axis=0) / 1e6
    return float(least[0]), float(least[1])


def _ns(call: Callable[[], object], count: int) -> int:
    begin = time.thread_time_ns()
    for _ in range(count):
        call()
    return time.thread_time_ns() - begin


def main() -> None:
    """Print the table."""
    parser = parser_of(__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    rounds = parser.parse_args().rounds
    command = compiler()
    if command is None:
        print("There is no C compiler here (gcc, or the one that CC names): nothing to compare with.")
        return
    with tempfile.TemporaryDirectory() as folder:
        print(f"{'CPU time of one thread':<58}{'gcc -O2, ms':>12}{'ours, ms':>12}{'ours / C':>10}")
        for pair in pairs(programs(command, Path(folder))):
            in_c, ours = times_ms(pair, rounds)
            differs = "" if np.array_equal(pair.c_result, pair.our_result) else "   results differ"
            print(f"{pair.name:<58}{in_c:>12.3f}{ours:>12.3f}{ours / in_c:>10.2f}{differs}", flush=True)


if __name__ == "__main__":
    main()
