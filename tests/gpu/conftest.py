"""The device that these tests need; without one they are skipped, with the reason."""

import pytest

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
