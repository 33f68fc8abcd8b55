"""Connecting: who does not answer, who has other versions, and what is left behind."""

import socket
import sys

import pytest

from engine.cluster import connection, extra, machine_facts
from engine.cluster.address import SchedulerAddress
from engine.errors import DeviceUnavailable, EngineError


@pytest.fixture
def soon(monkeypatch):
    """Let nobody have more than a second to answer."""
    monkeypatch.setattr(connection, "CONNECT_S", 1)


def refused(text):
    with pytest.raises(DeviceUnavailable) as caught, connection.connected(SchedulerAddress.parse(text)):
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


@pytest.mark.slow
@pytest.mark.parametrize("name", ["Haloscope", "Python", "dask"])
def test_that_a_worker_with_another_version_is_refused_with_both_versions(cluster, monkeypatch, name):
    facts = machine_facts.facts_of_worker
    monkeypatch.setattr(
        connection.machine_facts, "facts_of_worker", lambda package: facts(package) | {name: "0.0.1"}
    )
    client = cluster.client
    monkeypatch.setattr(client, "run", lambda function, *given, **named: {"tcp://w:1": facts(*given)})
    with pytest.raises(DeviceUnavailable) as caught:
        cluster.check()
    assert f"this command has {name} 0.0.1" in str(caught.value)
    assert f"it has {name} {facts('engine')[name]}" in str(caught.value)


@pytest.mark.slow
def test_that_a_scheduler_with_another_version_is_refused_with_both_versions(cluster, monkeypatch):
    ours = machine_facts.facts_of_worker("engine")
    monkeypatch.setattr(connection.machine_facts, "facts_of_worker", lambda package: ours | {"Python": "3.0"})
    with pytest.raises(DeviceUnavailable) as caught:
        cluster.check()
    assert caught.value.what.startswith("The scheduler")
    assert f"it has Python {ours['Python']}; this command has Python 3.0" in str(caught.value)


def test_that_a_worker_without_haloscope_says_so():
    assert machine_facts.facts_of_worker("no_such_package")["Haloscope"] == ""


def test_that_what_a_worker_says_of_itself_is_sent_by_value(monkeypatch):
    cloudpickle = pytest.importorskip("cloudpickle")
    monkeypatch.setitem(sys.modules, "cloudpickle", cloudpickle)
    cloudpickle.register_pickle_by_value(machine_facts)
    assert (
        b"engine.cluster"
        not in cloudpickle.dumps(machine_facts.facts_of_worker).split(b"import_module")[0][:80]
    )


def test_that_a_missing_extra_is_named_with_how_to_install_it():
    with pytest.raises(EngineError, match="pip install"):
        extra.loaded("no_such_package", "--scheduler")


@pytest.mark.slow
def test_that_the_workers_are_known_whatever_the_client_looks_at_meanwhile(cluster, monkeypatch):
    client = cluster.client
    look = client._update_scheduler_info

    async def looked_twice(n_workers=0):
        await look(n_workers)
        # As the client does by itself each 2 s.
        await look()

    monkeypatch.setattr(client, "_update_scheduler_info", looked_twice)
    assert len(cluster.workers()) == 2


@pytest.mark.slow
def test_that_started_workers_end_with_what_started_them():
    with connection.connected(SchedulerAddress.parse("local:2")) as cluster:
        assert len(cluster.workers()) == cluster.threads == 2
        pids = list(cluster.client.run(__import__("os").getpid).values())
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            __import__("os").kill(pid, 0)
