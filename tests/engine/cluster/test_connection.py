"""Connecting: who does not answer, who has other versions, and what is left behind."""

import os
import socket

import pytest

from engine import cluster
from engine.cluster import SchedulerAddress
from engine.errors import DeviceUnavailable, EngineError


@pytest.fixture
def soon(monkeypatch):
    """Let nobody have more than a second to answer."""
    monkeypatch.setattr(cluster, "CONNECT_S", 1)


def refused(text):
    with pytest.raises(DeviceUnavailable) as caught, cluster.connected(SchedulerAddress.parse(text)):
        pass
    return str(caught.value)


@pytest.mark.slow
def test_that_a_scheduler_that_is_not_there_is_refused_in_words(soon):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        assert "no scheduler of Dask answers" in refused(f"tcp://127.0.0.1:{taken.getsockname()[1]}")


@pytest.mark.slow
def test_that_a_server_of_another_kind_is_refused_in_words(soon):
    with socket.create_server(("127.0.0.1", 0)) as other:
        assert "no scheduler of Dask answers" in refused(f"tcp://127.0.0.1:{other.getsockname()[1]}")


@pytest.mark.slow
def test_that_a_scheduler_without_workers_is_refused_with_how_to_start_one(local_cluster):
    local_cluster.scale(0)
    local_cluster.sync(local_cluster._correct_state)
    assert "dask worker tcp://" in refused(local_cluster.scheduler_address)


def other(versions, part, name):
    """Return what is said of versions where one of a part is older."""
    found = versions[part] if part == "scheduler" else next(iter(versions[part].values()))
    found["packages"][name] = "0.0.1"
    return versions


@pytest.mark.slow
@pytest.mark.parametrize("part", ["scheduler", "workers"])
@pytest.mark.parametrize(("name", "words"), [("python", "Python 0.0"), ("dask", "dask 0.0.1")])
def test_that_a_part_with_another_version_is_refused_with_both_versions(
    client, monkeypatch, part, name, words
):
    versions = client.get_versions
    monkeypatch.setattr(client, "get_versions", lambda: other(versions(), part, name))
    with pytest.raises(DeviceUnavailable, match=rf"^The {part[:6]}.*it has {words}; this command has") as no:
        cluster._check(client, SchedulerAddress("tcp://h:1"))
    assert no.value.remedy


@pytest.mark.slow
@pytest.mark.parametrize(("said", "words"), [("0.0.1", "0.0.1"), (RuntimeError("no"), "not installed")])
def test_that_a_worker_with_another_haloscope_is_refused(client, monkeypatch, said, words):
    workers = client.scheduler_info()["workers"]
    monkeypatch.setattr(client, "run", lambda *given, **named: dict.fromkeys(workers, said))
    with pytest.raises(DeviceUnavailable, match=f"it has Haloscope {words}; this command has Haloscope"):
        cluster._check(client, SchedulerAddress("tcp://h:1"))


def test_that_a_missing_extra_is_named_with_how_to_install_it():
    with pytest.raises(EngineError, match="pip install"):
        cluster.loaded("no_such_package", "--scheduler")


@pytest.mark.slow
def test_that_started_workers_end_with_what_started_them():
    with cluster.connected(SchedulerAddress.parse("local:2")) as client:
        pids = list(client.run(os.getpid).values())
    assert len(pids) == 2
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
