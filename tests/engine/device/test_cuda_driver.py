"""What the driver states of GPUs, asked of a made-up driver; `tests/gpu` asks a real one."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from engine.device import device_list
from engine.device.device_list import ATTRIBUTES, NO_GPU, gpu_info, listed_devices

# Attributes of an H200, except the lanes of its bus.
STATED = {
    "MAX_THREADS_PER_BLOCK": 1024, "MAX_BLOCK_DIM_X": 1024, "MAX_BLOCK_DIM_Y": 1024,
    "MAX_SHARED_MEMORY_PER_BLOCK": 49152, "CLOCK_RATE": 1980000, "MULTIPROCESSOR_COUNT": 132,
    "MEMORY_CLOCK_RATE": 3201000, "GLOBAL_MEMORY_BUS_WIDTH": 6144, "L2_CACHE_SIZE": 62914560,
    "MAX_THREADS_PER_MULTIPROCESSOR": 2048, "COMPUTE_CAPABILITY_MAJOR": 9,
}  # fmt: skip
FACTS = {
    "compute capability": "9.0", "multiprocessors": "132", "memory": "150 GB", "L2 cache": "63 MB",
    "clock": "1980 MHz", "memory clock": "3201 MHz", "shared memory per block": "49,152 bytes",
    "driver API": "12.8",
}  # fmt: skip


def put(pointer, value):
    pointer._obj.value = value
    return 0


def driver(gpus=1, compute_modes=(0, 0), **fails):
    """Return the functions of libcuda that are called, as `ctypes` calls them."""

    def attribute(value, code, device):
        key = next(key for key, known in ATTRIBUTES.items() if known == code.value)
        put(value, compute_modes[device.value] if key == "COMPUTE_MODE" else STATED.get(key, 0))
        return fails.get(key, 0)

    return SimpleNamespace(
        cuInit=lambda flags: fails.get("cuInit", 0),
        cuDeviceGetCount=lambda count: put(count, gpus),
        cuDeviceGet=lambda device, number: put(device, number.value),
        cuDeviceGetName=lambda name, size, device: setattr(name, "value", b"GPU %d" % device.value),
        cuDeviceTotalMem_v2=lambda total, device: put(total, 150_100_000_000) or fails.get("memory", 0),
        cuDriverGetVersion=lambda version: put(version, 12080),
        cuDeviceGetAttribute=attribute,
        cuGetErrorName=lambda code, name: put(name, b"CUDA_ERROR_UNKNOWN" if code.value == 999 else None),
    )


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
    install(driver(gpus=2))
    assert listed_gpus() == [("cuda:0", "GPU 0", True, ""), ("cuda:1", "GPU 1", True, "")]
    gpu = gpu_info(0)
    assert gpu.facts == FACTS
    assert (gpu.limits.max_threads, gpu.limits.compute_capability) == (1024, (9, 0))
    assert gpu.bandwidth_gb_s == pytest.approx(3201e6 * 6144 / 8 * 2 / 1e9)
    assert (gpu.attributes.lanes, gpu.attributes.threads) == (128, 2048)


def test_that_an_attribute_that_an_old_driver_does_not_know_is_0(install):
    install(driver(RESERVED_SHARED_MEMORY_PER_BLOCK=1))
    assert gpu_info(0).attributes.reserved_shared_bytes == 0
    install(driver(CLOCK_RATE=999))
    assert "cuDeviceGetAttribute fails with CUDA_ERROR_UNKNOWN" in listed_gpus()[0][3]


def test_that_a_driver_or_a_gpu_that_fails_is_listed_with_the_reason(install):
    for made, *wanted in (
        (driver(gpus=0), NO_GPU.short),
        (driver(cuInit=100), NO_GPU.short),
        (driver(cuInit=999), "cuInit fails with CUDA_ERROR_UNKNOWN"),
        (driver(cuInit=7), "cuInit fails with error 7"),
        (driver(memory=999), "cuDeviceTotalMem_v2 fails"),
        (driver(gpus=2, compute_modes=(0, 2)), "", "the compute mode of GPU 1"),
        (object(), "its library has no cuInit"),
        (None, "the library of the driver is not found"),
    ):
        install(made)
        for number, ((key, _, available, reason), why) in enumerate(zip(listed_gpus(), wanted, strict=True)):
            assert (key, available) == (f"cuda:{number}", why == "")
            assert why in reason


def test_that_attributes_have_the_numbers_of_the_drivers_header():
    driver = pytest.importorskip("cuda.bindings.driver")
    header = driver.CUdevice_attribute
    assert {key: int(getattr(header, f"CU_DEVICE_ATTRIBUTE_{key}")) for key in ATTRIBUTES} == ATTRIBUTES


def test_that_a_chosen_library_is_the_only_one_that_is_looked_for(monkeypatch, tmp_path):
    monkeypatch.setenv("NUMBA_CUDA_DRIVER", str(Path(tmp_path, "libcuda.so")))
    assert device_list.has_driver()
    assert device_list.driver_library.__wrapped__() is None
