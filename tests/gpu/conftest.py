"""The device that these tests need, else they are skipped with the reason; what its driver reports."""

import math

import pytest
from numba import types

from engine.device.devices import backend, devices


@pytest.fixture(scope="session")
def device():
    """Return the key of the first CUDA device."""
    cuda = next((found for found in devices() if found.key.startswith("cuda:")), None)
    if cuda is None or not cuda.available:
        pytest.skip(f"needs a CUDA device: {cuda.reason if cuda else 'this process simulates'}")
    return cuda.key


@pytest.fixture(scope="session")
def gpu(device):
    """Return the backend of the first CUDA device."""
    return backend(device)


def assert_compiled_as_planned(passes, *, uses_local_memory=False):
    """Check that only what means to uses local memory, and that memory and threads are those of the plan."""
    for step in passes:
        signature = types.void(*step.signature)
        # A kernel with constant memory was prepared as a copy: this one is compiled here.
        step.kernel.compile(step.signature)
        assert (step.kernel.get_local_mem_per_thread(signature) > 0) == uses_local_memory
        assert step.kernel.get_shared_mem_per_block(signature) == step.launch.shared_bytes
        # The driver may count constants of the compiler's own besides the mask.
        assert step.kernel.get_const_mem_size(signature) >= step.launch.constant_bytes
        assert step.kernel.get_max_threads_per_block(signature) >= math.prod(step.launch.block)
