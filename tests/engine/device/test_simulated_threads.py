"""Simulated CUDA threads as greenlets: barriers, votes, errors, and what is left when a launch ends early."""

import gc
import threading
from contextlib import ExitStack

import numpy as np
import pytest
from engine.device.simulated_threads import run_threads_as_greenlets
from greenlet import greenlet
from numba.cuda.simulator import kernel as launches
from numba.cuda.simulator import kernelapi

from engine.device.numba_cuda import cuda

THREADS = 8


@pytest.fixture(autouse=True)
def launch(monkeypatch):
    """Run kernels in the simulator, in this process, which does not simulate otherwise."""
    for module, name in ((launches, "BlockManager"), (kernelapi, "threading"), (kernelapi, "traceback")):
        monkeypatch.setattr(module, name, getattr(module, name))
    assert run_threads_as_greenlets()

    def run(kernel, *arrays, grid=1, block=THREADS):
        before = threading.active_count()
        try:
            launches.FakeCUDAKernel(kernel, device=False)[grid, block](*arrays)
        finally:
            assert threading.active_count() == before
            assert suspended() == []
        return arrays[-1].tolist()

    return run


def suspended():
    # Not `isinstance`, which asks a dead weak proxy of another test for its class and raises.
    alive = (found for found in gc.get_objects() if issubclass(type(found), greenlet))
    return [found for found in alive if found and found.parent]


def test_that_threads_wait_for_each_other_at_each_barrier(launch):
    def rotate(out):
        tile = cuda.shared.array(THREADS, np.int64)
        other = cuda.shared.array(THREADS, np.int64)
        at = cuda.threadIdx.x
        tile[at] = cuda.grid(1)
        cuda.syncthreads()
        other[at] = tile[(at + 1) % THREADS]
        cuda.syncthreads()
        tile[at] = other[(at + 1) % THREADS]
        cuda.syncthreads()
        out[cuda.grid(1)] = tile[(at - 1) % THREADS]

    assert launch(rotate, np.zeros(16, int), grid=2) == [1, 2, 3, 4, 5, 6, 7, 0, 9, 10, 11, 12, 13, 14, 15, 8]


@pytest.mark.parametrize("neighbour", [1, -1])
def test_that_a_missing_barrier_is_seen_on_either_side(launch, neighbour):
    def shift(out):
        tile = cuda.shared.array(THREADS, np.int64)
        tile[cuda.threadIdx.x] = -1
        cuda.syncthreads()
        tile[cuda.threadIdx.x] = cuda.threadIdx.x
        out[cuda.grid(1)] = tile[min(max(cuda.threadIdx.x + neighbour, 0), THREADS - 1)]

    right = [min(max(at + neighbour, 0), THREADS - 1) for at in range(THREADS)]
    blocks = np.reshape(launch(shift, np.zeros(16, int), grid=2), (2, THREADS)).tolist()
    assert sum(block == right for block in blocks) == 1


def test_that_threads_know_where_they_are(launch):
    def places(out):
        x, y = cuda.grid(2)
        out[y, x] = [cuda.blockIdx.y, cuda.threadIdx.y, cuda.blockIdx.x, cuda.threadIdx.x, cuda.laneid]

    found = np.array(launch(places, np.zeros((6, 8, 5), int), grid=(2, 2), block=(4, 3)))
    y, x = np.indices((6, 8))
    assert np.array_equal(found, np.stack([y // 3, y % 3, x // 4, x % 4, x % 4 + 4 * (y % 3)], axis=-1))


def test_that_votes_are_of_the_threads_that_still_run(launch):
    def vote(out):
        at = cuda.threadIdx.x
        if at < 2:
            return
        out[at, 0] = cuda.syncthreads_count(at % 3)
        out[at, 1] = cuda.syncthreads_and(at)
        out[at, 2] = cuda.syncthreads_and(at - 2)
        out[at, 3] = cuda.syncthreads_or(at > 7)
        out[at, 4] = cuda.syncthreads_or(at == 7)

    assert launch(vote, np.zeros((THREADS, 5), int)) == [[0] * 5] * 2 + [[4, 1, 0, 0, 1]] * 6


def test_that_an_error_says_the_place_of_its_thread(launch):
    def fails(wordless, out):
        if cuda.threadIdx.x == 2 and not wordless[0]:
            out[cuda.threadIdx.x + 10] = 1
        cuda.syncthreads()
        if cuda.threadIdx.x == 3 and wordless[0] == 1:
            raise ValueError
        out[cuda.threadIdx.x] = 1

    kind, out = np.zeros(1, int), np.zeros(THREADS, int)
    with pytest.raises(IndexError, match=r"^tid=\[2, 0, 0\] ctaid=\[0, 0, 0\]: index 12 is out of") as seen:
        launch(fails, kind, out)
    assert "fails" in [entry.name for entry in seen.traceback]
    with pytest.raises(ValueError, match=r"^tid=\[3, 0, 0\] ctaid=\[0, 0, 0\]$"):
        launch(fails, kind + 1, out)
    assert launch(fails, kind + 2, out) == [1] * THREADS


def test_that_every_thread_leaves_its_kernel_at_ctrl_c(launch):
    left = []

    def interrupted(out):
        with ExitStack() as stack:
            stack.callback(left.append, cuda.threadIdx.x)
            cuda.syncthreads()
            if cuda.threadIdx.x == 3:
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt, match=r"^$"):
        launch(interrupted, np.zeros(THREADS, int))
    assert sorted(left) == [*range(THREADS)]


def test_that_a_thousand_threads_need_no_stack_of_their_own(launch):
    def add(out):
        cuda.syncthreads()
        cuda.atomic.add(out, 0, 1)
        cuda.syncthreads()
        out[1 + cuda.threadIdx.x] = out[0]

    assert launch(add, np.zeros(1025, int), block=1024) == [1024] * 1025


def test_that_a_simulator_that_looks_otherwise_keeps_its_own_threads(monkeypatch):
    class Other:
        def __init__(self, f, grid_dim):
            pass

    monkeypatch.setattr(launches, "BlockManager", Other)
    assert not run_threads_as_greenlets()
    assert launches.BlockManager is Other
    monkeypatch.delattr(launches, "BlockManager")
    assert not run_threads_as_greenlets()
