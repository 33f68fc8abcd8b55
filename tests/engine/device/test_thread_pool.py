"""The threads that help a launch: their work, their waiting, what is left afterwards; copies by them."""

import itertools
import threading
import time

import numpy as np
import pytest

from engine import process
from engine.compiled.entry_point import entry_point
from engine.compiled.machine_code import MachineFunction
from engine.device import thread_pool as threads
from engine.device.thread_code import finish, row_of, share
from engine.device.thread_pool import PIECE_BYTES, STARTED, STATE, TAKEN, copy_bytes
from engine.process import OncePerProcess
from engine.variants.emit.cpu_vectors import count_one
from engine.variants.fast import fft
from tests.fresh_python import fresh_python

BEGUN, ENDED = 0, 8


def take_bands(picture, out, task, taken_by, rows, counts, bands, wait_for, spins):
    """Take bands; count workers as they begin and end; the first waits until so many have begun."""
    entry_point()
    worker = share(task)
    row = row_of(rows, worker)
    count_one(counts, BEGUN)
    while worker == 0 and count_one(counts, 16) < spins and counts[BEGUN] < wait_for:
        pass
    while True:
        band = count_one(task, TAKEN)
        if band >= bands:
            break
        taken_by[band] += 1 + worker
        row[0] += 1
        # As long as work on a band is.
        for step in range(2000):
            row[1 + step % 7] += step
    if worker > 0:
        count_one(counts, ENDED)
    finish(task, worker)


TAKE_BANDS = MachineFunction(__name__, "take_bands", error_model="numpy")


@pytest.fixture
def four_threads(monkeypatch):
    """Four threads that are held to no core, also where the machine has two."""
    threads.compiled()
    queues = np.zeros((4, threads.QUEUE_ELEMENTS), np.int64)
    for queue in queues:
        queue[threads.WAKE_LOCK], queue[threads.CORE] = threads._locked(), -1
        threading.Thread(target=threads._help, args=(queue,), daemon=True).start()
    monkeypatch.setattr(threads, "work_queues", lambda: queues)
    yield queues
    assert (queues[:, STATE] == 0).all()


def launched(workers, bands, wait_for=0):
    taken_by, rows = np.zeros(bands, np.int64), np.zeros((workers, 512), np.int64)
    counts = np.zeros(24, np.int64)
    numbers = (bands, wait_for, 100_000_000)
    call = threads.SharedCall(TAKE_BANDS, (0, 0, threads.TASK, taken_by, rows, counts, *numbers), workers)
    call.launch(0, 0)
    begun, ended = int(counts[BEGUN]), int(counts[ENDED])
    # The other workers are done when the first one returns: all that began have been counted.
    assert ended == begun - 1
    assert begun == call.task[STARTED] <= workers
    return taken_by, rows, counts


