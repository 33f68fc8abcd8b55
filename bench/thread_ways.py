"""The ways to share a launch among threads that `bench.threads` compares, each in a child process.

All call the same compiled walk over bands, so what differs is who wakes the threads and who waits for them.
Numba's threading layers are called by the function that `prange` and gufuncs end in.
"""

import hashlib
import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import cycle, islice, repeat
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

# What each way needs in the environment before its process imports Numba. GNU's OpenMP spins after a launch
# unless it is told not to.
WAYS: dict[str, dict[str, str]] = {
    "ours": {},
    "pool": {},
    "held": {},
    "omp": {"NUMBA_THREADING_LAYER": "omp"},
    "passive": {"NUMBA_THREADING_LAYER": "omp", "OMP_WAIT_POLICY": "passive"},
    "tbb": {"NUMBA_THREADING_LAYER": "tbb"},
    "workqueue": {"NUMBA_THREADING_LAYER": "workqueue"},
}


def serve(connection: Connection, way: str) -> None:
    """Do what the parent process asks until it says stop."""
    try:
        _use(way)
    except (ImportError, ValueError) as error:
        connection.send(str(error).splitlines()[0])
        return
    connection.send(None)
    launch: Callable[[], None] = lambda: None  # noqa: E731 - replaced by the first case
    used = 0.0
    while (asked := connection.recv()) is not None:
        if asked[0] == "case":
            launch, answer = _prepared(*asked[1:])
        else:
            answer = _turn(launch, used, *asked[1:])
        used = time.process_time()
        connection.send(answer)


def _turn(
    launch: Callable[[], None], used: float, settle_s: float, burst_s: float, least: int
) -> dict[str, Any]:
    """Wait, then launch for `burst_s`; return seconds, and CPU seconds used since the last turn."""
    time.sleep(settle_s)
    used = time.process_time() - used
    samples, own = [], time.process_time()
    end = time.perf_counter() + burst_s
    while (
        len(samples) < 2 or (now := time.perf_counter()) < end or (len(samples) < least and now < end + 0.2)
    ):
        begin = time.perf_counter()
        launch()
        samples.append(time.perf_counter() - begin)
    return {"woken": samples[0], "samples": samples[1:], "idle_cpu": used, "cpu": time.process_time() - own}


def _prepared(key: str, dtype: str, side: int, mask_side: int) -> tuple[Callable[[], None], Any]:
    """Return a launch of a case, and the digest of what it computes."""
    from engine.device.anti_aliasing import empty_result
    from engine.geometry.block import Block
    from engine.geometry.border import Border
    from engine.mask.mask import Mask
    from engine.run.resolve import describe_problem
    from engine.variants.registry import variant

    random = np.random.default_rng(side + mask_side)
    image = random.integers(0, 256, (side, side, 1)).astype(dtype)
    column = random.standard_normal(mask_side)
    mask = Mask(np.outer(column, column))
    problem = describe_problem(image, mask, Border.MIRROR, 0.0)
    prepared = variant(key).prepare(problem, mask, Block(1, 1))
    out = empty_result(image, image.shape, problem.result_dtype)
    out[...] = 0
    for _ in range(3):
        prepared.launch(image, out)
    return lambda: prepared.launch(image, out), hashlib.sha256(out.tobytes()).hexdigest()


def _use(way: str) -> None:
    """Have the launches of this process shared in this way."""
    from engine.variants.cpu import banded_filter

    if way in ("pool", "held"):
        banded_filter.BandedFilter.launch = _pooled_launch(way == "held")  # type: ignore[method-assign]
    elif WAYS[way]:
        banded_filter._BOARDS = _layer_boards()  # type: ignore[assignment]


def _pooled_launch(held: bool) -> Callable[..., None]:
    """Return a launch by the standard library: the caller works too, and tasks nobody began are cancelled.

    Held: a pool of one thread for each core, held to it; that of the caller's own core gets no task.
    """
    from engine.device.core_count import cores
    from engine.variants.cpu.shared_call import BOARD_ELEMENTS
    from engine.variants.cpu.thread_pool import _current_core

    pools = {-1: ThreadPoolExecutor(max(1, cores() - 1))}
    if held:
        pools = {core: _held(core) for core in sorted(os.sched_getaffinity(0))}

    def launch(self: Any, image: Any, out: Any, stream: Any = None) -> None:
        image = np.ascontiguousarray(image, self._dtype)
        workers, cut = self._cut_for(out)
        workers = min(workers, len(cut[0]))
        kept = self._kept[workers]
        buffers = kept.pop() if kept else self._new_buffers(workers)
        arguments = (image.ctypes.data, out.ctypes.data, cut, np.zeros(BOARD_ELEMENTS, np.int64), buffers)
        helpers = []
        if workers > 1:
            here = _current_core()
            free = (pool for core, pool in pools.items() if core != here)
            several = cycle(free) if held else repeat(pools[-1])
            helpers = [pool.submit(self._compute, *arguments) for pool in islice(several, workers - 1)]
        self._compute(*arguments)
        for helper in helpers:
            if not helper.cancel():
                helper.result()
        kept.append(buffers)

    return launch


def _held(core: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(1, initializer=os.sched_setaffinity, initargs=(0, {core}))


def _layer_boards() -> Any:
    """Return boards whose launches go to Numba's threading layer: it makes a call for each worker."""
    from numba import cfunc, types
    from numba.np.ufunc import parallel

    from engine.variants.cpu.shared_call import BOARD_ELEMENTS, POST, STARTED, call_at, exchange, look_at

    parallel._launch_threads()
    assert parallel.threading_layer() == os.environ["NUMBA_THREADING_LAYER"]
    # Places of a board, which only these functions and `share` know here.
    function_at, arguments_at, kernel_at, count_at, nothing_at = range(POST + 1, POST + 6)
    whole = types.int64
    parallel_for = types.ExternalFunction("numba_parallel_for", types.void(*[whole] * 8))

    @cfunc(types.void(whole, whole, whole, whole))
    def call_again(arrays: int, counts: int, steps: int, board: int) -> None:
        for _ in range(look_at(counts, 0)):
            call_at(look_at(board, function_at), look_at(board, arguments_at))

    @cfunc(types.void(whole, whole, whole))
    def post(function: int, arguments: int, board: int) -> None:
        # The caller's own call, which has come here, takes no band any more: the layer has it work as well.
        exchange(board, POST, 0)
        exchange(board, STARTED, 0)
        exchange(board, function_at, function)
        exchange(board, arguments_at, arguments)
        counts, nothing = board + 8 * count_at, board + 8 * nothing_at
        workers = look_at(board, count_at)
        parallel_for(look_at(board, kernel_at), nothing, counts, nothing, board, 0, 0, workers)

    class Boards:
        def take(self, workers: int) -> np.ndarray:
            board = np.zeros(BOARD_ELEMENTS, np.int64)
            board[POST] = post.address if workers > 1 else 0
            board[kernel_at], board[count_at] = call_again.address, workers
            return board

        def give_back(self, board: np.ndarray) -> None: ...

    return Boards()
