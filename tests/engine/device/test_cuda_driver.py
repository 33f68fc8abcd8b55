"""What the driver states of GPUs, asked of a made-up driver; `tests/gpu` asks a real one."""

# ruff: noqa: N802 - the made-up driver has the names of the real one

from pathlib import Path

import pytest

from engine.device import device_list
from engine.device.device_list import ATTRIBUTES, NO_GPU, gpu_info, listed_devices

# Attributes of an H200, except the lanes of its bus.
STATED = {
    "MAX_THREADS_PER_BLOCK": 1024,
    "MAX_BLOCK_DIM_X": 1024,
    "MAX_BLOCK_DIM_Y": 1024,
    "MAX_SHARED_MEMORY_PER_BLOCK": 49152,
    "CLOCK_RATE": 1980000,
    "MULTIPROCESSOR_COUNT": 132,
    "MEMORY_CLOCK_RATE": 3201000,
    "GLOBAL_MEMORY_BUS_WIDTH": 6144,
    "L2_CACHE_SIZE": 62914560,
    "MAX_THREADS_PER_MULTIPROCESSOR": 2048,
    "COMPUTE_CAPABILITY_MAJOR": 9,
}
FACTS = {
    "compute capability": "9.0",
    "multiprocessors": "132",
    "memory": "150 GB",
    "L2 cache": "63 MB",
    "clock": "1980 MHz",
    "memory clock": "3201 MHz",
    "shared memory per block": "49,152 bytes",
    "driver API": "12.8",
}


class Driver:
    """The functions of libcuda that are called, as `ctypes` calls them."""

    def __init__(self, gpus=1, fails=None, compute_modes=(0, 0)):
        self._gpus, self._fails, self._compute_modes = gpus, fails or {}, compute_modes

    def cuInit(self, flags):
        return self._fails.get("cuInit", 0)

    def cuDeviceGetCount(self, count):
        count._obj.value = self._gpus
        return 0

    def cuDeviceGet(self, device, number):
        device._obj.value = number.value
        return 0

    def cuDeviceGetName(self, name, size, device):
        name.value = f"GPU {device.value}".encode()
        return 0

    def cuDeviceTotalMem_v2(self, total, device):
        total._obj.value = 150_100_000_000
        return self._fails.get("cuDeviceTotalMem_v2", 0)

    def cuDriverGetVersion(self, version):
        version._obj.value = 12080
        return 0

    def cuDeviceGetAttribute(self, value, code, device):
        key = next(key for key, known in ATTRIBUTES.items() if known == code.value)
        mode = self._compute_modes[device.value]
        value._obj.value = mode if key == "COMPUTE_MODE" else STATED.get(key, 0)
        return self._fails.get(key, 0)

    def cuGetErrorName(self, code, name):
        name._obj.value = b"CUDA_ERROR_UNKNOWN" if code.value == 999 else None
        return 0


@pytest.fixture
def install(monkeypatch):
    """Return a function that makes a driver the one that is found."""

    def install(driver):
        monkeypatch.setattr(device_list, "driver_library", lambda: driver)
        for name, value in (("missing", ""), ("has_driver", lambda: True)):
            monkeypatch.setattr(device_list, name, value)

    return install


def listed_gpus():
    return [(gpu.key, gpu.title, gpu.available, str(gpu.reason or "")) for gpu in listed_devices()[1:-1]]


def test_that_each_gpu_is_listed_with_its_facts_limits_and_bandwidth(install):
    install(Driver(gpus=2))
    assert listed_gpus() == [("cuda:0", "GPU 0", True, ""), ("cuda:1", "GPU 1", True, "")]
    gpu = gpu_info(0)
    assert gpu.facts == FACTS
    assert (gpu.limits.max_threads, gpu.limits.compute_capability) == (1024, (9, 0))
    assert gpu.bandwidth_gb_s == pytest.approx(3201e6 * 6144 / 8 * 2 / 1e9)
    assert (gpu.attributes.lanes, gpu.attributes.threads) == (128, 2048)


def test_that_an_attribute_that_an_old_driver_does_not_know_is_0(install):
    install(Driver(fails={"RESERVED_SHARED_MEMORY_PER_BLOCK": 1}))
    assert gpu_info(0).attributes.reserved_shared_bytes == 0
    install(Driver(fails={"CLOCK_RATE": 999}))
    assert "cuDeviceGetAttribute fails with CUDA_ERROR_UNKNOWN" in listed_gpus()[0][3]


@pytest.mark.parametrize(
    ("driver", "listed"),
    [
        (Driver(gpus=0), [("cuda:0", NO_GPU.short)]),
        (Driver(fails={"cuInit": 100}), [("cuda:0", NO_GPU.short)]),
        (Driver(fails={"cuInit": 999}), [("cuda:0", "cuInit fails with CUDA_ERROR_UNKNOWN")]),
        (Driver(fails={"cuInit": 7}), [("cuda:0", "cuInit fails with error 7")]),
        (Driver(fails={"cuDeviceTotalMem_v2": 999}), [("cuda:0", "cuDeviceTotalMem_v2 fails")]),
        (Driver(gpus=2, compute_modes=(0, 2)), [("cuda:0", ""), ("cuda:1", "the compute mode of GPU 1")]),
        (object(), [("cuda:0", "its library has no cuInit")]),
        (None, [("cuda:0", "the library of the driver is not found")]),
    ],
    ids=["no GPU", "no device", "unknown", "without a name", "no memory", "prohibited", "foreign", "gone"],
)
def test_that_a_driver_or_a_gpu_that_fails_is_listed_with_the_reason(install, driver, listed):
    install(driver)
    for (key, _, available, reason), (wanted_key, wanted) in zip(listed_gpus(), listed, strict=True):
        assert (key, available) == (wanted_key, wanted == "")
        assert wanted in reason


def test_that_attributes_have_the_numbers_of_the_drivers_header():
    driver = pytest.importorskip("cuda.bindings.driver")
    header = driver.CUdevice_attribute
    assert {key: int(getattr(header, f"CU_DEVICE_ATTRIBUTE_{key}")) for key in ATTRIBUTES} == ATTRIBUTES


def test_that_a_chosen_library_is_the_only_one_that_is_looked_for(monkeypatch, tmp_path):
    monkeypatch.setenv("NUMBA_CUDA_DRIVER", str(Path(tmp_path, "libcuda.so")))
    assert device_list.has_driver()
    assert device_list.driver_library.__wrapped__() is None
