"""Kernels with a filled constant array, without a device: made-up dispatchers and code."""

import gc
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from engine.device import constant_memory
from engine.device.constant_memory import MOST_LOADED, with_constant
from engine.device.cuda_kernels import PreparedPasses, float32, int64
from engine.device.launches import Launch, Pass
from engine.device.numba_cuda import SIMULATED, cuda, missing

pytestmark = pytest.mark.skipif(bool(SIMULATED or missing), reason="needs numba-cuda, not simulated")
SIGNATURE = (float32[:, ::1], int64)


class Kernel:
    """A made-up dispatcher."""


class Copy:
    """A made-up copy of the code: what its constant array holds, and what its launches read there."""

    def __init__(self) -> None:
        self.contents = np.zeros((1, 1), np.float32)
        self.under_way: list[float] = []
        self.read: list[tuple[float, float]] = []

    def __getitem__(self, configuration: Any) -> Any:
        # A launch is enqueued, and reads the array when the device comes to it.
        return lambda *arguments: self.under_way.append(float(self.contents[0, 0]))

    def finish(self) -> None:
        """Do what was enqueued: note what each launch should have read, and what it did read."""
        self.read += [(wanted, float(self.contents[0, 0])) for wanted in self.under_way]
        self.under_way.clear()


class Loads:
    """A made-up device: the copies that were loaded, and the values that were written, in order."""

    def __init__(self, device: SimpleNamespace) -> None:
        self.copies: list[Copy] = []
        self.written: list[bytes] = []
        self.device = device

    def new_copy(self, dispatcher: Any, signature: Any) -> Copy:
        self.copies.append(Copy())
        return self.copies[-1]

    def write(self, copy: Copy, signature: Any, name: str, contents: np.ndarray) -> None:
        self.written.append(contents.tobytes())
        copy.contents = contents.copy()

    def synchronize(self) -> None:
        for copy in self.copies:
            copy.finish()


@pytest.fixture
def loads(device: SimpleNamespace, monkeypatch: pytest.MonkeyPatch) -> Loads:
    found = Loads(device)
    monkeypatch.setattr(constant_memory, "_new_copy", found.new_copy)
    monkeypatch.setattr(constant_memory, "_write", found.write)
    monkeypatch.setattr(cuda, "synchronize", found.synchronize)
    return found


def values(number: int) -> np.ndarray:
    return np.full((2, 2), number, np.float32)


def asked(kernel: Any, number: int, signature: Any = SIGNATURE) -> Any:
    return with_constant(kernel, signature, "weights", values(number))


def test_that_the_same_values_are_loaded_once_and_others_by_themselves(loads):
    kernel = Kernel()
    first, second = asked(kernel, 1), asked(kernel, 2)
    assert asked(kernel, 1) is first
    assert first is not second
    # As float32, in C order.
    table = np.arange(6.0).reshape(2, 3)
    with_constant(kernel, SIGNATURE, "weights", np.asfortranarray(table))
    wanted = (values(1), values(2), table.astype(np.float32))
    assert loads.written == [array.tobytes() for array in wanted]


def test_that_what_was_asked_for_longest_ago_goes_first(loads):
    kernel = Kernel()
    # 0 is used again, so 1 is the oldest.
    for number in (*range(MOST_LOADED), 0, MOST_LOADED, 0):
        asked(kernel, number)
    assert len(loads.written) == MOST_LOADED + 1
    asked(Kernel(), 1)
    assert loads.written[-1] == values(1).tobytes()
    assert len(constant_memory._loaded) == MOST_LOADED
    # A kernel lives as long as its copy is kept: another one could get its identity, and then its copies.
    assert all(id(held[0]) == key[0] for key, held in constant_memory._loaded.items())


@pytest.mark.slow
def test_that_a_copy_in_use_is_never_written_anew(loads):
    kernel = Kernel()
    held = [asked(kernel, number) for number in range(40)]
    assert len(loads.copies) == 40
    assert [one.contents[0, 0] for one in held] == list(range(40))
    del held[3:]
    gc.collect()
    for number in range(100, 130):
        asked(kernel, number)
    assert [one.contents[0, 0] for one in held] == [0, 1, 2]
    assert len(loads.copies) == 40


def test_that_edits_of_a_mask_need_few_copies_and_launches_read_what_they_were_enqueued_with(loads):
    kernel, held = Kernel(), None
    for number in range(200):
        # The variant that was prepared before is dropped when the next one is there.
        held = asked(kernel, number)
        assert held.contents[0, 0] == number
        held[(1, 1), (1, 1), 0](number)
    assert len(loads.written) == 200
    assert len(loads.copies) <= MOST_LOADED + 1
    loads.synchronize()
    read = [pair for copy in loads.copies for pair in copy.read]
    assert len(read) == 200
    assert all(wanted == found for wanted, found in read)


def test_that_a_prepared_variant_holds_its_copy(loads):
    kernel = Kernel()

    def prepared(number: int) -> PreparedPasses:
        launch, constant = Launch((1, 1, 1), (1, 1, 1)), ("weights", values(number))
        return PreparedPasses([Pass("correlate", kernel, SIGNATURE, launch, (number,), constant)])

    first = prepared(0)
    for number in range(1, 3 * MOST_LOADED):
        prepared(number).launch(None, None)
    count = len(loads.copies)
    first.launch(None, None)
    loads.synchronize()
    assert loads.copies[0].read == [(0.0, 0.0)]
    del first
    prepared(100), prepared(101)
    assert len(loads.copies) == count


@pytest.mark.parametrize("used_before", [1, 2 * MOST_LOADED])
def test_that_a_kernels_copies_used_or_free_are_not_anothers_and_not_another_devices(loads, used_before):
    one = Kernel()
    for number in range(used_before):
        asked(one, number)
    count = len(loads.copies)
    asked(Kernel(), 0)
    asked(one, 0, (int64,))
    loads.device.id = 1
    asked(one, 0)
    assert len(loads.copies) == count + 3


def test_that_free_copies_go_with_their_kernel(loads):
    kernel = Kernel()
    for number in range(2 * MOST_LOADED):
        asked(kernel, number)
    constant_memory._loaded.clear()
    del kernel
    gc.collect()
    assert len(constant_memory._free) == 0


def test_that_the_whole_array_of_a_copy_is_written(monkeypatch):
    from numba.cuda.cudadrv import driver

    array = SimpleNamespace(written=b"")
    module = SimpleNamespace(get_global_symbol=lambda name: (array, 16))
    library = SimpleNamespace(get_cufunc=lambda: SimpleNamespace(module=module))
    copy = SimpleNamespace(overloads={SIGNATURE: SimpleNamespace(library=library)})

    def write(memory: Any, source: np.ndarray, size: int) -> None:
        memory.written = source.tobytes()[:size]

    monkeypatch.setattr(driver, "host_to_device", write)
    monkeypatch.setattr(cuda, "synchronize", lambda: None)
    constant_memory._write(copy, SIGNATURE, "weights", values(3))
    assert array.written == values(3).tobytes()
    with pytest.raises(ValueError, match="weights has 16 bytes in the compiled kernel, not 4"):
        constant_memory._write(copy, SIGNATURE, "weights", np.ones(1, np.float32))
