import gc
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from engine.device import uploads
from engine.device.cuda_pool import Pool
from engine.device.uploads import MOST_KEPT, uploaded


class Array:
    """Stands for an array of a device."""

    def __init__(self, shape: tuple[int, ...], dtype: Any) -> None:
        self.shape, self.dtype = shape, np.dtype(dtype)
        self.contents: list[np.ndarray] = []

    def copy_to_device(self, host: np.ndarray) -> None:
        self.contents.append(host.copy())


@pytest.fixture
def device(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """Return a made-up device: what was allocated, and a call that selects another one."""
    made: list[Array] = []

    def allocate(shape: tuple[int, ...], dtype: Any) -> Array:
        made.append(Array(shape, dtype))
        return made[-1]

    def select() -> Pool:
        pool = Pool(allocate, 1 << 20)
        monkeypatch.setattr(uploads, "device_pool", lambda: pool)
        return pool

    return SimpleNamespace(made=made, select=select, pool=select())


def test_that_the_same_weights_are_uploaded_once(device: SimpleNamespace) -> None:
    first = uploaded(np.arange(6.0).reshape(2, 3))
    assert uploaded(np.arange(6.0).reshape(2, 3)) is first
    others = [np.arange(6.0), np.arange(6, dtype=np.float32).reshape(2, 3), -np.arange(6.0).reshape(2, 3)]
    assert all(uploaded(other) is not first for other in others)
    assert len(device.made) == 4
    assert np.array_equal(first.array.contents, [np.arange(6.0).reshape(2, 3)])


def test_that_another_device_gets_an_array_of_its_own(device: SimpleNamespace) -> None:
    first = uploaded(np.ones(3))
    device.select()
    assert uploaded(np.ones(3)).array is not first.array


def test_that_memory_is_written_again_only_when_nobody_has_it(device: SimpleNamespace) -> None:
    held = uploaded(np.zeros(3))
    for number in range(1, MOST_KEPT + 1):
        uploaded(np.full(3, float(number)))
    assert len(device.made) == MOST_KEPT + 1
    assert len(held.array.contents) == 1
    # Nobody holds the oldest but this test, so the next one takes memory of its own, and the one after that of it.
    uploaded(np.full(3, -1.0))
    array = held.array
    del held
    gc.collect()
    assert len(array.contents) == 1
    before = len(device.made)
    assert uploaded(np.full(3, -2.0)).array.contents
    assert len(device.made) == before
