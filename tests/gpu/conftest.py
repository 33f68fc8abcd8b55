"""The device that these tests need, else they are skipped with the reason; what its driver reports."""

import math

import pytest

from engine.device.devices import backend, devices


@pytest.fixture(scope="session")
def device():
    """Return the key of the first CUDA device."""
    cuda = next((found for found in devices() if found.key.startswith("cuda:")), None)
    if cuda is None or not cuda.available:
        pytest.skip(f"needs a CUDA device: {cuda.reason if cuda else 'there is none'}")
    return cuda.key


@pytest.fixture(scope="session")
def gpu(device):
    """Return the backend of the first CUDA device."""
    return backend(device)


def assert_compiled_as_planned(passes):
    """Check that no local memory is used, and that memory and threads are those of the plan."""
    from engine.device.loaded_kernel import loaded_kernel

    for step in passes:
        attributes = loaded_kernel(step.kernel, step.signature).attributes
        assert attributes.local_size_bytes == 0
        assert attributes.shared_size_bytes == step.launch.shared_bytes
        # The driver may count constants of the compiler's own besides the mask.
        assert attributes.const_size_bytes >= step.launch.constant_bytes
        assert attributes.max_threads_per_block >= math.prod(step.launch.block)
