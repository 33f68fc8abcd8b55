"""What a real device refuses, and that it is well afterwards; what loses it, in a process of its own."""

from types import SimpleNamespace

import numpy as np
import pytest

from engine.device.cuda_faults import cuda_errors_in_words
from engine.device.numba_cuda import cuda
from engine.errors import BadValue, OutOfDeviceMemory
from engine.geometry.block import Block
from engine.geometry.border import Border
from engine.variants.registry import variant
from tests.engine.variants.cases import Case, check
from tests.fresh_python import fresh_python

CASE = Case("after a refusal", 40, 50, 3, "uint8", (5, 5), weights="whole", border=Border.WRAP)


def test_that_too_much_memory_is_refused_and_the_device_is_well(gpu, device):
    # Only shape, type and sizes are asked for before the device refuses: the host has nothing of this.
    side = 1 << 20
    endless = SimpleNamespace(shape=(side, side, 4), dtype=np.dtype(np.float32), itemsize=4)
    with pytest.raises(OutOfDeviceMemory, match=r"bytes free\. Use a smaller picture, or the CPU"):
        gpu.allocate(endless)
    check(variant("tiled"), CASE, device)


def test_that_a_launch_that_cannot_be_is_refused_and_the_device_is_well(gpu, device):
    @cuda.jit
    def nothing(out):
        out[0] = 1.0

    out = cuda.device_array(1, np.float32)
    with pytest.raises(BadValue, match="refused the launch"), cuda_errors_in_words("running the kernel"):
        nothing[1, (64, 64)](out)
    check(variant("naive"), CASE, device)


ILLEGAL_STORE = """
import numpy as np
from engine.device.cuda_faults import cuda_errors_in_words
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
