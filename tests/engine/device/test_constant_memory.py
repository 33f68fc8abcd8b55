"""Kernels with a filled constant array, without a device: made-up dispatchers, and code that is loaded nowhere."""

from collections import OrderedDict
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from engine.device import constant_memory
from engine.device.constant_memory import MOST_LOADED, with_constant
from engine.device.cuda_kernels import float32, int64
from engine.device.numba_cuda import SIMULATED, cuda, missing

pytestmark = pytest.mark.skipif(bool(SIMULATED or missing), reason="needs numba-cuda, not simulated")
SIGNATURE = (float32[:, ::1], int64)


class Loads:
    """Stands in for loading: notes the values of each copy of the code."""

    def __init__(self) -> None:
        self.written: list[bytes] = []
        self.device = 0

    def copy(self, dispatcher: Any, signature: Any, name: str, contents: np.ndarray) -> Any:
        """Return what stands for a copy."""
        self.written.append(contents.tobytes())
        return SimpleNamespace(contents=contents)


@pytest.fixture
def loads(monkeypatch: pytest.MonkeyPatch) -> Loads:
    found = Loads()
    monkeypatch.setattr(constant_memory, "_loaded_copy", found.copy)
    monkeypatch.setattr(constant_memory, "_loaded", OrderedDict())
    monkeypatch.setattr(cuda, "get_current_device", lambda: SimpleNamespace(id=found.device))
    return found


def values(number: int) -> np.ndarray:
    return np.full((2, 2), number, np.float32)


def test_that_the_same_values_are_loaded_once_and_others_by_themselves(loads: Loads) -> None:
    kernel = SimpleNamespace()
    first = with_constant(kernel, SIGNATURE, "weights", values(1))
    second = with_constant(kernel, SIGNATURE, "weights", values(2))
    assert with_constant(kernel, SIGNATURE, "weights", values(1)) is first
    assert first is not second
    assert loads.written == [values(1).tobytes(), values(2).tobytes()]


def test_that_another_kernel_signature_or_device_has_a_copy_of_its_own(loads: Loads) -> None:
    kernel = SimpleNamespace()
    with_constant(kernel, SIGNATURE, "weights", values(1))
    with_constant(SimpleNamespace(), SIGNATURE, "weights", values(1))
    with_constant(kernel, (int64,), "weights", values(1))
    loads.device = 1
    with_constant(kernel, SIGNATURE, "weights", values(1))
    assert len(loads.written) == 4


def test_that_what_was_asked_for_longest_ago_goes_first(loads: Loads) -> None:
    kernel = SimpleNamespace()
    for number in range(MOST_LOADED):
        with_constant(kernel, SIGNATURE, "weights", values(number))
    # 0 is asked for again, so 1 is the oldest.
    for number in (0, MOST_LOADED, 0):
        with_constant(kernel, SIGNATURE, "weights", values(number))
    assert len(loads.written) == MOST_LOADED + 1
    with_constant(kernel, SIGNATURE, "weights", values(1))
    assert loads.written[-1] == values(1).tobytes()
    assert len(constant_memory._loaded) == MOST_LOADED


def test_that_values_are_written_as_float32_in_c_order(loads: Loads) -> None:
    kernel, table = SimpleNamespace(), np.arange(6.0).reshape(2, 3)
    copy = with_constant(kernel, SIGNATURE, "weights", np.asfortranarray(table))
    assert copy.contents.dtype == np.float32
    assert loads.written == [table.astype(np.float32).tobytes()]


def test_that_a_kernel_lives_as_long_as_its_copy_is_kept(loads: Loads) -> None:
    # Another one could get its identity, and then its copies.
    with_constant(SimpleNamespace(), SIGNATURE, "weights", values(1))
    assert all(id(held[0]) == key[0] for key, held in constant_memory._loaded.items())


def test_that_a_copy_has_its_values_and_never_compiles(monkeypatch: pytest.MonkeyPatch) -> None:
    from numba.cuda.cudadrv import driver

    array = SimpleNamespace(address=4711, bytes=16, written=b"")
    module = SimpleNamespace(get_global_symbol=lambda name: (array, array.bytes))
    library = SimpleNamespace(
        get_cubin=lambda: SimpleNamespace(code=b"code"), get_cufunc=lambda: SimpleNamespace(module=module)
    )
    compiled = SimpleNamespace(library=library, entry_name="entry", cooperative=False)
    rebuilt: list[Any] = []

    def rebuild(kept: Any, signature: Any, options: Any) -> Any:
        rebuilt.append((kept.cubin, kept.entry_name))
        return SimpleNamespace(library=library, entry_point=None)

    def write(memory: Any, source: np.ndarray, size: int) -> None:
        memory.written = source.tobytes()[:size]

    monkeypatch.setattr(constant_memory, "rebuilt", rebuild)
    monkeypatch.setattr(driver, "host_to_device", write)
    dispatcher = SimpleNamespace(
        compile=lambda signature: compiled, targetoptions={}, py_func=lambda x, y: None
    )
    copy = constant_memory._loaded_copy(dispatcher, SIGNATURE, "weights", values(3))
    assert rebuilt == [(b"code", "entry")]
    assert array.written == values(3).tobytes()
    assert list(copy.overloads) == [SIGNATURE]
    with pytest.raises(RuntimeError, match="Compilation disabled"):
        copy.compile((int64, int64))
    with pytest.raises(ValueError, match="weights has 16 bytes in the compiled kernel, not 4"):
        constant_memory._loaded_copy(dispatcher, SIGNATURE, "weights", np.ones(1, np.float32))
