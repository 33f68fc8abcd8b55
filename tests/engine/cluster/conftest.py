"""Clusters of worker processes on this machine, as tests meet them."""

import distributed
import pytest

from tests.engine.cluster.started import two_workers


@pytest.fixture
def local_cluster():
    """Return a cluster of two processes with one thread each, which a test may kill."""
    with two_workers() as cluster:
        yield cluster


@pytest.fixture
def client(local_cluster):
    """Return a client of it."""
    with distributed.Client(local_cluster, set_as_default=False) as client:
        yield client
