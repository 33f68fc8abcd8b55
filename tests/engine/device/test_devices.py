"""Devices in words, cores, commits, rules of results, where results begin in memory, unused buffers."""

import math
import os
import shutil
import subprocess
import threading
from unittest.mock import Mock

import numpy as np
import pytest
from numba import njit

import engine
from engine.compiled.late_names import with_names
from engine.device import cuda as cuda_module
from engine.device import device_list
from engine.device import devices as device_module
from engine.device.device_list import commit_of
from engine.device.devices import all_gpus, backend, device_named, devices
from engine.device.host_memory import ALIGNMENT_BYTES, ANTI_ALIAS_BYTES, PAGE_BYTES, UnusedBuffers
from engine.device.result_rules import cpu_result, largest_of
from engine.device_info import DeviceInfo
from engine.errors import DeviceUnavailable
from engine.mask.mask import Mask
from engine.process import cores, launch_cores, launches_on, time_quota

GPU = DeviceInfo("cuda:0", "cuda", "A GPU")


def broken(gpu):
    raise OSError("odd:\n error")


@pytest.mark.parametrize(
    ("found", "reason"),
    [
        ({"has_driver": lambda: False}, "No NVIDIA driver."),
        ({"gpu_count": lambda: 0}, "The NVIDIA driver is installed, but it finds no GPU."),
        ({"start_gpu": broken}, "The NVIDIA driver cannot be used: odd: error."),
        ({"start_gpu": lambda gpu: None}, ""),
        ({"missing": "numba-cuda is not installed"}, "numba-cuda is not installed. Install it"),
    ],
    ids=["no driver", "no GPU", "no context", "a GPU", "no package"],
)
def test_that_cuda_is_listed_with_the_reason_between_the_cpu_and_the_simulator(monkeypatch, found, reason):
    homes = {"start_gpu": cuda_module}
    usual = {"missing": "", "has_driver": lambda: True}
    for name, value in (usual | {"gpu_count": lambda: 1, "gpu_info": lambda number: GPU} | found).items():
        monkeypatch.setattr(homes.get(name, device_list), name, value)
    cpu, *cuda, simulator = device_module.devices.__wrapped__()
    assert (cpu.key, cpu.available, cpu.facts["cores"]) == ("cpu", True, str(cores()))
    # It needs the compiler that the package brings.
    is_there = "missing" not in found
    assert (simulator.key, simulator.available, simulator.times_mean_speed) == ("simulator", is_there, False)
    assert "mean nothing" in simulator.facts["times"]
    assert [(device.key, device.available) for device in cuda] == [("cuda:0", reason == "")]
    assert all(str(device.reason or "").startswith(str(reason)) for device in cuda)


def test_that_devices_are_found_by_key_or_refused_in_words():
    assert device_named("cpu").key == "cpu"
    assert device_named("simulator").key == "simulator"
    assert device_named("auto").available
    with pytest.raises(DeviceUnavailable, match=r"device 'tpu'.*there is no such device here.*auto, cpu"):
        device_named("tpu")
    unavailable = next((device for device in devices() if not device.available), None)
    if unavailable is None:
        assert device_named("cuda").key == "cuda:0"
        return
    with pytest.raises(DeviceUnavailable) as caught:
        device_named("cuda")
    assert caught.value.why == str(unavailable.reason)


def test_that_one_computation_on_all_gpus_is_refused_in_words(monkeypatch):
    broken_gpu = device_list.unusable_gpu(device_list.NO_GPU, "cuda:1")
    listed = (device_list.cpu_info(), GPU, broken_gpu, device_list.simulator_info())
    monkeypatch.setattr(device_module, "devices", lambda: listed)
    with pytest.raises(DeviceUnavailable, match=r"'cuda:all': only .*Choose one of cpu, cuda:0, sim"):
        device_named("cuda:all")
    assert all_gpus() == (GPU,)


def v1(quota):
    return {"cpu/cpu.cfs_quota_us": quota, "cpu/cpu.cfs_period_us": "100000\n"}


