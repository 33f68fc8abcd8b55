"""The simulation of a cluster against what can be computed by hand."""

import pytest

from bench.scale.model import Cluster, Task, least_task_s, limit_of, simulated

FAST = Cluster(scheduler_s=0.0, storage_rate=float("inf"))
EXACT = 1e-9  # of what additions of so many float64 lose


def test_that_one_worker_takes_the_sum_of_its_tasks():
    for tasks in [1, 2, 7, 1000]:
        task, cluster = Task(1e6, 0.01, 5e5), Cluster(200e-6, storage_rate=1e8)
        # The scheduler gives the next task while the worker is busy.
        wanted = 200e-6 + tasks * (0.01 + 0.01 + 0.005)
        assert simulated(tasks, 1, task, cluster).elapsed_s == pytest.approx(wanted, rel=EXACT)


def test_that_without_anything_shared_the_time_is_divided():
    for workers in [1, 2, 10, 64]:
        found = simulated(20 * workers, workers, Task(0, 0.1, 0), FAST)
        assert found.elapsed_s == pytest.approx(20 * 0.1, rel=EXACT)
        assert limit_of(found) == "workers"


def test_that_tasks_that_do_not_divide_leave_workers_idle_at_the_end():
    assert simulated(11, 10, Task(0, 0.1, 0), FAST).elapsed_s == pytest.approx(0.2, rel=EXACT)


def test_that_the_scheduler_limits_short_tasks():
    found = simulated(5000, 100, Task(0, 0.001, 0), Cluster(200e-6, float("inf")))
    # The last task begins when the scheduler has given it.
    assert found.elapsed_s == pytest.approx(5000 * 200e-6 + 0.001, rel=EXACT)
    assert limit_of(found) == "scheduler"


def test_that_the_storage_limits_long_transfers():
    found = simulated(500, 50, Task(1e6, 0.0, 1e6), Cluster(0.0, storage_rate=1e8))
    # It is never idle, and all bytes go through it.
    assert found.elapsed_s == pytest.approx(500 * 2e6 / 1e8, rel=EXACT)
    assert limit_of(found) == "storage"


def test_that_transfers_share_the_storage_equally():
    # Two transfers of 1 MB at half of 1 MB/s each.
    assert simulated(2, 2, Task(1e6, 0.0, 0), Cluster(0.0, 1e6)).elapsed_s == pytest.approx(2.0, rel=EXACT)


@pytest.mark.parametrize("workers", [1, 10])
def test_that_a_workers_own_link_limits_it(workers):
    cluster = Cluster(0.0, storage_rate=1e9, link_rate=1e6)
    found = simulated(3 * workers, workers, Task(1e6, 0.5, 1e6), cluster)
    assert found.elapsed_s == pytest.approx(3 * 2.5, rel=EXACT)


@pytest.mark.parametrize("workers", [1, 3, 17])
def test_that_no_run_is_shorter_than_any_of_its_limits(workers):
    task, cluster, tasks = Task(2e6, 0.02, 1e6), Cluster(1e-3, 2e8, 1e8), 300
    found = simulated(tasks, workers, task, cluster)
    alone_s = 0.02 + 3e6 / 1e8
    assert found.elapsed_s >= max(tasks * 1e-3, tasks * 3e6 / 2e8, tasks * alone_s / workers) * (1 - EXACT)


def test_that_the_scheduler_is_hidden_by_tasks_that_are_long_enough():
    workers = 1000
    task_s = least_task_s(workers, 200e-6)
    assert task_s == pytest.approx(2.0)
    found = simulated(20 * workers, workers, Task(0, task_s, 0), Cluster(200e-6, float("inf")))
    assert found.scheduler_s / found.elapsed_s <= 0.1
    # Its time is that of the workers, and the first and the last task.
    assert found.elapsed_s <= 20 * task_s + 2 * workers * 200e-6
