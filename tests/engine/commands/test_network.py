"""The command `network`: stages verified and timed, layers, accuracy, files, and what it refuses."""

import json
import os
import zipfile

import numpy as np
import pytest

import engine
from engine.commands.network import timeline_text
from engine.errors import BadValue, DeviceUnavailable, UnknownName
from engine.files import reading
from engine.tasks.network.operands import WEIGHTS_FILE, held_out
from engine.tasks.network.problem import ChunkSpan, NetworkRun
from engine.tasks.read_results import results_from_document

QUICK = "network --stage network-serial,network-cpu --batch 1,3 --budget 0"


@pytest.mark.slow
def test_that_every_stage_is_told_by_layer_for_each_batch_and_read_back(command, tmp_path):
    path = tmp_path / "r.json"
    answer = command(f"{QUICK} --out {path} --csv {tmp_path / 'r.csv'}")
    assert answer.status == 0
    assert answer.out.count("verified") == 4
    assert "convolution-2 + pool-2" in answer.out
    assert "Held-out digits classified correctly: 355 of 360 (98.6%), by network-cpu on the CPU" in answer.out
    assert "[4/4] 3 drawings, network-cpu: " in answer.err
    document = json.loads(path.read_text(encoding="utf-8"))
    results = results_from_document(document)
    ran = [(one.variant, one.problem.batch) for one in results]
    assert ran == [(stage, batch) for batch in (1, 3) for stage in ("network-serial", "network-cpu")]
    assert all(one.is_proven for one in results)
    assert results[0].weights_digest
    assert document["held_out"]["accuracy"] == 355 / 360
    assert sum(map(sum, document["held_out"]["confusion"])) == 360
    assert [stage["stage"] for stage in document["stages"]] == [one.variant for one in results]
    assert len(document["stages"][0]["layers_ms"]) == 6
    assert document["results"][0]["drawings_per_s"] > 0
    assert "drawings_per_s" in (tmp_path / "r.csv").read_text(encoding="utf-8").splitlines()[0]


def test_that_bad_use_is_one_line_that_says_what_to_do(refused, monkeypatch, tmp_path):
    # None of these is waited for, or called damaged.
    os.mkfifo(tmp_path / "pipe.npz")
    for arguments, line in [
        ("--batch 0", "--batch 0: it is not a whole number from 1 to 1,048,576."),
        ("--batch 100000", "The largest batch is 36,"),
        ("--stage network-cpuu", "Did you mean network-cpu?"),
        ("--weights /no/such.npz", "The weights 'such.npz' cannot be used: there is no such file."),
        (f"--batch 1 --weights {tmp_path / 'pipe.npz'}", "it is a device or a pipe"),
        (f"--batch 1 --weights {tmp_path}", "it is a folder"),
    ]:
        refused("network", arguments, says=line)

    def refuse(path):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(reading, "open_file", refuse)
    refused("network --batch 1 --weights", WEIGHTS_FILE, says="you may not read it")


@pytest.mark.slow
def test_that_a_stage_without_a_device_is_a_result_with_its_reason(command, no_gpu):
    answer = command("network --stage network-cpu,network-fast --batch 1 --budget 0")
    assert answer.status == 0
    assert "There is no driver" in answer.out
    alone = command("network --stage network-fast --batch 1 --budget 0")
    assert alone.status == 3


def npy(header, numbers=b""):
    """Return a member of an archive with this header."""
    text = header.encode()
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + numbers


FLOATS = "{'descr': '<f4', 'fortran_order': False, 'shape': %s}\n"


