"""Which devices are listed, in words that say why another cannot be used."""

import json
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from engine.device.core_count import cores
from engine.device.devices import backend, device_named, devices, made_once, own_process_needed
from engine.errors import DeviceUnavailable

ROOT = Path(__file__).parents[3]
LIST_DEVICES = """
import json
from engine.device.devices import devices
print(json.dumps([(d.key, d.available, d.reason, d.times_mean_speed) for d in devices()]))
"""


def listed_in_a_process(**environment: str) -> dict[str, tuple[bool, str, bool]]:
    done = subprocess.run(
        [sys.executable, "-c", LIST_DEVICES],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
        env=os.environ | environment,
    )
    return {key: tuple(rest) for key, *rest in json.loads(done.stdout)}


def test_that_the_cpu_comes_first_and_the_simulator_last() -> None:
    known = devices()
    assert (known[0].key, known[-1].key) == ("cpu", "simulator")
    assert known[0].facts["cores"] == str(cores())
    assert known[0].available
    assert known[-1].available
    assert not known[-1].times_mean_speed
    assert "mean nothing" in known[-1].facts["times"]


def test_that_without_a_visible_gpu_cuda_is_listed_with_the_reason() -> None:
    listed = listed_in_a_process(CUDA_VISIBLE_DEVICES="")
    available, reason, _ = listed["cuda:0"]
    assert not available
    assert reason.endswith(".")
    assert "NVIDIA" in reason


def test_that_the_simulator_shows_no_cuda_device_beside_itself() -> None:
    assert list(listed_in_a_process(NUMBA_ENABLE_CUDASIM="1")) == ["cpu", "simulator"]


def test_that_a_second_thread_waits_for_what_a_first_one_is_making() -> None:
    begun, may_end, made = threading.Event(), threading.Event(), []

    @made_once
    def slowly() -> list[int]:
        made.append(1)
        begun.set()
        assert may_end.wait(30)
        return made

    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(slowly)
        assert begun.wait(30)
        second = pool.submit(slowly)
        # It neither makes another nor gets half of one.
        with pytest.raises(TimeoutError):
            second.result(0.05)
        may_end.set()
        assert first.result(30) is second.result(30)
    assert made == [1]


def test_that_a_device_is_found_by_its_key() -> None:
    assert device_named("cpu").key == "cpu"
    assert device_named("simulator").key == "simulator"
    assert device_named("auto").available


def test_that_an_unknown_device_is_refused_with_those_that_can_be_used() -> None:
    with pytest.raises(DeviceUnavailable, match=r"device 'tpu'.*there is no such device here.*auto, cpu"):
        device_named("tpu")


def test_that_an_unusable_device_is_refused_with_its_reason() -> None:
    unusable = next((device for device in devices() if not device.available), None)
    if unusable is None:
        assert device_named("cuda").key == "cuda:0"
        return
    with pytest.raises(DeviceUnavailable) as caught:
        device_named("cuda")
    assert caught.value.why == unusable.reason


def test_that_the_simulator_needs_a_process_of_its_own() -> None:
    simulator = device_named("simulator")
    assert own_process_needed(simulator)
    assert not own_process_needed(device_named("cpu"))
    with pytest.raises(DeviceUnavailable, match="NUMBA_ENABLE_CUDASIM"):
        backend("simulator")
