"""Threads in lockstep: what a warp asks for at one statement in one round is one request."""

import math

import numpy as np
import pytest

from engine.device.numba_cuda import cuda, float32
from engine.explain.counts.lockstep import Lockstep
from engine.explain.counts.lockstep_arrays import LockstepArray
from engine.explain.counts.lockstep_source import in_lockstep
from engine.explain.counts.unknown import UNKNOWN, NotCounted

ONE_WARP = (32, 1, 1)


def run_kernel(kernel, block=ONE_WARP, blocks=((0, 0, 0),), values=None, shape=(4096,)):
    """Run a kernel of one array, `cells`; return the run and its requests by (memory, kind, array)."""
    run = Lockstep(list(blocks), block, lambda: None)
    cells = LockstepArray(run, "cells", "global", shape, 4, values)
    in_lockstep(kernel, run, has_values=values is not None)(cells)
    run.log.finish()
    found = run.log.accesses(np.ones(len(blocks)))
    return run, {(one.memory, one.kind, one.array): one.requests for one in found}


def loads(kernel, **how):
    """Return the requests that load `cells`."""
    return run_kernel(kernel, **how)[1]["global", "loads", "cells"]


def neighbours(cells):
    cells[cuda.threadIdx.x]


def test_that_neighbours_are_one_request_of_four_sectors():
    found = loads(neighbours)
    assert (found.requests, found.sectors, found.transactions, found.bytes) == (1, 4, 1, 128)


def test_that_each_warp_and_block_has_requests_of_its_own():
    found = loads(neighbours, block=(64, 2, 1), blocks=((0, 0, 0), (1, 0, 0)))
    assert (found.requests, found.sectors) == (8, 32)


def test_that_a_last_warp_that_is_not_full_asks_for_less():
    found = loads(neighbours, block=(40, 1, 1))
    assert (found.requests, found.sectors, found.bytes) == (2, 5, 160)


def other_ways(cells):
    if cuda.threadIdx.x < 8:
        cells[cuda.threadIdx.x]
    else:
        cells[100 * cuda.threadIdx.x]


def test_that_threads_on_different_ways_make_a_request_for_each_way():
    found = loads(other_ways)
    assert (found.requests, found.sectors) == (2, 1 + 24)


def other_ways_in_a_loop(cells):
    for n in range(4):
        if cuda.threadIdx.x == 8 * n:
            cells[512 * n]
        cells[cuda.threadIdx.x]


def test_that_what_only_one_thread_does_in_a_round_is_a_request_of_that_round():
    # Of the first loads each is another thread's, in another round: aligned by their number alone they
    # would be one request.
    found = loads(other_ways_in_a_loop)
    assert (found.requests, found.sectors) == (8, 4 + 16)


def shorter_loops(cells):
    for n in range(cuda.threadIdx.x, 48, 32):
        cells[n]


def test_that_a_loop_goes_on_for_the_threads_that_need_it():
    found = loads(shorter_loops)
    assert (found.requests, found.bytes) == (2, 4 * 48)


def halved(cells):
    step = cuda.threadIdx.x
    while step > 0:
        cells[step]
        step //= 2


def test_that_a_while_loop_goes_on_for_the_threads_that_need_it():
    found = loads(halved)
    assert (found.requests, found.bytes) == (5, 4 * sum(int(math.log2(n)) + 1 for n in range(1, 32)))


def leaves_early(cells):
    if cuda.threadIdx.x >= 16:
        return
    cells[cuda.threadIdx.x]


def test_that_threads_that_have_returned_ask_for_nothing():
    assert loads(leaves_early).bytes == 64


def short_circuit(cells):
    if cuda.threadIdx.x < 4 and cells[cuda.threadIdx.x] == cells[0]:
        pass


def test_that_the_second_condition_is_asked_only_where_the_first_holds():
    # UNKNOWN: whether they are the same is not known, and nothing depends on it.
    assert loads(short_circuit).bytes == 2 * 16


def transposed(cells):
    tile = cuda.shared.array((32, 32), float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    tile[y, x] = cells[32 * y + x]
    cuda.syncthreads()
    cells[32 * y + x] = tile[x, y]


def padded_tile(cells):
    tile = cuda.shared.array((32, 33), float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    tile[y, x] = cells[32 * y + x]
    cuda.syncthreads()
    cells[32 * y + x] = tile[x, y]


@pytest.mark.parametrize(("kernel", "each"), [(transposed, 32), (padded_tile, 1)])
def test_that_a_column_of_a_tile_has_the_bank_conflicts_of_its_pitch(kernel, each):
    _, found = run_kernel(kernel, block=(32, 32, 1))
    assert found["shared", "stores", "tile"].wavefronts == 32
    assert found["shared", "loads", "tile"].wavefronts_per_request == each


def test_that_a_barrier_counts_for_each_warp():
    run, _ = run_kernel(transposed, block=(32, 32, 1))
    assert run.log.barriers.sum() == 32


def test_that_values_are_computed_where_arrays_have_some():
    values = np.arange(1024, dtype=np.float32)
    run_kernel(transposed, block=(32, 32, 1), values=values, shape=(1024,))
    assert np.array_equal(values.reshape(32, 32), np.arange(1024).reshape(32, 32).T)


def copies_some(cells):
    value = float32(1.0)
    if cuda.threadIdx.x % 2 == 0:
        value = float32(2.0)
        if cuda.threadIdx.x % 4 == 0:
            value = float32(3.0)
    cells[cuda.threadIdx.x] = value


def test_that_a_variable_keeps_its_value_where_a_thread_took_the_other_way():
    values = np.zeros(32, np.float32)
    run_kernel(copies_some, values=values, shape=(32,))
    assert values[:4].tolist() == [3.0, 1.0, 2.0, 1.0]


def loads_by_sample(cells):
    if cells[0] > cells[1]:
        cells[2]


def indexed_by_sample(cells):
    cells[cells[0]]


def loops_by_sample(cells):
    index = 0
    while cells[index] > cells[0]:
        index += 1


@pytest.mark.parametrize("kernel", [loads_by_sample, indexed_by_sample, loops_by_sample])
def test_that_accesses_that_depend_on_samples_are_not_counted(kernel):
    with pytest.raises(NotCounted) as caught:
        run_kernel(kernel)
    assert caught.value.reason.code == "depends-on-samples"


def chooses_by_sample(cells):
    best = cells[0]
    if cells[1] > best:
        best = cells[1]
    cells[2] = best


def test_that_a_choice_between_samples_does_not_matter():
    with pytest.raises(NotCounted, match="asks for memory"):
        run_kernel(chooses_by_sample)
    _, found = run_kernel(chooses_by_value)
    assert found["global", "stores", "cells"].requests == 1


def chooses_by_value(cells):
    best, other = cells[0], cells[1]
    if other > best:
        best = other
    cells[2] = best


def outside(cells):
    cells[cuda.threadIdx.x - 1]


def test_that_an_address_outside_an_array_is_an_error():
    with pytest.raises(IndexError, match="outside its"):
        run_kernel(outside)


def has_a_break(cells):
    for n in range(4):
        if cells[n] > cells[0]:
            break


def test_that_a_source_with_more_than_is_known_is_not_counted():
    with pytest.raises(NotCounted, match="a break"):
        run_kernel(has_a_break)


def test_that_unknown_numbers_stay_unknown():
    assert (np.arange(3) + UNKNOWN) is UNKNOWN
    assert (1 - UNKNOWN * 2 < 3) is UNKNOWN
