"""Measures the limits of the CPU: multiply-adds in registers, and copies, on one core and on all."""

import time
from collections.abc import Callable

import numpy as np

from engine.compiled.cpu_target import cpu_target
from engine.compiled.machine_code import MachineFunction
from engine.device.core_count import launch_cores
from engine.device.device_list import cpu_info
from engine.device.threads.parallel_copy import copy_bytes
from engine.device.threads.thread_pool import TASK, SharedCall
from engine.explain.limits.cpu_work import CHAINS, STEPS
from engine.explain.limits.device_limits import DeviceLimits, Limit
from engine.explain.limits.kept_limits import keep
from engine.explain.limits.messages import MeasureLimits
from engine.results.progress import Checkpoint, Progress

# More than the caches of most processors hold.
COPIED_BYTES = 256 << 20
# Pieces of a copy. Two of them are within the second cache of each core.
PIECE_BYTES = 64 << 10
LINE_BYTES = 64
_LEAST_SAMPLES, _SAMPLING_S = 5, 0.25
# 50 us a piece; so many pieces that cores that begin late hardly matter.
_ROUNDS, _PIECES = 2000, 32
_CACHED_COPIES = 200
_CODE = "engine.explain.limits.cpu_rates_code"
_MULTIPLY_ADDS, _COPIES = (
    MachineFunction(_CODE, name, error_model="numpy") for name in ("multiply_adds", "copies")
)


def answer(request: MeasureLimits, report: Checkpoint) -> DeviceLimits:
    """Measure the limits of the CPU and keep them. Called on: the host's main thread."""
    limits = cpu_limits(report)
    keep(cpu_info(), limits)
    return limits


def cpu_limits(report: Checkpoint = lambda progress: None) -> DeviceLimits:
    """Measure all limits of the CPU; `report` is called before each."""
    found: list[Limit] = []
    cores = launch_cores()
    # The first compiles for a second.
    for number, (name, measure) in enumerate(
        [
            ("multiply-adds", lambda: multiply_adds_per_s(cores)),
            ("multiply-adds of one core", lambda: multiply_adds_per_s(1)),
            ("copies", copy_bytes_per_s),
            ("copies within the caches", lambda: cached_copy_bytes_per_s(cores)),
        ]
    ):
        report(Progress(f"measuring {name}", number / 4, 3.0))
        found.append(Limit(measure()))
    all_cores, one_core, copied, cached = found
    return DeviceLimits(
        cpu_info().title,
        copy_bytes_per_s=copied,
        l2_bytes_per_s=cached,
        multiply_adds_per_s=all_cores,
        core_multiply_adds_per_s=one_core,
        cores=cores,
        vector_bits=32 * cpu_target().vector_floats,
    )


def multiply_adds_per_s(cores: int) -> float:
    """Return the multiply-adds of float32 that so many cores do per second, in registers."""
    pieces = _PIECES * cores
    operands = np.linspace(0.1, 0.9, CHAINS, dtype=np.float32)
    sums = np.zeros(pieces * LINE_BYTES, np.uint8)
    call = SharedCall(_MULTIPLY_ADDS, (0, 0, operands, _ROUNDS, pieces, TASK), cores)
    done = pieces * _ROUNDS * CHAINS * STEPS * cpu_target().vector_floats
    return done / _least_s(lambda: call.launch(sums.ctypes.data, 0))


def copy_bytes_per_s() -> float:
    """Return the bytes that all cores read and write per second when they copy memory outside the caches.

    The faster of two ways: the system's own copy, and stores past the cache, which CPU variants use.
    """
    source, target = _aligned(COPIED_BYTES), _aligned(COPIED_BYTES)
    cores, pieces = launch_cores(), COPIED_BYTES // PIECE_BYTES
    past_cache = _copies(pieces, 1, True, cores)
    least_s = min(
        _least_s(lambda: copy_bytes(source, target, COPIED_BYTES))
        for source, target in [(source.ctypes.data, target.ctypes.data)]
    )
    least_s = min(least_s, _least_s(lambda: past_cache.launch(source.ctypes.data, target.ctypes.data)))
    return 2 * COPIED_BYTES / least_s


def cached_copy_bytes_per_s(cores: int) -> float:
    """Return the bytes that all cores read and write per second when each copies within its own cache."""
    # Several pieces a core: a core that begins late takes fewer.
    pieces = 4 * cores
    source, target = _aligned(pieces * PIECE_BYTES), _aligned(pieces * PIECE_BYTES)
    call = _copies(pieces, _CACHED_COPIES, False, cores)
    least_s = _least_s(lambda: call.launch(source.ctypes.data, target.ctypes.data))
    return 2 * pieces * PIECE_BYTES * _CACHED_COPIES / least_s


def _copies(pieces: int, times: int, past_cache: bool, cores: int) -> SharedCall:
    """Return a call that copies pieces; it is launched with the addresses of source and target."""
    arguments = (0, 0, np.zeros(1, np.float32), PIECE_BYTES // 4, pieces, times, past_cache, TASK)
    return SharedCall(_COPIES, arguments, cores)


def _aligned(size: int) -> np.ndarray:
    """Return so many bytes from a cache line's beginning on; their pages are there."""
    memory = np.ones(size + LINE_BYTES, np.uint8)
    first = -memory.ctypes.data % LINE_BYTES
    return memory[first : first + size]


def _least_s(work: Callable[[], object]) -> float:
    """Return the shortest time of some work, seconds; the first time it may compile, and wakes threads."""
    work()
    begin = time.perf_counter()
    samples: list[float] = []
    while len(samples) < _LEAST_SAMPLES or time.perf_counter() - begin < _SAMPLING_S:
        before = time.perf_counter()
        work()
        samples.append(time.perf_counter() - before)
    return min(samples)
