"""Clusters of worker processes on this machine, as tests meet them."""

import logging

import distributed
import pytest

from engine.cluster.address import SchedulerAddress
from engine.cluster.connection import Cluster


@pytest.fixture
def local_cluster():
    """Return a cluster of two processes with one thread each, which a test may kill."""
    with distributed.LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        dashboard_address=None,
        scheduler_kwargs={"dashboard_address": "127.0.0.1:0"},
        silence_logs=logging.CRITICAL,
    ) as cluster:
        yield cluster


@pytest.fixture
def cluster(local_cluster):
    """Return it as the program sees it."""
    address = SchedulerAddress(local_cluster.scheduler_address)
    with distributed.Client(local_cluster, set_as_default=False) as client:
        cluster = Cluster(client, address)
        cluster.check()
        yield cluster
