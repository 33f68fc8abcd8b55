"""Measures the limits of the CPU: what its cores do in registers and in their caches, and copies."""

import time
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from engine.compiled.machine_code import MachineFunction
from engine.device.device_list import cpu_info
from engine.device.thread_pool import TASK, SharedCall, copy_bytes
from engine.explain.device_limits import DeviceLimits, Limit, limit_name, measured_well
from engine.process import launch_cores
from engine.results.problem import Checkpoint, Progress
from engine.variants.cpu.banded_filter import aligned_rows
from engine.variants.cpu.register_tiles import BUSY_SUMS, VECTOR

# Bytes of one side of a copy, the last one more than the caches of most processors hold.
SIZES = tuple(mega << 20 for mega in (1, 4, 16, 32, 64, 128, 256))
# Pieces of a copy within the second cache of each core, which holds two of them; and the largest of others:
# with pieces of 64 KiB a copy of 256 MiB took 15 % longer (2 cores, AVX-512).
PIECE_BYTES, MOST_PIECE_BYTES = 64 << 10, 1 << 20
LINE_BYTES = 64
# A copy is repeated until it has copied so much; a core wakes in less time.
_LEAST_COPIED = 16 << 20
_LEAST_SAMPLES, _SAMPLING_S, _BRIEFLY_S = 3, 0.1, 0.02
# 50 us a piece; so many pieces that cores that begin late hardly matter. With few of them a launch is short,
# and seldom interrupted.
_ROUNDS, _PIECES, _FEW_PIECES = 2000, 32, 4
_CACHED_COPIES = 200
_CODE = "engine.explain.cpu_rates_code"
_IN_REGISTERS, _COPIES = (
    MachineFunction(_CODE, name, error_model="numpy") for name in ("in_registers", "copies")
)


class _Work(NamedTuple):
    """What `in_registers` does: its number there, how much of it a round does, and rounds per _ROUNDS."""

    number: int
    per_round: int
    rounds: float = 1.0


