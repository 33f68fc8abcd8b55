"""Clusters: how their addresses are written, who is refused, what is left behind, what a worker opens."""

import os
import socket
import subprocess
import sys
import threading
from functools import partial

import cloudpickle
import dask.array as arrays
import distributed
import numpy as np
import pytest

import engine
from engine import cluster, dask_task
from engine.cluster import SchedulerAddress
from engine.errors import BadValue, DeviceUnavailable, EngineError
from tests.engine.cluster.started import two_workers
from tests.fresh_python import ROOT


def test_that_an_address_of_a_scheduler_is_taken_as_it_is_and_local_names_processes():
    for text in ["tcp://host:8786", "tls://10.0.0.1:1", "tcp://[::1]:8786", "tcp://a-b.example.org:65535"]:
        assert SchedulerAddress.parse(text) == SchedulerAddress(text, 0)
    assert SchedulerAddress.parse("local:3").processes == 3


def test_that_another_text_is_refused_with_what_to_write():
    wrong = ["", "http://h:1", "tcp://h", "tcp://:1", "tcp://h:1/x", "tcp://h:x", "h:8786", "TCP://"]
    wrong += [f"local{end}" for end in ("", ":", ":0", ":-1", ":99999", ":1.5", ":2 ")]
    for text in wrong:
        with pytest.raises(BadValue, match="local:2"):
            SchedulerAddress.parse(text)


def refused(text):
    with pytest.raises(DeviceUnavailable) as caught, cluster.connected(SchedulerAddress.parse(text)):
        pass
    return str(caught.value)


@pytest.mark.slow
def test_that_a_scheduler_that_is_not_there_or_of_another_kind_is_refused_in_words(monkeypatch):
    monkeypatch.setattr(cluster, "CONNECT_S", 1)
    here = ("127.0.0.1", 0)
    with socket.socket() as taken, socket.create_server(here) as silent, socket.create_server(here) as ssh:
        taken.bind(here)
        greeting = threading.Thread(target=lambda: ssh.accept()[0].sendall(b"SSH-2.0-OpenSSH_9.6\r\n"))
        greeting.start()
        for one in (taken, silent, ssh):
            assert "no scheduler of Dask answers" in refused(f"tcp://127.0.0.1:{one.getsockname()[1]}")


@pytest.mark.slow
def test_that_a_scheduler_without_workers_is_refused_with_how_to_start_one():
    with two_workers() as made:
        made.scale(0)
        made.sync(made._correct_state)
        assert "dask worker tcp://" in refused(made.scheduler_address)


def other(versions, part, name):
    """Return the words on versions where one of a part is older."""
    found = versions[part] if part == "scheduler" else next(iter(versions[part].values()))
    found["packages"][name] = "0.0.1"
    return versions


@pytest.fixture
def client():
    """Return a client of a cluster of two processes."""
    with two_workers() as made, distributed.Client(made, set_as_default=False) as client:
        yield client


@pytest.mark.slow
def test_that_a_part_with_another_version_is_refused_with_both_versions(client, monkeypatch):
    versions, workers = client.get_versions, client.scheduler_info()["workers"]
    for part, name, words in [
        ("scheduler", "python", "Python 0.0"),
        ("workers", "python", "Python 0.0"),
        ("scheduler", "dask", "dask 0.0.1"),
        ("workers", "dask", "dask 0.0.1"),
        ("workers", "0.0.1", "Haloscope 0.0.1"),
        ("workers", RuntimeError("no"), "Haloscope not installed"),
    ]:
        with monkeypatch.context() as patched:
            if "Haloscope" in words:
                patched.setattr(client, "run", lambda *_, said=name, **__: dict.fromkeys(workers, said))
            else:
                found = partial(other, versions(), part, name)
                patched.setattr(client, "get_versions", found)
            said = rf"^The {part[:6]}.*has {words}; this command has"
            with pytest.raises(DeviceUnavailable, match=said) as no:
                cluster._check(client, SchedulerAddress("tcp://h:1"))
        assert no.value.remedy


def test_that_a_missing_extra_is_named_with_how_to_install_it():
    with pytest.raises(EngineError, match="pip install"):
        dask_task.loaded("no_such_package", "--scheduler")


@pytest.mark.slow
def test_that_started_workers_end_with_what_started_them():
    with cluster.connected(SchedulerAddress.parse("local:2")) as client:
        pids = list(client.run(os.getpid).values())
    assert len(pids) == 2
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


# What a scheduler does with a task, and then a worker: neither finds the engine where it was started from.
PROGRAM = """
import os, pickle, sys
import cloudpickle
assert not any(os.path.isdir(os.path.join(place or ".", "engine")) for place in sys.path)
task = pickle.load(sys.stdin.buffer)
sent = cloudpickle.dumps(task)
assert not any(name.split(".")[0] == "engine" for name in sys.modules)
os.chdir(sys.argv[1])
sys.stdout.buffer.write(pickle.dumps(pickle.loads(sent)()))
"""


def as_on_a_cluster(task, tmp_path):
    """Return what a task returns that goes through processes that know nothing of the engine."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    command, how = [sys.executable, "-P", "-c", PROGRAM, str(ROOT)], {"cwd": tmp_path, "env": environment}
    done = subprocess.run(command, **how, input=cloudpickle.dumps(task), capture_output=True, timeout=300)
    assert done.returncode == 0, done.stderr.decode()
    return cloudpickle.loads(done.stdout)


@pytest.mark.slow
def test_that_only_a_worker_opens_a_task_and_the_chunks_of_an_array(tmp_path):
    picture = np.random.default_rng(3).integers(0, 256, (20, 30), np.uint8)
    task = dask_task.sealed(engine.correlate, picture, "box-3")
    lazy = engine.filter_dask(arrays.from_array(picture, chunks=10), "box-3", device="cpu")
    for values in as_on_a_cluster(lambda: (task(), lazy.compute(scheduler="sync")), tmp_path):
        assert np.array_equal(values, engine.correlate(picture, "box-3", device="cpu"))


def test_that_a_worker_without_haloscope_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr(dask_task, "PACKAGE", "no_such_package")
    with pytest.raises(RuntimeError, match="A worker of the cluster has no Haloscope"):
        dask_task.sealed(abs)(-1)
