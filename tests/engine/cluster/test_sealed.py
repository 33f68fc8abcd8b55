"""Tasks that a scheduler without Haloscope passes on, and that a worker in a clone's folder opens."""

import os
import subprocess
import sys

import numpy as np
import pytest

import engine
from tests.fresh_python import ROOT

pytest.importorskip("cloudpickle")

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
    import cloudpickle

    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        [sys.executable, "-P", "-c", PROGRAM, str(ROOT)],
        input=cloudpickle.dumps(task),
        capture_output=True,
        cwd=tmp_path,
        env=environment,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr.decode()
    return cloudpickle.loads(done.stdout)


@pytest.mark.slow
def test_that_only_a_worker_opens_a_task(tmp_path):
    from engine.cluster import sealed

    picture = np.random.default_rng(3).integers(0, 256, (20, 30), np.uint8)
    values = as_on_a_cluster(sealed(engine.correlate, picture, "box-3"), tmp_path)
    assert np.array_equal(values, engine.correlate(picture, "box-3"))


@pytest.mark.slow
def test_that_only_a_worker_opens_the_chunks_of_an_array(tmp_path):
    import dask.array as arrays

    picture = np.random.default_rng(4).integers(0, 256, (20, 30), np.uint8)
    lazy = engine.filter_dask(arrays.from_array(picture, chunks=10), "box-3", device="cpu")
    values = as_on_a_cluster(lambda: lazy.compute(scheduler="sync"), tmp_path)
    assert np.array_equal(values, engine.correlate(picture, "box-3", device="cpu"))


def test_that_a_worker_without_haloscope_says_so(tmp_path, monkeypatch):
    from engine import cluster

    monkeypatch.setattr(cluster, "_PACKAGE", "no_such_package")
    with pytest.raises(RuntimeError, match="A worker of the cluster has no Haloscope"):
        cluster.sealed(abs)(-1)