# What loads and stores go through: as much as the first cache holds. And the taps of a textbook sum, of which
# none takes less time than with 8 (Zen 5: with 3 or 31 taps a tenth more).
CACHED_FLOATS, TAPS = 2048, 8
MULTIPLY_ADDS, OPERATIONS = _Work(0, BUSY_SUMS * VECTOR, 4), _Work(1, 80)
LOADS, STORES = (_Work(number, CACHED_FLOATS // VECTOR, 0.5) for number in (2, 3))
OF_FLOATS, OF_INTEGERS = (_Work(number, (CACHED_FLOATS // 2 - TAPS) * TAPS, 0.02) for number in (4, 5))

# By the names of `DeviceLimits`. One core does them, and all cores as many times as much as they do of
# multiply-adds: that takes no second core that is free just then.
_WORKS = {
    "scalar_multiply_adds_per_s": OF_FLOATS,
    "converted_multiply_adds_per_s": OF_INTEGERS,
    "vector_operations_per_s": OPERATIONS,
    "vector_loads_per_s": LOADS,
    "vector_stores_per_s": STORES,
}


def cpu_limits(report: Checkpoint = lambda progress: None) -> DeviceLimits:
    """Measure all limits of the CPU; `report` is called before each."""
    return measured_well(lambda: _measured(report))


def _measured(report: Checkpoint) -> DeviceLimits:
    cores, rates = launch_cores(), dict[str, float]()
    source, target = _aligned(SIZES[-1]), _aligned(SIZES[-1])
    nothing = _in_registers(MULTIPLY_ADDS, 1, 0, 1)
    steps: dict[str, Callable[[], float]] = {
        "multiply_adds_per_s": lambda: work_per_s(MULTIPLY_ADDS, cores),
        "core_multiply_adds_per_s": lambda: work_per_s(MULTIPLY_ADDS, 1),
        **{name: partial(work_per_s, work, 1, _FEW_PIECES, _BRIEFLY_S) for name, work in _WORKS.items()},
        # Calls that have nothing to do, by one thread.
        "launches_per_s": lambda: 1 / _least_s(partial(nothing.launch, 0, 0), _BRIEFLY_S),
        "l2_bytes_per_s": lambda: cached_copy_bytes_per_s(cores),
    }
    sizes = {f"copies of {size >> 20} MiB": size for size in SIZES}
    steps |= {name: partial(copy_bytes_per_s, source, target, size) for name, size in sizes.items()}
    for number, (name, measure) in enumerate(steps.items()):
        # Compiling takes some seconds, once.
        report(Progress(f"measuring {limit_name(name)}", number / len(steps), 3.0))
        rates[name] = measure()
    for name in _WORKS:
        rates[name] *= rates["multiply_adds_per_s"] / rates["core_multiply_adds_per_s"]
    copies = {2 * size: rates.pop(name) for name, size in sizes.items()}
    rates["copy_bytes_per_s"] = copies[2 * SIZES[-1]]
    # Less than each core's cache holds.
    copies[2 * PIECE_BYTES * cores] = rates["l2_bytes_per_s"]
    limits: dict[str, Any] = {name: Limit(rate) for name, rate in rates.items()}
    return DeviceLimits(cpu_info().title, cores=cores, vector_bits=32 * VECTOR, **limits).with_copies(copies)


def work_per_s(work: _Work, cores: int, pieces: int = _PIECES, sampling_s: float = _SAMPLING_S) -> float:
    """Return how much of some work so many cores do per second, in registers or in their first caches."""
    pieces, rounds = pieces * cores, max(1, int(_ROUNDS * work.rounds))
    sums = _aligned(pieces * LINE_BYTES)
    call = _in_registers(work, rounds, pieces, cores)
    least_s = _least_s(lambda: call.launch(sums.ctypes.data, 0), sampling_s)
    return pieces * rounds * work.per_round / least_s


def _in_registers(work: _Work, rounds: int, pieces: int, cores: int) -> SharedCall:
    """Return a call that does pieces of some work; it is launched with the address of their results."""
    operands = aligned_rows(cores, CACHED_FLOATS + LINE_BYTES, np.float32)
    operands[:] = np.linspace(0.1, 0.9, operands.shape[1])
    how = work.number, rounds, CACHED_FLOATS, TAPS, 1
    data = np.ones(CACHED_FLOATS, np.uint8)
    return SharedCall(_IN_REGISTERS, (0, 0, operands, data, how, pieces, TASK), cores)


def copy_bytes_per_s(source: np.ndarray, target: np.ndarray, size: int) -> float:
    """Return the bytes that all cores read and write per second when they copy `size` bytes again and again.

    The fastest of three ways: the system's own copy, our loads and stores, and stores past the cache, which
    CPU variants use.
    """
    addresses, cores = (source.ctypes.data, target.ctypes.data), launch_cores()
    # Eight pieces a core or more: a core that begins late takes fewer.
    piece = max(PIECE_BYTES, min(MOST_PIECE_BYTES, size // (8 * cores) // PIECE_BYTES * PIECE_BYTES))
    rounds = max(1, _LEAST_COPIED // size)
    ours = [_copies(piece, size // piece, (rounds, 1), past_cache, cores) for past_cache in (False, True)]

    def systems() -> None:
        for _ in range(rounds):
            copy_bytes(*addresses, size)

    ways: list[Callable[[], None]] = [systems, *(partial(call.launch, *addresses) for call in ours)]
    fastest = min(ways, key=lambda way: _least_s(way, 0.0))
    return 2 * (size // piece * piece) * rounds / _least_s(fastest)


def cached_copy_bytes_per_s(cores: int) -> float:
    """Return the bytes that all cores read and write per second when each copies within its own cache."""
    # Several pieces a core: a core that begins late takes fewer.
    pieces = 4 * cores
    source, target = _aligned(pieces * PIECE_BYTES), _aligned(pieces * PIECE_BYTES)
    call = _copies(PIECE_BYTES, pieces, (1, _CACHED_COPIES), False, cores)
    least_s = _least_s(lambda: call.launch(source.ctypes.data, target.ctypes.data))
    return 2 * pieces * PIECE_BYTES * _CACHED_COPIES / least_s


def _copies(piece: int, pieces: int, times: tuple[int, int], past_cache: bool, cores: int) -> SharedCall:
    """Return a call that copies pieces of so many bytes; it is launched with the addresses of both sides.

    `times`: rounds, and how many times at once each piece is copied in a round.
    """
    operands = np.zeros(1, np.float32)
    return SharedCall(_COPIES, (0, 0, operands, piece // 4, pieces, *times, past_cache, TASK), cores)


def _aligned(size: int) -> np.ndarray:
    """Return so many bytes from a cache line's beginning on; their pages are there."""
    memory = np.ones(size + LINE_BYTES, np.uint8)
    first = -memory.ctypes.data % LINE_BYTES
    return memory[first : first + size]


def _least_s(work: Callable[[], object], sampling_s: float = _SAMPLING_S) -> float:
    """Return the shortest time of some work, seconds; the first time it may compile, and wakes threads."""
    work()
    begin = time.perf_counter()
    samples: list[float] = []
    while len(samples) < _LEAST_SAMPLES or time.perf_counter() - begin < sampling_s:
        before = time.perf_counter()
        work()
        samples.append(time.perf_counter() - before)
    return min(samples)
