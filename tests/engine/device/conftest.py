"""Made-up devices: a machine without a GPU compiles for them, and nothing is loaded anywhere."""

import importlib
import pkgutil
import weakref
from collections import OrderedDict
from types import SimpleNamespace

import pytest

import engine.variants
from engine.compiled.code_store import CodeStore
from engine.device import constant_memory, kernel_cache
from engine.device.numba_cuda import cuda

OLD, NEW = (8, 6), (9, 0)


@pytest.fixture
def device(monkeypatch):
    """Return a made-up current device, which a test may change; no kernel has copies there."""
    chosen = SimpleNamespace(compute_capability=NEW, id=0)
    monkeypatch.setattr(cuda, "get_current_device", lambda: chosen)
    monkeypatch.setattr(constant_memory, "_loaded", OrderedDict())
    monkeypatch.setattr(constant_memory, "_free", weakref.WeakKeyDictionary())
    return chosen


def forget_kernels():
    """Let the factories of the variants forget what they made: it must not serve a real device."""
    for found in pkgutil.walk_packages(engine.variants.__path__, "engine.variants."):
        for made in vars(importlib.import_module(found.name)).values():
            if hasattr(made, "cache_clear"):
                made.cache_clear()


@pytest.fixture
def select(device, monkeypatch, tmp_path):
    """Return a function that selects a made-up device of a compute capability; code is kept in `tmp_path`."""
    from numba.cuda import codegen, dispatcher

    def choose(capability, number=0):
        device.compute_capability, device.id = capability, number

    def ensure(self, cc):
        return cc or (*device.compute_capability, "a" if device.compute_capability >= (9, 0) else "")

    monkeypatch.setattr(dispatcher, "get_current_device", lambda: device)
    monkeypatch.setattr(codegen.CUDACodeLibrary, "_ensure_cc", ensure)
    monkeypatch.setattr(dispatcher._Kernel, "bind", lambda self: self.library.get_cubin())
    monkeypatch.setattr(kernel_cache, "code_store", lambda: CodeStore(tmp_path))
    monkeypatch.setattr(kernel_cache, "_by_capability", weakref.WeakKeyDictionary())
    monkeypatch.delenv(kernel_cache.SWITCH, raising=False)
    forget_kernels()
    yield choose
    forget_kernels()
