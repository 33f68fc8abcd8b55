"""Calls on workers that die, or whose disks do."""

import pytest

from engine.cluster.connection import SchedulerLost
from engine.cluster.executor import MOST_FAULTS, ClusterExecutor
from engine.errors import EngineError, FileWriteError
from tests.engine.cluster import faulty_calls

pytestmark = pytest.mark.slow

PATIENCE_S = 90.0


@pytest.fixture
def notes():
    """Return the notes of the executor."""
    return []


@pytest.fixture
def executor(cluster, notes):
    with ClusterExecutor(cluster, notes.append) as made:
        yield made


def test_that_each_item_of_a_task_has_its_own_result(executor):
    futures = executor.submit_each(faulty_calls.double, [1, 2, 3])
    assert [future.result(PATIENCE_S) for future in futures] == [2, 4, 6]


def test_that_a_call_of_several_arguments_is_one_on_a_worker(executor):
    assert executor.submit(pow, 2, 5).result(PATIENCE_S) == 32


def test_that_an_item_that_fails_does_not_fail_its_task(executor):
    bad, good = executor.submit_each(faulty_calls.full_on, [None, "nobody"])
    assert good.result(PATIENCE_S) == bad.result(PATIENCE_S)
    (refused,) = executor.submit_each(faulty_calls.refuse, [0])
    with pytest.raises(FileWriteError, match="it is a folder"):
        refused.result(PATIENCE_S)


class Closed:
    """What nobody unpacks, as what another version of Python has sent."""

    def __reduce__(self):
        return len, (7,)


def test_that_tasks_that_cannot_be_unpacked_are_a_fault_in_words(executor):
    with pytest.raises(SchedulerLost, match="the same Python"):
        executor.submit(pow, Closed(), 1).result(PATIENCE_S)


def test_that_what_a_killed_worker_had_is_done_by_another(executor, tmp_path):
    flag = tmp_path / "flag"
    flag.touch()
    assert (
        executor.submit(faulty_calls.kill_once, str(flag)).result(PATIENCE_S) in executor._cluster.workers()
    )
    assert not flag.exists()


def test_that_an_item_that_kills_each_worker_is_reported_and_the_others_are_done(executor):
    futures = executor.submit_each(faulty_calls.kill_if_odd, [2, 3])
    assert futures[0].result(PATIENCE_S) == 2
    with pytest.raises(EngineError, match="memory"):
        futures[1].result(PATIENCE_S)
    # Dask fails where a cluster is closed while a worker starts again.
    executor._cluster.client.wait_for_workers(2, timeout=PATIENCE_S)


def test_that_what_a_full_disk_refuses_is_done_by_another_worker(executor):
    full, other = executor._cluster.workers()
    futures = [executor.submit(faulty_calls.full_on, full) for _ in range(6)]
    assert {future.result(PATIENCE_S) for future in futures} == {other}


def test_that_a_worker_whose_disk_fails_again_and_again_gets_nothing_more(executor, notes):
    full, _ = executor._cluster.workers()
    while not notes:
        futures = [executor.submit(faulty_calls.full_on, full) for _ in range(4)]
        assert all(future.result(PATIENCE_S) for future in futures)
    assert executor._failures[full] >= MOST_FAULTS
    assert full in notes[0]
    futures = [executor.submit(faulty_calls.worker_of, number) for number in range(8)]
    assert full not in {future.result(PATIENCE_S) for future in futures}


def test_that_a_failure_on_every_disk_is_reported_and_no_worker_is_given_up(executor, notes):
    futures = [executor.submit(faulty_calls.full_everywhere, number) for number in range(8)]
    for future in futures:
        with pytest.raises(FileWriteError, match="the disk is full"):
            future.result(PATIENCE_S)
    assert not notes
    assert executor.submit(faulty_calls.double, 4).result(PATIENCE_S) == 8


def test_that_a_task_is_taken_back_from_workers_that_are_gone(executor, local_cluster, tmp_path):
    full = executor._cluster.workers()[0]
    # What failed on one may run on the other alone, which is killed.
    flag = tmp_path / "flag"
    flag.touch()
    future = executor.submit(faulty_calls.kill_once_unless_full, full, str(flag))
    assert future.result(PATIENCE_S) in executor._cluster.workers()
    assert not flag.exists()
