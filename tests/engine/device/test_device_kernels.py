"""Two kinds of device in one process, without either: real machine code from the compiler, made-up devices."""

import gc
import importlib
import pkgutil
import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import engine.variants
from engine.device import constant_memory, kernel_cache
from engine.device.code_store import CodeStore
from engine.device.cuda_kernels import PreparedPasses, float32, int64
from engine.device.kernel_cache import for_current_device, kept_on_disk
from engine.device.numba_cuda import SIMULATED, cuda, missing
from engine.geometry.block import Block
from engine.geometry.border import Border
from engine.mask.mask import Mask
from engine.tasks.filtering.problem import Problem
from engine.variants.registry import variant

pytestmark = [
    pytest.mark.nvvm,
    pytest.mark.skipif(bool(SIMULATED or missing), reason="needs the CUDA compiler"),
]
SIGNATURE = (float32[:, ::1], int64)
OLD, NEW = (8, 6), (9, 0)


def factory(scale: int) -> Any:
    @cuda.jit
    def scaled(values: Any, count: Any) -> None:
        values[0, count] *= float32(scale)

    return scaled


def forget_kernels() -> None:
    """Let the factories of the variants forget what they made: on a real device it must not serve the next test."""
    for found in pkgutil.walk_packages(engine.variants.__path__, "engine.variants."):
        for made in vars(importlib.import_module(found.name)).values():
            if hasattr(made, "cache_clear"):
                made.cache_clear()


@pytest.fixture
def select(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Callable[..., None]]:
    """Return a function that selects a made-up device of a compute capability; anything is loaded there."""
    from numba.cuda import codegen, dispatcher

    chosen = SimpleNamespace(compute_capability=NEW, id=0)

    def choose(capability: tuple[int, int], number: int = 0) -> None:
        chosen.compute_capability, chosen.id = capability, number

    def ensure(self: Any, cc: Any) -> Any:
        return cc or (*chosen.compute_capability, "a" if chosen.compute_capability >= (9, 0) else "")

    monkeypatch.setattr(dispatcher, "get_current_device", lambda: chosen)
    monkeypatch.setattr(cuda, "get_current_device", lambda: chosen)
    monkeypatch.setattr(codegen.CUDACodeLibrary, "_ensure_cc", ensure)
    monkeypatch.setattr(dispatcher._Kernel, "bind", lambda self: self.library.get_cubin())
    monkeypatch.setattr(kernel_cache, "code_store", lambda: CodeStore(tmp_path))
    monkeypatch.setattr(constant_memory, "_loaded", OrderedDict())
    monkeypatch.setattr(constant_memory, "_free", weakref.WeakKeyDictionary())
    monkeypatch.setattr(kernel_cache, "_by_capability", weakref.WeakKeyDictionary())
    monkeypatch.delenv(kernel_cache.SWITCH, raising=False)
    forget_kernels()
    yield choose
    forget_kernels()


def code(dispatcher: Any) -> bytes:
    """Return the machine code that a launch on the selected device would load."""
    return bytes(dispatcher.compile(SIGNATURE).library.get_cubin().code)


def test_that_each_kind_of_device_gets_code_of_its_own(select: Callable[..., None]) -> None:
    alone = {}
    for capability in (NEW, OLD):
        select(capability)
        alone[capability] = code(for_current_device(factory(3)))
    assert alone[NEW] != alone[OLD]
    both = factory(3)
    for capability in (NEW, OLD, NEW, OLD):
        select(capability)
        assert machine(code(for_current_device(both))) == machine(alone[capability])


def machine(cubin: bytes) -> bytes:
    """Return the header of an ELF file: what it is for."""
    return cubin[:64]


def test_that_what_was_kept_on_disk_serves_each_kind_of_device(select: Callable[..., None]) -> None:
    kept = kept_on_disk(factory)
    wanted = {}
    for capability in (NEW, OLD):
        select(capability)
        wanted[capability] = code(for_current_device(kept(4)))
    # The next process: both are on disk.
    again = kept(4)
    for capability in (OLD, NEW, OLD):
        select(capability)
        assert code(for_current_device(again)) == wanted[capability]
    # By itself a dispatcher would go on with what it loaded first, and that has no code for another kind.
    alone = kept(4)
    select(OLD)
    alone.compile(SIGNATURE)
    select(NEW)
    with pytest.raises(Exception):  # noqa: B017, PT011 - whatever Numba stumbles over
        code(alone)


def test_that_devices_of_one_kind_share_a_dispatcher_and_a_factory_keeps_its_own(
    select: Callable[..., None],
) -> None:
    one = factory(5)
    assert for_current_device(one) is one
    select(NEW, 1)
    assert for_current_device(one) is one
    select(OLD)
    other = for_current_device(one)
    assert other is not one
    assert for_current_device(one) is other
    before = len(kernel_cache._by_capability)
    del one, other
    gc.collect()
    assert len(kernel_cache._by_capability) == before - 1


@pytest.mark.parametrize("key", ["naive", "separable-l0"])
def test_that_a_variant_is_prepared_for_the_device_that_is_selected(
    select: Callable[..., None], monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    monkeypatch.setattr(PreparedPasses, "_on_device", lambda self, arguments: arguments)
    mask, problem = Mask(np.ones((3, 3))), Problem(9, 7, mask_shape=(3, 3), anchor=(1, 1), border=Border.WRAP)
    found: dict[tuple[int, int], list[bytes]] = {OLD: [], NEW: []}
    for capability in (NEW, OLD, NEW, OLD):
        select(capability)
        prepared = variant(key).prepare(problem, mask, Block(8, 4))
        (step, _), *_ = prepared._steps
        found[capability].append(machine(bytes(step.kernel.compile(step.signature).library.get_cubin().code)))
    assert found[OLD][0] == found[OLD][1]
    assert found[NEW][0] == found[NEW][1]
    assert found[OLD][0] != found[NEW][0]


def test_that_a_constant_array_is_written_into_code_for_the_device(
    select: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(PreparedPasses, "_on_device", lambda self, arguments: arguments)
    monkeypatch.setattr(constant_memory, "_write", lambda copy, signature, name, contents: None)
    mask = Mask(np.arange(9.0).reshape(3, 3))
    problem = Problem(9, 7, mask_shape=(3, 3), anchor=(1, 1))
    found: dict[tuple[int, int], set[bytes]] = {OLD: set(), NEW: set()}
    for capability in (OLD, NEW, OLD):
        select(capability, int(capability == NEW))
        prepared = variant("register-blocked").prepare(problem, mask, Block(32, 4))
        ((step, _),) = prepared._steps
        found[capability].add(machine(bytes(step.kernel.overloads[step.signature].library.get_cubin().code)))
    assert [len(machines) for machines in found.values()] == [1, 1]
    assert found[OLD] != found[NEW]
