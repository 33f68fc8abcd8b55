"""Clusters of worker processes on this machine, as tests meet them."""

import distributed
import pytest

from engine.cluster.address import SchedulerAddress
from engine.cluster.connection import Cluster
from tests.engine.cluster.started import two_workers


@pytest.fixture
def local_cluster():
    """Return a cluster of two processes with one thread each, which a test may kill."""
    with two_workers() as cluster:
        yield cluster


@pytest.fixture
def cluster(local_cluster):
    """Return it as the program sees it."""
    address = SchedulerAddress(local_cluster.scheduler_address)
    with distributed.Client(local_cluster, set_as_default=False) as client:
        cluster = Cluster(client, address)
        cluster.check()
        yield cluster
