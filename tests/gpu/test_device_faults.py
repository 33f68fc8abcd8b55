"""What a real device states, what it refuses and what loses it; the kernel cache, in fresh processes."""

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from engine.device.backend import cuda_errors_in_words
from engine.device.device_list import ATTRIBUTES, gpu_info, listed_devices
from engine.device.devices import devices
from engine.device.numba_cuda import cuda
from engine.errors import BadValue, OutOfDeviceMemory
from engine.geometry.block import Block
from engine.geometry.border import Border
from engine.work.filtering.variants import variant
from tests.engine.variants.cases import Case, check
from tests.fresh_python import fresh_python

CASE = Case("after a refusal", 40, 50, 3, "uint8", (5, 5), weights="whole", border=Border.WRAP)


def test_that_the_device_is_well_after_too_much_memory_was_asked_for(gpu, device):
    # Only shape, type and sizes are asked for before the device refuses: the host has nothing of this.
    side = 1 << 20
    shape = (side, side, 4)
    endless = SimpleNamespace(shape=shape, dtype=np.dtype(np.float32), itemsize=4, nbytes=16 * side**2)
    with pytest.raises(OutOfDeviceMemory, match=r"bytes free\. Use a smaller picture or batch, or the CPU"):
        gpu.allocate(endless)
    check(variant("tiled"), CASE, device)


def test_that_the_device_is_well_after_a_launch_that_cannot_be(gpu, device):
    @cuda.jit
    def nothing(out):
        out[0] = 1.0

    out = cuda.device_array(1, np.float32)
    with pytest.raises(BadValue, match="refused the launch"), cuda_errors_in_words("running the kernel"):
        nothing[1, (64, 64)](out)
    check(variant("naive"), CASE, device)


ILLEGAL_STORE = """
import numpy as np
from engine.device.backend import cuda_errors_in_words
from engine.device.numba_cuda import cuda
from engine.errors import DeviceFault

@cuda.jit
def far_away(out):
    out[1 << 40] = 1.0

out = cuda.device_array(1, np.float32)
try:
    with cuda_errors_in_words("running the kernel"):
        far_away[1, 1](out)
        cuda.synchronize()
except DeviceFault as error:
    print("fault:", error, flush=True)
import os
os._exit(0)
"""


def test_that_an_illegal_store_is_reported_as_a_fault_of_the_device(device):
    assert "fault: The GPU failed while running the kernel" in fresh_python("-c", ILLEGAL_STORE)


def test_that_the_device_says_what_a_block_may_be(gpu):
    limits = gpu.info.limits
    assert limits.max_threads >= 1024
    assert limits.shared_bytes >= 48 * 1024
    assert variant("tiled").default_block.threads <= limits.max_threads
    assert Block(limits.max_block_x, 1).threads <= limits.max_threads
    assert {"compute capability", "multiprocessors", "memory", "driver API"} <= gpu.info.facts.keys()


ROOT = Path(__file__).parents[2]
SCRIPT = """
import json, time
import numpy as np
import engine
from engine.device.devices import backend
from engine.variants.fast import register_blocked
backend("cuda:0").activate()
picture = np.random.default_rng(1).integers(0, 99, (300, 200)).astype(np.float32)
mask = np.arange(25.0).reshape(5, 5)
begin = time.perf_counter()
values = engine.correlate(picture, mask, device="cuda:0", variant="register-blocked")
took = time.perf_counter() - begin
right = np.array_equal(values, engine.correlate(picture, mask, device="cpu", variant="cpu-serial"))
print(json.dumps({"s": took, "right": bool(right)}))
"""


def first_launch(folder, **environment):
    """Filter in a fresh process; return whether it was right, and the seconds that it took."""
    environment = os.environ | {"NUMBA_CACHE_DIR": str(folder)} | environment
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], env=environment, cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def kept(folder):
    return sorted(folder.glob("*/*.cuda"))


def test_that_a_second_process_loads_what_the_first_compiled(device, tmp_path):
    first = first_launch(tmp_path)
    files = {path: path.read_bytes() for path in kept(tmp_path)}
    second = first_launch(tmp_path)
    assert (first["right"], second["right"], bool(files)) == (True, True, True)
    assert {path: path.read_bytes() for path in kept(tmp_path)} == files
    assert second["s"] < first["s"]


@pytest.mark.parametrize("damage", ["cut", "other code"])
def test_that_damaged_files_are_compiled_anew(device, tmp_path, damage):
    first_launch(tmp_path)
    for path in kept(tmp_path):
        content = path.read_bytes()
        path.write_bytes(content[: len(content) // 2] if damage == "cut" else content[:200] + bytes(500))
    assert first_launch(tmp_path)["right"]
    assert all(len(path.read_bytes()) > 1000 for path in kept(tmp_path))


def test_that_code_the_driver_refuses_is_compiled_anew(device, tmp_path):
    first_launch(tmp_path)
    for path in kept(tmp_path):
        key = path.read_bytes()[32:].partition(b"\0")[0].decode()
        bad = key.encode() + b"\0\0.nv.constant0.kernel\0" + b"no code at all" * 100
        path.write_bytes(hashlib.sha256(bad).digest() + bad)
    assert first_launch(tmp_path)["right"]


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