@pytest.mark.parametrize(
    ("lines", "files", "quota"),
    [
        ("0::/\n", {"cpu.max": "200000 100000\n"}, 2.0),
        ("0::/\n", {"cpu.max": "max 100000\n"}, None),
        ("0::/\n", {}, None),
        # A service within a slice: the smaller one counts, whichever it is.
        ("0::/a/b\n", {"a/b/cpu.max": "max 100000", "a/cpu.max": "150000 100000"}, 1.5),
        ("0::/a/b\n", {"a/b/cpu.max": "50000 100000", "a/cpu.max": "150000 100000"}, 0.5),
        # The host's path, which does not exist within a container.
        ("0::/docker/1234\n", {"cpu.max": "400000 100000"}, 4.0),
        # Version 1.
        ("5:memory:/\n4:cpu,cpuacct:/docker/1234\n", v1("250000\n"), 2.5),
        ("4:cpu,cpuacct:/\n", v1("-1\n"), None),
        # Another controller, and texts that are no such file.
        ("5:memory:/\n", {"cpu.max": "200000 100000"}, None),
        ("0::/\n", {"cpu.max": "nonsense"}, None),
        ("0::/\n", {"cpu.max": "100000 0"}, None),
        ("", {"cpu.max": "200000 100000"}, None),
        ("?\n::\n", {}, None),
        (None, {}, None),
    ],
)
def test_that_the_smallest_quota_of_a_group_and_those_around_it_counts(tmp_path, lines, files, quota):
    process, groups = tmp_path / "process", tmp_path / "groups"
    if lines is not None:
        process.write_text(lines)
    for name, text in files.items():
        (groups / name).parent.mkdir(parents=True, exist_ok=True)
        (groups / name).write_text(text)
    assert time_quota(process, groups) == quota


def test_that_no_more_cores_are_counted_than_a_quota_is_worth(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: range(8), raising=False)
    for quota, count in ((None, 8), (0.2, 1), (2.0, 2), (2.5, 3), (64.0, 8)):
        monkeypatch.setattr("engine.process.time_quota", lambda quota=quota: quota)
        assert cores() == count


def test_that_a_launch_uses_no_more_cores_than_its_own_thread_was_given(monkeypatch):
    monkeypatch.setattr("engine.process.cores", lambda: 8)
    elsewhere = []
    with launches_on(3):
        assert launch_cores() == 3
        with launches_on(1):
            assert launch_cores() == 1
        assert launch_cores() == 3
        thread = threading.Thread(target=lambda: elsewhere.append(launch_cores()))
        thread.start()
        thread.join()
    assert elsewhere == [8]
    assert launch_cores() == 8
    with launches_on(100):
        assert launch_cores() == 8


def git(root, *words):
    person = "user.name=Somebody", "user.email=somebody@example.org", "commit.gpgsign=false"
    command = ["git", "-C", str(root), *(word for setting in person for word in ("-c", setting)), *words]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_that_a_checkout_has_its_commit(tmp_path):
    git(tmp_path, "init", "--quiet")
    (tmp_path / "tracked.txt").write_text("before", encoding="utf-8")
    git(tmp_path, "add", "tracked.txt")
    git(tmp_path, "commit", "--quiet", "--message", "First")
    (tmp_path / "untracked.txt").write_text("", encoding="utf-8")
    commit = git(tmp_path, "rev-parse", "--short=12", "HEAD")
    assert commit_of(tmp_path) == commit
    (tmp_path / "tracked.txt").write_text("after it", encoding="utf-8")
    assert commit_of(tmp_path) == f"{commit} + changes"


def test_that_there_is_no_commit_outside_a_checkout_or_where_git_knows_none_is_missing_or_slow(
    tmp_path, monkeypatch
):
    assert commit_of(tmp_path) == ""
    (tmp_path / ".git").mkdir()
    assert commit_of(tmp_path) == ""
    for fault in (FileNotFoundError("git"), subprocess.TimeoutExpired("git", 5)):
        monkeypatch.setattr(subprocess, "run", Mock(side_effect=fault))
        assert commit_of(tmp_path) == ""


