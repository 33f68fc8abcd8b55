"""NPP through ctypes: `nppiFilter` (32f; 8u with whole weights), `nppiFilter32f` (8u), `nppiFilterBorder`.

What its header says (nppi_filtering_functions.h, "Common parameters for nppiFilter functions"), and what is
easily done wrong:

- it is a convolution: coefficients "are expected to be stored in reverse order". With positive weights the
  unturned mask gives plausible results all the same;
- mask and picture lie in device memory; the anchor is (x, y); steps are bytes;
- `nppiFilter` reads outside the rectangle that it filters, so the picture needs ghost cells;
- `nppiFilterBorder` knows a replicated border only, and is compared with that;
- since CUDA 13 there are only functions with `_Ctx`, whose context the caller fills.
"""

import ctypes
import glob
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from cuda.bindings import driver

from bench.peers.cells import Cell
from bench.peers.device_clock import DeviceClock, check, fact, refuse_without_device, use_device
from bench.peers.library import About, Job, Ready, Refused

ALIGNMENT = 512


@dataclass
class DevicePicture:
    """Rows on the device, with room for ghost cells (zeros) around them."""

    shape: tuple[int, int, int]  # (rows, columns, channels)
    dtype: np.dtype[Any]
    # Ghost cells above, below, left and right; the picture's first sample stays on a 128-byte boundary
    margin: int = 0
    fill: int = 0  # The byte that everything holds at first: 255 makes NaN
    step: int = field(init=False)
    address: int = field(init=False)

    def __post_init__(self) -> None:
        rows, columns, channels = self.shape
        pixel = channels * self.dtype.itemsize
        left = -(-self.margin * pixel // 128) * 128
        self.step = -(-(left + (columns + self.margin) * pixel) // ALIGNMENT) * ALIGNMENT
        size = self.step * (rows + 2 * self.margin)
        self._begin = check(driver.cuMemAlloc(size))
        check(driver.cuMemsetD8(self._begin, self.fill, size))
        self.address = int(self._begin) + self.margin * self.step + left

    def close(self) -> None:
        """Give the memory back."""
        check(driver.cuMemFree(self._begin))

    def put(self, picture: np.ndarray) -> None:
        """Copy a picture to the device and wait."""
        self._copy(np.ascontiguousarray(picture), "src", "dst")

    def get(self) -> np.ndarray:
        """Return a copy of the rows."""
        check(driver.cuCtxSynchronize())
        dense = np.empty(self.shape, self.dtype)
        self._copy(dense, "dst", "src")
        return dense

    def _copy(self, dense: np.ndarray, host: str, device: str) -> None:
        """Copy rows: `host` and `device` are "src" and "dst", or the other way round."""
        row_bytes = self.shape[1] * self.shape[2] * self.dtype.itemsize
        kinds, copy = driver.CUmemorytype, driver.CUDA_MEMCPY2D()
        copy.WidthInBytes, copy.Height = row_bytes, self.shape[0]
        fields = {
            f"{host}MemoryType": kinds.CU_MEMORYTYPE_HOST, f"{host}Host": dense.ctypes.data,
            f"{host}Pitch": row_bytes, f"{device}MemoryType": kinds.CU_MEMORYTYPE_DEVICE,
            f"{device}Device": driver.CUdeviceptr(self.address), f"{device}Pitch": self.step,
        }  # fmt: skip
        for name, value in fields.items():
            setattr(copy, name, value)
        check(driver.cuMemcpy2D(copy))


BORDER_REPLICATE = 2
FAMILIES = {"filter": "nppiFilter_", "filter32f": "nppiFilter32f_", "border": "nppiFilterBorder_"}


class Size(ctypes.Structure):
    _fields_ = (("width", ctypes.c_int), ("height", ctypes.c_int))


class Point(ctypes.Structure):
    _fields_ = (("x", ctypes.c_int), ("y", ctypes.c_int))


class Context(ctypes.Structure):
    """NppStreamContext of nppdefs.h."""

    _fields_ = (
        ("stream", ctypes.c_void_p),
        ("device", ctypes.c_int),
        ("multiprocessors", ctypes.c_int),
        ("threads_a_multiprocessor", ctypes.c_int),
        ("threads_per_block", ctypes.c_int),
        ("shared_per_block", ctypes.c_size_t),
        ("major", ctypes.c_int),
        ("minor", ctypes.c_int),
        ("stream_flags", ctypes.c_uint),
        ("reserved", ctypes.c_int),
    )


class Version(ctypes.Structure):
    _fields_ = (("major", ctypes.c_int), ("minor", ctypes.c_int), ("build", ctypes.c_int))


class NPP:
    def __init__(self, threads: int, methods: tuple[str, ...]) -> None:
        refuse_without_device()
        core, self._filters = _loaded()
        core.nppGetLibVersion.restype = ctypes.POINTER(Version)
        found = core.nppGetLibVersion().contents
        self._version = f"{found.major}.{found.minor}.{found.build}"
        self._stream = check(driver.cuStreamCreate(int(driver.CUstream_flags.CU_STREAM_NON_BLOCKING)))
        self._context = _context(int(self._stream))

    def about(self) -> About:
        return About({"npp": self._version})

    def methods(self, cell: Cell) -> tuple[str, ...]:
        if cell.dtype == "float32":
            return ("filter", "border")
        return ("filter", "filter32f", "border") if cell.kind == "integer" else ("filter32f",)

    def prepare(self, job: Job, method: str) -> Ready:
        function = self._function(method, job.cell)
        weights = job.mask.weights32
        divisor = None
        if job.cell.dtype == "uint8" and method != "filter32f":
            weights, divisor = job.mask.whole, job.mask.divisor
        # All its functions convolve.
        turned = weights[::-1, ::-1]
        made = _Filter(function, job, turned, divisor, self._context, method == "border")
        return Ready(
            made,
            lambda: DeviceClock(made.run, job.copies, int(self._stream)),
            border="replicate" if method == "border" else "zero",
            note=f"{function.__name__}, which convolves: the mask is turned by 180 degrees",
        )

    def _function(self, method: str, cell: Cell) -> Any:
        samples = "32f" if cell.dtype == "float32" else "8u"
        name = f"{FAMILIES[method]}{samples}_C{cell.channels}R_Ctx"
        try:
            return getattr(self._filters, name)
        except AttributeError:
            raise Refused(f"NPP {self._version} has no {name}") from None


class _Filter:
    def __init__(
        self,
        function: Callable[..., int],
        job: Job,
        weights: np.ndarray,
        divisor: int | None,
        context: Context,
        has_border: bool,
    ) -> None:
        use_device()
        self._operands: list[DevicePicture] = []
        batch, rows, columns, channels = job.pictures.shape
        side, dtype = job.cell.mask_side, job.pictures.dtype
        margin = 0 if has_border else side // 2
        shape = (rows, columns, channels)
        self._out = [[DevicePicture(shape, dtype, fill=255) for _ in range(batch)] for _ in range(job.copies)]
        self._in = [[DevicePicture(shape, dtype, margin) for _ in range(batch)] for _ in range(job.copies)]
        for copy in self._in:
            for buffer, picture in zip(copy, job.pictures, strict=True):
                buffer.put(picture)
        self._mask = DevicePicture((1, weights.size, 1), weights.dtype)
        self._mask.put(weights.reshape(1, -1, 1))
        self._operands = [buffer for copy in (*self._in, *self._out) for buffer in copy] + [self._mask]
        self._function = function
        whole, anchor = Size(columns, rows), Point(side // 2, side // 2)
        self._after_in: tuple[Any, ...] = (whole, Point(0, 0)) if has_border else ()
        last: tuple[Any, ...] = (whole, ctypes.c_void_p(self._mask.address), Size(side, side), anchor)
        if divisor is not None:
            last += (ctypes.c_int(divisor),)
        if has_border:
            last += (ctypes.c_int(BORDER_REPLICATE),)
        self._last = (*last, context)

    def run(self, copy: int) -> None:
        for picture, result in zip(self._in[copy], self._out[copy], strict=True):
            status = self._function(
                ctypes.c_void_p(picture.address),
                ctypes.c_int(picture.step),
                *self._after_in,
                ctypes.c_void_p(result.address),
                ctypes.c_int(result.step),
                *self._last,
            )
            if status != 0:
                raise Refused(f"NPP answered {status}")

    def results(self) -> np.ndarray:
        return np.stack([result.get() for result in self._out[0]])

    def __del__(self) -> None:
        for buffer in self._operands:
            buffer.close()


def _context(stream: int) -> Context:
    device = use_device()
    names = "MULTIPROCESSOR_COUNT MAX_THREADS_PER_MULTIPROCESSOR MAX_THREADS_PER_BLOCK "
    names += "MAX_SHARED_MEMORY_PER_BLOCK COMPUTE_CAPABILITY_MAJOR COMPUTE_CAPABILITY_MINOR"
    facts = [fact(name, device) for name in names.split()]
    return Context(stream, device, *facts, int(driver.CUstream_flags.CU_STREAM_NON_BLOCKING), 0)


def _loaded() -> tuple[Any, Any]:
    """Return libnppc and libnppif, wherever they are."""
    folders = ["", "/usr/local/cuda/lib64/", "/usr/local/cuda/targets/x86_64-linux/lib/"]
    for entry in sys.path:
        folders += [f"{found}/" for found in glob.glob(str(Path(entry) / "nvidia" / "*" / "lib"))]
    for folder in folders:
        for ending in (".so.13", ".so.12", ".so"):
            try:
                core = ctypes.CDLL(f"{folder}libnppc{ending}", mode=ctypes.RTLD_GLOBAL)
                return core, ctypes.CDLL(f"{folder}libnppif{ending}")
            except OSError:
                continue
    raise Refused("not installed (libnppif)")


def npp_filter_border(channels: int) -> tuple[Any, Context]:
    """Return `nppiFilterBorder` for float32 and a context of the default stream."""
    _, filters = _loaded()
    return getattr(filters, f"nppiFilterBorder_32f_C{channels}R_Ctx"), _context(0)


open_library = NPP
