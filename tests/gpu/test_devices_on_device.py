"""The list of devices: what the driver states is what Numba finds, and asking for it loads no Numba."""

from numba import cuda

from engine.device.device_list import ATTRIBUTES, gpu_info, listed_devices
from engine.device.devices import devices
from tests.fresh_python import fresh_python

NOT_NUMBAS = {"COMPUTE_CAPABILITY_MAJOR", "COMPUTE_CAPABILITY_MINOR"}


def test_that_the_list_for_people_is_that_of_the_devices_that_were_used(device):
    assert listed_devices() == devices()


def test_that_the_driver_states_what_numba_finds(device):
    info, gpu = gpu_info(0), cuda.gpus[0]
    with gpu:
        _, total = cuda.current_context().get_memory_info()
    name = gpu.name.decode() if isinstance(gpu.name, bytes) else gpu.name
    assert (info.title, info.facts["memory"]) == (name, f"{total / 1e9:.0f} GB")
    assert info.limits.compute_capability == tuple(gpu.compute_capability)
    attributes = {key: getattr(gpu, key) for key in ATTRIBUTES if key not in NOT_NUMBAS}
    assert info.attributes.multiprocessors == attributes["MULTIPROCESSOR_COUNT"]
    assert info.attributes.memory_clock_mhz == attributes["MEMORY_CLOCK_RATE"] / 1e3
    assert info.attributes.bus_width_bits == attributes["GLOBAL_MEMORY_BUS_WIDTH"]
    assert info.facts["clock"] == f"{attributes['CLOCK_RATE'] / 1e3:.0f} MHz"
    assert info.limits.shared_bytes == attributes["MAX_SHARED_MEMORY_PER_BLOCK"]


def test_that_the_command_loads_neither_numpy_nor_numba(device):
    code = (
        "import sys, engine.commands.command_line as c; c.main(['devices']); "
        "sys.exit(bool({'numpy', 'numba', 'llvmlite', 'cuda.bindings'} & set(sys.modules)))"
    )
    assert "cuda:0" in fresh_python("-c", code)