@pytest.mark.parametrize("dtype", ["uint8", "uint16"])
def test_that_every_half_and_its_neighbours_are_rounded_as_numpy_rounds(dtype):
    largest = largest_of(dtype)
    halves = np.arange(-3, 2 * int(largest) + 7, dtype=np.float32) / 2
    values = np.concatenate([halves, *(np.nextafter(halves, np.float32(end)) for end in (-9e9, 9e9))])
    wanted = np.rint(np.clip(values.astype(np.float64), 0, float(largest)))
    stored = njit(with_names(cpu_result.py_func))
    assert np.array_equal([stored(value, largest) for value in values], wanted)


def is_apart(image, result):
    """Return whether the result begins at the right distance from the picture in its page, to a few bytes."""
    apart = (result.ctypes.data - image.ctypes.data) % PAGE_BYTES
    return ANTI_ALIAS_BYTES - ALIGNMENT_BYTES < apart <= ANTI_ALIAS_BYTES


def test_that_a_callers_result_stays_where_it_is():
    image, mask = np.zeros((256, 1024), np.float32), Mask(np.ones((3, 3)))
    for result in (
        engine.correlate(image, mask, device="cpu"),
        engine.apply(image, mask, device="cpu", budget_s=0.0).values,
        engine.filter_stream(image, mask, device="cpu").values,
        backend("cpu").allocate(image).out,
    ):
        assert is_apart(image, result)
    out = np.empty((256, 1024, 1), np.float32)
    assert backend("cpu").allocate(image[..., np.newaxis], out).out is out
    # Rows of a quarter of a page are apart from the picture's too.
    for row_bytes in (PAGE_BYTES, PAGE_BYTES // 2, PAGE_BYTES // 4):
        assert 256 <= ANTI_ALIAS_BYTES % row_bytes <= row_bytes - 256


class Buffer:
    """A buffer of so many bytes."""

    def __init__(self, size):
        self.size = size


@pytest.fixture
def unused():
    """Return unused buffers of which three are kept, and which note in `dropped` what they drop."""
    found = UnusedBuffers(lambda buffer: buffer.size, 3, lambda buffer: found.dropped.append(buffer.size))
    found.dropped = []
    return found


def test_that_the_smallest_unused_one_that_is_large_enough_serves_one_at_a_time_and_no_small_need(unused):
    unused.keep([Buffer(300), Buffer(100), Buffer(200)], math.inf)
    assert unused.take(150).size == 200
    assert unused.take(301) is None
    assert [unused.take(100).size, unused.take(100).size, unused.take(100)] == [100, 300, None]
    unused.keep([Buffer(1 << 20)], math.inf)
    assert unused.take(1 << 18) is None
    assert unused.take(1 << 19).size == 1 << 20
    of_one_size = UnusedBuffers(lambda buffer: buffer.size, most_times=1.25)
    of_one_size.keep([Buffer(500_000)], math.inf)
    assert of_one_size.take(390_000) is None
    assert of_one_size.take(400_000).size == 500_000


def test_that_the_oldest_go_beyond_a_number_and_beyond_their_bytes(unused):
    unused.keep([Buffer(size) for size in (1, 2, 3, 4)], math.inf)
    assert unused.dropped == [1]
    unused.keep([Buffer(5)], 9)
    assert unused.dropped == [1, 2, 3]
    unused.trim(0)
    assert unused.dropped == [1, 2, 3, 4, 5]
    assert unused.take(1) is None


def test_that_a_buffer_may_come_back_while_others_are_looked_through():
    """A finalizer runs at any line: what it brings must not disturb the one who takes."""
    late = [Buffer(10)]

    def size_of(buffer):
        while late:
            unused.keep([late.pop()], math.inf)
        return buffer.size

    unused = UnusedBuffers(size_of)
    first = Buffer(20)
    unused.keep([first], math.inf)
    assert unused.take(15) is first
    assert unused.take(5).size == 10