def test_that_a_damaged_array_of_weights_is_status_2_in_words(refused, tmp_path):
    for member, says in [
        (b"no array", "its 'hidden' is not an array"),
        (b"", "its 'hidden' is not an array"),
        (npy("{'descr': '<f4', 'shape': (1024, "), "its array 'hidden' cannot be read"),
        (npy(FLOATS % "(('"), "its array 'hidden' cannot be read"),
        (npy(FLOATS % f"({10**22}, 2)"), "its array 'hidden' cannot be read"),
        (npy(FLOATS % "(4611686018427387904, 4)"), "its array 'hidden' cannot be read"),
        (npy(FLOATS % "(-1, 128)"), "its array 'hidden' cannot be read"),
        (npy(FLOATS % "(2, 2)", b"1234"), "its array 'hidden' cannot be read"),
        (npy((FLOATS % "(2, 2)").replace("<f4", "|O"), b"1234"), "its array 'hidden' cannot be read"),
        (npy((FLOATS % "(1L, 2)"), b"12345678"), "hidden has the shape 1 × 2"),
        (npy("(" * 9000), "its array 'hidden' cannot be read"),
    ]:
        path = tmp_path / "bad.npz"
        with zipfile.ZipFile(WEIGHTS_FILE) as whole, zipfile.ZipFile(path, "w") as spoilt:
            for name in whole.namelist():
                spoilt.writestr(name, member if name == "hidden.npy" else whole.read(name))
        refused(
            "network --stage network-cpu --batch 1 --weights",
            path,
            says=f"'bad.npz' cannot be used ... {says}",
        )


@pytest.mark.slow
def test_that_other_weights_are_used_where_they_fit(command, tmp_path):
    with np.load(WEIGHTS_FILE) as stored:
        arrays = dict(stored)
    path = tmp_path / "zero.npz"
    np.savez(path, **(arrays | {"output": np.zeros((128, 10), np.float32)}))
    answer = command(f"network --stage network-cpu --batch 1 --budget 0 --weights {path} --json")
    # All scores are equal, so the first digit is the prediction.
    assert answer.document["held_out"]["accuracy"] == float((held_out().labels == 0).mean())
    np.savez(path, **(arrays | {"output": np.zeros((128, 9), np.float32)}))
    refused = command(f"network --stage network-cpu --weights {path}")
    assert refused.status == 2
    assert "output has the shape 128 × 9, and this network needs 128 × 10" in refused.err


def test_that_layers_that_could_not_be_timed_are_told(command, monkeypatch):
    from engine.errors import OutOfDeviceMemory
    from engine.tasks.network import stages as network

    def fail(job, machine):
        raise OutOfDeviceMemory("Not enough device memory", "it is full", "Use a smaller batch.")

    monkeypatch.setattr(network, "layer_times", fail)
    answer = command("network --stage network-cpu --batch 1 --budget 0")
    assert answer.status == 0
    assert "The layers of network-cpu were not timed: Not enough device memory: it is full" in answer.err


def test_that_the_timeline_is_drawn_a_line_a_chunk():
    spans = (
        ChunkSpan(0, 0, "copy in", 0.0, 1.0), ChunkSpan(0, 0, "kernels", 1.0, 5.0),
        ChunkSpan(1, 1, "copy in", 1.0, 2.0), ChunkSpan(1, 1, "kernels", 5.0, 10.0),
    )  # fmt: skip
    lines = timeline_text(NetworkRun(None, timeline=spans), width=20).splitlines()
    assert lines[1:] == ["    0       0  cc########", "    1       1    cc      ##########"]


def test_that_the_python_call_gives_every_layer():
    digits = held_out()
    found = engine.network(digits.pixels[:10], device="cpu", layers=True)
    assert (found.stage, found.device) == ("network-cpu", "cpu")
    assert np.array_equal(found.digits, found.probabilities.argmax(axis=1))
    assert np.allclose(found.probabilities.sum(axis=1), 1.0)
    assert found.layers["convolution-1"].shape == (32, 24, 24)
    assert np.allclose(found.layers["output"], found.scores[0], atol=1e-4)
    one = engine.network(digits.pixels[0], stage="network-serial", device="cpu")
    assert one.layers == {}
    assert one.scores.shape == (1, 10)
    with pytest.raises(UnknownName, match="no stage of the network"):
        engine.network(digits.pixels[0], stage="nothing")
    with pytest.raises(BadValue, match="is empty"):
        engine.network(np.zeros((28, 28)))
    with pytest.raises(DeviceUnavailable, match="'nonsense': there is no such device"):
        engine.network(digits.pixels[0], stage="network-cpu", device="nonsense")
