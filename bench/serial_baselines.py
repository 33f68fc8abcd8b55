"""The baselines beside the same loops in C (`serial_baselines.c`), compiled by `gcc -O2`.

python -m bench.serial_baselines        half a minute; CC=clang names another compiler

A speed-up says something of a kernel only where its baseline is what it says. Those on one thread must take
no longer than a plain program; those of operations and of products are more than that, and run on one core
here. Both are called in turns; the times are the process's CPU time, the least of each. Results must be the
same bit for bit, but for the product, whose order of sums is the library's.
"""

import ctypes
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from bench.options import parser_of
from engine.mask.mask import Mask
from engine.process import launches_on
from engine.tasks.network.operands import trained_weights
from engine.tasks.network.problem import FIRST, FIRST_POOLED, FIRST_SIDE, SIDE
from engine.variants.mask_classes import required_factors
from engine.variants.matmul import NumpyProduct
from engine.variants.network.report import serial_connected, serial_convolution, serial_pool
from engine.variants.network.steps import TILE
from engine.variants.operations.jpeg import basis64, steps_of
from engine.work.filter_task import describe_problem
from engine.work.filtering.variants import variant
from engine.work.operations.contract import operation_variant
from engine.work.problem import OperationProblem, Parameters, random_picture

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
TWO_PASSES = ((512, 512, 1, "float32", 17, 17), (512, 512, 3, "uint8", 5, 5), (512, 512, 1, "float32", 3, 3))
OPERATIONS = (
    ("negative", "cpu-negative", Parameters()),
    ("histogram", "cpu-histogram", Parameters({"bins": 256}.items())),
    ("median", "cpu-median", Parameters({"size": 3}.items())),
    ("compress", "cpu-dct", Parameters({"quality": 50}.items())),
)
ROUNDS = 15

Call = Callable[[], object]
Filter = tuple[int, int, int, str, int, int]


class Pair(NamedTuple):
    """A baseline and the same loops in C; each writes into its own result."""

    name: str
    in_c: Call
    ours: Call
    c_result: np.ndarray
    our_result: np.ndarray

    def agrees(self) -> bool:
        """Whether both gave the same."""
        self.in_c()
        self.ours()
        if self.name.startswith("numpy"):
            return np.allclose(self.c_result, self.our_result, rtol=1e-4)
        return np.array_equal(self.c_result, self.our_result)


class Program:
    """The loops in C for samples of one type."""

    def __init__(self, library: Path) -> None:
        self._library = ctypes.CDLL(str(library))

    def call(self, name: str, *arguments: Any) -> Call:
        """Return a call of a function with arrays and whole numbers."""
        taken = [
            ctypes.c_void_p(one.ctypes.data) if isinstance(one, np.ndarray) else ctypes.c_long(one)
            for one in arguments
        ]
        function = getattr(self._library, name)

        def call(_alive: tuple[Any, ...] = arguments) -> None:
            function(*taken)

        return call


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
    for form in FILTERS:
        yield _filter("cpu-serial", made[form[3]], form)
    for form in TWO_PASSES:
        yield _filter("cpu-separable-serial", made[form[3]], form)
    yield from _layers(made["float32"])
    yield from _operations(made["uint8"])
    yield _product(made["float32"])


def _filter(key: str, made: Program, form: Filter) -> Pair:
    height, width, channels, dtype, rows, columns = form
    image = random_picture((height, width, channels), dtype, seed=0)
    random = np.random.default_rng(1)
    mask = Mask(np.outer(random.normal(size=rows), random.normal(size=columns)))
    problem, known = describe_problem(image, mask, "zero", 0.0), variant(key)
    prepared = known.prepare(problem, mask, known.default_block)
    ours, theirs, sums = (np.empty(image.shape, np.float32) for _ in range(3))
    size = (height, width, channels)
    if key == "cpu-serial":
        in_c = made.call("correlate", image, theirs, *size, mask.weights32, rows, columns)
    else:
        factors = required_factors(mask, "")
        arguments = (*size, np.array(factors.column), rows, np.array(factors.row), columns)
        in_c = made.call("correlate_in_two_passes", image, sums, theirs, *arguments)
    name = f"{key}, {rows} x {columns} on {height} x {width} x {channels} {dtype}"
    return Pair(name, in_c, partial(prepared.launch, image, ours), theirs, ours)


