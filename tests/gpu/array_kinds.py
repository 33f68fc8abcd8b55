"""Kinds of arrays in a GPU's memory that tests filter: of each installed library, and bare protocols."""

import importlib
import os
import warnings
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np
import pytest
from numba import uint32

from engine.device.array_libraries import given
from engine.device.cuda_memory import check, context_of
from engine.device.device_arrays import library_of
from engine.device.numba_cuda import cuda, driver

# JAX would take three quarters of the GPU's memory.
os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")


def library(name: str) -> Any:
    """Return an installed library, whatever it warns of while it is imported; None for another one."""
    if find_spec(name) is None:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return importlib.import_module(name)


cupy, torch = library("cupy"), library("torch")
jax = library("jax") if find_spec("jax_cuda13_plugin") or find_spec("jax_cuda12_plugin") else None


class BareInterface:
    """An array with nothing but `__cuda_array_interface__`."""

    def __init__(self, host, *, is_read_only=False, array=None):
        self.held = cuda.to_device(np.ascontiguousarray(host)) if array is None else array
        self.is_read_only = is_read_only

    @property
    def __cuda_array_interface__(self):
        shown = self.held.__cuda_array_interface__
        return shown | {"data": (shown["data"][0], self.is_read_only)}


class BareDLPack:
    """An array with nothing but DLPack, lent by CuPy or torch."""

    def __init__(self, host):
        self.held = cupy.asarray(host) if cupy else torch.from_numpy(host).cuda()

    def __dlpack__(self, **how):
        return self.held.__dlpack__(**how)

    def __dlpack_device__(self):
        return self.held.__dlpack_device__()


class Kind(NamedTuple):
    """How arrays of a kind are made, and of which type results are."""

    key: str
    make: Callable[[np.ndarray], Any]
    result: Any

    def __repr__(self) -> str:
        return self.key


NUMBA = cuda.cudadrv.devicearray.DeviceNDArray


def on_torch(host):
    """Return a tensor on the GPU."""
    return torch.from_numpy(np.array(host)).cuda()


def on_jax(host):
    """Return JAX's array on the GPU."""
    return jax.device_put(host, jax.devices("gpu")[0])


KINDS = [
    *([Kind("cupy", lambda host: cupy.asarray(host), cupy.ndarray)] if cupy else []),
    *([Kind("torch", on_torch, torch.Tensor)] if torch else []),
    Kind("numba", lambda host: cuda.to_device(np.ascontiguousarray(host)), NUMBA),
    Kind("interface", BareInterface, NUMBA),
    *([Kind("dlpack", BareDLPack, NUMBA)] if cupy or torch else []),
    *([Kind("jax", on_jax, NUMBA)] if jax else []),
]
"""Those that can be made here."""
STREAMED = [kind for kind in KINDS if kind.key in ("cupy", "torch")]
"""Those of libraries with a current stream."""


def every_library(test: Callable[..., None]) -> Any:
    """Parametrise a test by those of libraries with a current stream; without one there is no such test.

    Outermost of its decorators.
    """
    return pytest.mark.parametrize("kind", STREAMED, ids=repr)(test) if STREAMED else None


def host(array: Any) -> np.ndarray:
    """Return an array's values on the host, when the whole device is idle."""
    if isinstance(array, np.ndarray):
        return array
    with context_of(0).selected():
        check(driver.cuCtxSynchronize())
    if torch and isinstance(array, torch.Tensor):
        return array.cpu().numpy()
    return array.get() if hasattr(array, "get") else array.copy_to_host()


def address(array: Any) -> int:
    """Return where an array begins."""
    return given(library_of(array), array).found.address


def same_bits(found: Any, wanted: np.ndarray) -> None:
    """Check type, shape and every bit; the message names the first cell that differs."""
    found = host(found)
    assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
    differs = np.ascontiguousarray(found).view(np.uint8) != np.ascontiguousarray(wanted).view(np.uint8)
    if differs.any():
        cells = np.argwhere(found != wanted)
        at = tuple(cells[0]) if len(cells) else "a sign or a NaN"
        pair = (found[at], wanted[at]) if len(cells) else ""
        raise AssertionError(f"{len(cells)} of {found.size} cells differ, the first at {at}: {pair}")


@cuda.jit
def _rest(milliseconds):
    for _ in range(milliseconds):
        cuda.nanosleep(uint32(1_000_000))


def rest(stream: int, milliseconds: int = 200) -> None:
    """Enqueue a kernel that does nothing for about so long, on the stream of that handle."""
    _rest[1, 1, cuda.external_stream(stream) if stream else 0](milliseconds)


def write_late(target: Any, source: Any, stream: int) -> None:
    """Enqueue a long rest and then a copy of one array to another one."""
    rest(stream)
    size = int(np.prod(source.shape)) * np.dtype(str(source.dtype).rpartition(".")[2]).itemsize
    check(driver.cuMemcpyDtoDAsync(address(target), address(source), size, stream))


def is_at_work(stream: int) -> bool:
    """Return whether a stream has work that is not done."""
    (status,) = driver.cuStreamQuery(stream)
    if status == driver.CUresult.CUDA_ERROR_NOT_READY:
        return True
    check((status,))
    return False