def at_the_same_time(count, call):
    callers = [threading.Thread(target=call) for _ in range(count)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()


def test_that_every_band_is_taken_once_by_as_many_workers_as_wanted(four_threads):
    for workers in (1, 2, 3, 5):
        taken_by, rows, counts = launched(workers, 200, wait_for=workers)
        assert counts[BEGUN] == workers
        assert rows[:, 0].tolist() == [int((taken_by == 1 + worker).sum()) for worker in range(workers)]
        assert rows[:, 0].sum() == 200


@pytest.mark.slow
def test_that_callers_share_the_threads_of_short_launches(four_threads):
    failures = []
    # Now and then a thread helps, and a task that came too late is never done.
    assert {int(launched(5, 3)[2][BEGUN]) for _ in range(1000)} <= {1, 2, 3, 4, 5}

    def call():
        try:
            for _ in range(100):
                taken_by, rows, _ = launched(4, 40)
                assert (taken_by >= 1).all()
                assert rows[:, 0].sum() == 40
        except AssertionError as failure:
            failures.append(failure)

    at_the_same_time(4, call)
    assert not failures


def test_that_a_caller_sleeps_until_the_others_are_done(four_threads, monkeypatch):
    call = threads.SharedCall(TAKE_BANDS, (0, 0, threads.TASK, *ONE_BAND), 2)
    call.launch(0, 0)
    task, queue = call.task, four_threads[0]
    # A task under way, as the caller finds it: it is done only when this test says so.
    task[threads.CALLER_LOCK] = threads._locked()
    queue[STATE] = (task.ctypes.data << threads.STAGE_BITS) + threads.BEGUN
    over = threading.Event()

    def wait():
        threads._WAIT(task.ctypes.data)
        over.set()

    caller = threading.Thread(target=wait)
    caller.start()
    awaited = (task.ctypes.data << threads.STAGE_BITS) + threads.AWAITED
    while queue[STATE] != awaited:
        time.sleep(0.001)
    assert not over.is_set()
    queue[STATE] = 0
    threads.ctypes.pythonapi.PyThread_release_lock(threads.ctypes.c_void_p(int(task[threads.CALLER_LOCK])))
    caller.join()
    assert over.is_set()


def test_that_the_thread_of_the_callers_own_core_is_left_asleep(four_threads, monkeypatch):
    four_threads[:, threads.CORE] = range(4)
    monkeypatch.setattr(threads, "_current_core", lambda: 2)
    assert launched(5, 1, 4)[2][BEGUN] == 4


ONE_BAND = (np.zeros(1, np.int64), np.zeros((2, 512), np.int64), np.zeros(24, np.int64), 1, 0, 1)


def test_that_a_launch_goes_on_alone_while_all_threads_work_for_another_or_none_can_start(
    four_threads, monkeypatch
):
    def launch_alone():
        taken_by, _, counts = launched(5, 20)
        assert (taken_by == 1).all()
        assert counts[BEGUN] == 1

    def refuse(thread):
        raise RuntimeError("can't start new thread")

    four_threads[:, STATE] = 1 << 40
    launch_alone()
    four_threads[:, STATE] = 0
    monkeypatch.undo()
    monkeypatch.setattr(threads, "work_queues", OncePerProcess(threads.work_queues._make))
    monkeypatch.setattr(threading.Thread, "start", refuse)
    launch_alone()


def test_that_a_lock_is_waited_for_through_interruptions():
    interruptions = iter([KeyboardInterrupt, KeyboardInterrupt])

    class Lock:
        def acquire(self):
            for kind in interruptions:
                raise kind

    fft.await_lock(Lock())
    assert next(interruptions, None) is None


@pytest.mark.slow
def test_that_threads_of_a_process_with_a_part_of_the_cores_time_are_held_to_no_core():
    program = """
import os, numpy, engine
from engine import process as cores
from engine.variants.cpu import streamed_bands
from engine.device import thread_pool as threads
os.sched_getaffinity = lambda process: range(8)
cores.time_quota = lambda: 3.0
picture = numpy.random.default_rng(1).integers(0, 99, (600, 500)).astype(numpy.float32)
values = engine.correlate(picture, [[1, 2, 3]] * 3, device="cpu", variant="cpu-parallel", border="wrap")
rolled = sum(numpy.roll(picture, (-i, -j), (0, 1)) * (j + 2) for i in (-1, 0, 1) for j in (-1, 0, 1))
assert numpy.array_equal(values, rolled)
print(threads.work_queues()[:, threads.CORE].tolist())
"""
    assert fresh_python("-c", program) == "[-1, -1]\n"


def test_that_small_work_stays_on_one_thread():
    least = process.LEAST_MULTIPLY_ADDS
    work = (0, least - 1, least, 2 * least, 3 * least, 10**12)
    assert [process.workers_for(multiply_adds, 16) for multiply_adds in work] == [1, 1, 2, 2, 3, 16]
    assert process.workers_for(least, 1) == 1


RANDOM = np.random.default_rng(4)
SIZES = (0, 1, 3, PIECE_BYTES - 1, PIECE_BYTES, PIECE_BYTES + 1, 2 * PIECE_BYTES, 7 * PIECE_BYTES + 5)
GUARD = 64


@pytest.fixture
def four_workers(monkeypatch):
    """Let copies have up to four threads, also where the machine has two cores."""
    monkeypatch.setattr(threads, "launch_cores", lambda: 4)


def copied(source, source_offset, target_offset):
    """Return the bytes of a copy, and those around it."""
    inside = np.zeros(source.size + source_offset, np.uint8)
    inside[source_offset:] = source
    memory = np.full(source.size + target_offset + 2 * GUARD, 7, np.uint8)
    first = GUARD + target_offset
    copy_bytes(inside.ctypes.data + source_offset, memory.ctypes.data + first, source.size)
    after = first + source.size
    return memory[first:after], np.concatenate([memory[:first], memory[after:]])


def test_that_every_byte_is_copied_and_no_other(four_workers):
    for size, offsets in itertools.product(SIZES, [(0, 0), (1, 0), (0, 3), (5, 7)]):
        source = RANDOM.integers(0, 256, size, np.uint8)
        values, around = copied(source, *offsets)
        assert np.array_equal(values, source), size
        assert (around == 7).all(), size


def test_that_threads_copy_at_the_same_time(four_workers):
    wrong = []

    def copy(number):
        size = (number % 4 + 1) * PIECE_BYTES + number
        source = np.random.default_rng(number).integers(0, 256, size, np.uint8)
        wrong.extend(number for _ in range(20) if not np.array_equal(copied(source, number, 0)[0], source))

    numbers = itertools.count()
    at_the_same_time(8, lambda: copy(next(numbers)))
    assert not wrong
