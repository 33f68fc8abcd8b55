"""Which devices are listed, in words that say why another cannot be used."""

import importlib
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numba
import pytest
from numba.cuda.cudadrv.error import CudaSupportError

from engine.device import devices as device_module
from engine.device import numba_cuda
from engine.device.core_count import cores
from engine.device.devices import backend, device_named, devices, made_once, own_process_needed
from engine.errors import DeviceUnavailable

NO_LIBRARY = CudaSupportError("Error at driver init: \nCUDA driver library cannot be found.\nIf ...")


class Cuda:
    """Numba's CUDA target, made up: its GPUs, or what listing them raises."""

    def __init__(self, gpus: Any) -> None:
        self._gpus = gpus

    @property
    def gpus(self) -> Any:
        if isinstance(self._gpus, Exception):
            raise self._gpus
        return self._gpus


def broken(number: int) -> None:
    raise OSError("odd")


@pytest.mark.parametrize(
    ("found", "reason"),
    [
        ({"cuda": Cuda(NO_LIBRARY)}, "No NVIDIA driver."),
        ({"cuda": Cuda(OSError("odd:\n error"))}, "The NVIDIA driver cannot be used: odd: error."),
        ({"cuda": Cuda([])}, "The NVIDIA driver is installed, but it finds no GPU."),
        ({"cuda": Cuda([0]), "cuda_info": broken}, "The NVIDIA driver cannot be used: odd."),
        ({"missing": "numba-cuda is not installed"}, "numba-cuda is not installed. Install it"),
        ({"SIMULATED": True}, None),
    ],
    ids=["no driver", "broken driver", "no GPU", "broken GPU", "no package", "simulator"],
)
def test_that_cuda_is_listed_with_the_reason_between_the_cpu_and_the_simulator(monkeypatch, found, reason):
    for name, value in ({"missing": "", "SIMULATED": False} | found).items():
        monkeypatch.setattr(device_module, name, value)
    cpu, *cuda, simulator = device_module.devices.__wrapped__()
    assert (cpu.key, cpu.available, cpu.facts["cores"]) == ("cpu", True, str(cores()))
    assert (simulator.key, simulator.available, simulator.times_mean_speed) == ("simulator", True, False)
    assert "mean nothing" in simulator.facts["times"]
    # The simulator shows no CUDA device beside itself.
    assert [(device.key, device.available) for device in cuda] == (
        [] if reason is None else [("cuda:0", False)]
    )
    assert all(device.reason.startswith(str(reason)) for device in cuda)


def test_that_a_second_thread_waits_for_what_a_first_one_is_making():
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


def test_that_a_device_is_found_by_its_key_or_refused_with_those_that_can_be_used():
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
    assert caught.value.why == unavailable.reason


def test_that_the_simulator_needs_a_process_of_its_own():
    assert own_process_needed(device_named("simulator"))
    assert not own_process_needed(device_named("cpu"))
    with pytest.raises(DeviceUnavailable, match="NUMBA_ENABLE_CUDASIM"):
        backend("simulator")


@pytest.mark.parametrize("chosen", ["", "1"])
def test_that_numba_warns_of_small_grids_only_where_a_person_asks_for_it(monkeypatch, chosen):
    # As when Numba was imported before: it has read the environment.
    monkeypatch.setattr(numba.config, "CUDA_LOW_OCCUPANCY_WARNINGS", 1)
    monkeypatch.delenv("NUMBA_CUDA_LOW_OCCUPANCY_WARNINGS", raising=False)
    if chosen:
        monkeypatch.setenv("NUMBA_CUDA_LOW_OCCUPANCY_WARNINGS", chosen)
    importlib.reload(numba_cuda)
    assert bool(chosen) == numba.config.CUDA_LOW_OCCUPANCY_WARNINGS