def _layers(made: Program) -> Iterator[Pair]:
    weights, random = trained_weights(), np.random.default_rng(2)
    for number, filters, side in ((1, weights.convolution_1, SIDE), (2, weights.convolution_2, FIRST_POOLED)):
        count, channels = filters.shape[:2]
        maps = random.random((channels, side, side), np.float32)
        ours, theirs = np.empty((2, count, side - 4, side - 4), np.float32)
        call = made.call("convolve", maps, filters, theirs, channels, side, count)
        name = f"network-serial, convolution {number}"
        yield Pair(name, call, serial_convolution.call(maps, filters, ours), theirs, ours)
    maps = random.random((FIRST, FIRST_SIDE, FIRST_SIDE), np.float32)
    ours, theirs = np.empty((2, FIRST, FIRST_POOLED, FIRST_POOLED), np.float32)
    call = made.call("pool", maps, theirs, FIRST, FIRST_SIDE)
    yield Pair("network-serial, pool 1", call, serial_pool.call(maps, ours), theirs, ours)
    inputs, outputs = weights.hidden.shape
    linear = random.random(inputs, np.float32)
    ours, theirs = np.empty((2, outputs), np.float32)
    call = made.call("connect_layer", linear, weights.hidden, theirs, inputs, outputs, TILE)
    own = serial_connected.call(linear, weights.hidden, True, ours)
    yield Pair("network-serial, hidden", call, own, theirs, ours)


def _operations(made: Program) -> Iterator[Pair]:
    height, width, channels = shape = (512, 512, 3)
    image = random_picture(shape, "uint8", seed=0)
    # The form of the result, and what the function in C takes besides.
    forms: dict[str, tuple[tuple[int, int, int], str, tuple[Any, ...]]] = {
        "negative": (shape, "uint8", (image.size, 255)),
        "histogram": ((channels, 256, 1), "uint32", (height * width, channels)),
        "median": (shape, "uint8", shape),
        "compress": ((2 * height, width, channels), "float32", shape),
    }
    for operation, key, settings in OPERATIONS:
        result_shape, dtype, arguments = forms[operation]
        problem = OperationProblem(operation, *shape, "uint8", result_shape, dtype, settings)
        if operation == "compress":
            arguments = (*arguments, basis64().astype(np.float32), steps_of(problem))
        known = operation_variant(key, operation)
        with launches_on(1):
            prepared = known.prepare(problem, None, known.default_block)
        ours, theirs = np.empty(result_shape, dtype), np.empty(result_shape, dtype)
        call = made.call(operation, image, theirs, *arguments)
        name = f"{key}, {height} x {width} x {channels} uint8"
        yield Pair(name, call, partial(prepared.launch, image, ours), theirs, ours)


def _product(made: Program) -> Pair:
    a, b = np.random.default_rng(3).random((2, 256, 256), np.float32)
    ours, theirs = np.empty((2, 256, 256), np.float32)
    call = made.call("product", a, b, theirs, 256, 256, 256)
    return Pair("numpy, 256 x 256 x 256", call, partial(NumpyProduct().launch, (a, b), ours), theirs, ours)


def times_ms(pair: Pair, rounds: int) -> tuple[float, float]:
    """Return the least CPU time of a call in C and of ours, in turns, at least 1 ms of each in a round."""
    calls = (pair.in_c, pair.ours)
    count = max(1, int(1e6 / max(1, _ns(pair.in_c, 1))))
    found = [[_ns(call, count) / count for call in calls] for _ in range(rounds)]
    in_c, ours = np.min(found, axis=0) / 1e6
    return float(in_c), float(ours)


def _ns(call: Call, count: int) -> int:
    begin = time.process_time_ns()
    for _ in range(count):
        call()
    return time.process_time_ns() - begin


def main() -> None:
    """Print the table."""
    parser = parser_of(__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    rounds = parser.parse_args().rounds
    command = compiler()
    if command is None:
        print("There is no C compiler here (gcc, or the one that CC names): nothing to compare with.")
        return
    print(f"{'':<56}{'C, ms':>10}{'ours, ms':>10}{'ours / C':>10}")
    with tempfile.TemporaryDirectory() as folder:
        for pair in pairs(programs(command, Path(folder))):
            differs = "" if pair.agrees() else "   results differ"
            in_c, ours = times_ms(pair, rounds)
            print(f"{pair.name:<56}{in_c:>10.3f}{ours:>10.3f}{ours / in_c:>10.2f}{differs}", flush=True)


if __name__ == "__main__":
    main()
