"""Made-up devices: a machine without a GPU compiles for them, and nothing is loaded anywhere."""

import importlib
import pkgutil
import weakref
from types import SimpleNamespace

import pytest

import engine.variants
from engine.compiled.code_store import CodeStore
from engine.device import loaded_kernel
from engine.device.numba_cuda import cuda
from engine.process import interprets

OLD, NEW = (8, 6), (9, 0)


class Loaded:
    """A kernel that would have been loaded: its machine code, and what was written to its constant array."""

    def __init__(self, code, signature):
        self.code, self.written = code, []

    def write(self, name, values):
        self.written.append(values)


@pytest.fixture
def device(monkeypatch):
    """Return a made-up current device, which a test may change; no kernel has copies there."""
    chosen = SimpleNamespace(compute_capability=NEW, id=0, MEMORY_POOLS_SUPPORTED=1)
    monkeypatch.setattr(cuda, "get_current_device", lambda: chosen)
    monkeypatch.setattr(loaded_kernel, "_free", weakref.WeakKeyDictionary())
    loaded_kernel._with_constant.cache_clear()
    # Tests on the simulator may have chosen it for this thread.
    with interprets.within(False):
        yield chosen
    loaded_kernel._with_constant.cache_clear()


def forget_kernels():
    """Let the factories of the variants forget what they made: it must not serve a real device."""
    for found in pkgutil.walk_packages(engine.variants.__path__, "engine.variants."):
        for made in vars(importlib.import_module(found.name)).values():
            if hasattr(made, "cache_clear"):
                made.cache_clear()


@pytest.fixture
def select(device, monkeypatch, tmp_path):
    """Return a function that selects a made-up device of a compute capability; code is kept in `tmp_path`."""
    from engine.device import kernel_code, loaded_kernel

    def choose(capability, number=0):
        device.compute_capability, device.id = capability, number

    monkeypatch.setattr(loaded_kernel, "LoadedKernel", Loaded)
    monkeypatch.setattr(kernel_code, "code_store", lambda: CodeStore(tmp_path))
    monkeypatch.delenv(kernel_code.SWITCH, raising=False)
    forget_kernels()
    loaded_kernel._loaded_kernel.cache_clear()
    yield choose
    loaded_kernel._loaded_kernel.cache_clear()
    forget_kernels()
