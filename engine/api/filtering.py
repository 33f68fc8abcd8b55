"""The Python calls: filter an array or a picture, and list what can run here."""

from typing import Any, Unpack, overload

import numpy as np

from engine.api.calls import BlockLike, FilterOptions, GpuArray, Image, OnGpu
from engine.api.plan import filtered
from engine.api.request import MaskLike
from engine.device.devices import devices as known_devices
from engine.device_info import AUTO, DeviceInfo
from engine.geometry.block import Layout
from engine.geometry.border import Border
from engine.work.filtering.variants import VARIANTS, Variant


@overload
def correlate(image: GpuArray, mask: MaskLike, **options: Unpack[FilterOptions]) -> GpuArray: ...
@overload
def correlate(image: Image, mask: MaskLike, **options: Unpack[FilterOptions]) -> np.ndarray: ...
def correlate(
    image: Image | OnGpu,
    mask: MaskLike,
    *,
    border: str | Border = "zero",
    cval: float = 0.0,
    anchor: tuple[int, int] | None = None,
    variant: str = AUTO,
    block: BlockLike | None = None,
    device: str | None = None,
    layout: str | Layout = Layout.PITCHED,
    result: str = "float32",
    out: object = None,
    stream: object = None,
) -> Any:
    """Correlate a picture with a mask (the mask is not flipped).

    Parameters
    ----------
    image : array of shape (H, W) or (H, W, C), or Picture
        1 to 4 channels. uint8, uint16 and float32 are filtered as they are; other real types become float32,
        with a warning where whole numbers beyond 2^24 are rounded. Any byte order and layout; whatever NumPy
        or DLPack reads in the host's memory is an array. The alpha of a `Picture` is not filtered. An array
        in a GPU's memory (of CuPy, torch, Numba, or with `__cuda_array_interface__` or DLPack) is filtered
        where it lies.
    mask : Mask, array of shape (rows, columns), or str
        A text is a preset's name, a file, or weights such as "1 0 -1; 2 0 -2; 1 0 -1".
    border : {"zero", "constant", "replicate", "reflect", "mirror", "wrap"}
    cval : float
        Value of the cells outside for "constant", and only for that.
    anchor : (int, int), optional
        (row, column) of the mask cell that lies on the pixel; None: the mask's own, by default
        (rows // 2, columns // 2).
    variant : str
        A key of `list_variants()`, or "auto". One that takes finite samples alone (`low-rank-2`, `fft`) waits
        for float32 in a GPU's memory, which are looked at on the host.
    block : (int, int), Block or str, optional
        (x, y): columns and rows of threads. None: the variant's default.
    device : str, optional
        "cpu", "cuda:0", ..., "simulator"; None or "auto": for a picture in the host's memory the CPU or the
        first GPU, whichever has the result there sooner, copies included.
    layout : {"pitched", "packed"}
        Layout of the rows on a CUDA device: each begins on a 128-byte boundary, or where the one before ends.
        The result is the same. Rows on the CPU are always packed.
    result : {"float32", "same"}
        Sample type of the result. "same": that of the picture; in 8 and 16 bit results are then saturated and
        rounded half to even; NaN becomes 0, infinity an end of the range. Not every variant writes these.
    out : array of the picture's shape and of the result's type, optional
        Where the result goes: C-contiguous, writeable, apart from the picture, where the picture is. None: a
        new array.
    stream : stream of CuPy, torch or Numba, or its handle, optional
        For an array in a GPU's memory, which is ready there. None: its library's current stream.

    Returns
    -------
    array of the picture's shape and kind, float32 or of the picture's type
        In a GPU's memory it is there when its stream is: nothing waits for it.

    Raises
    ------
    EngineError
        Says what, why and what helps; nothing is ever computed another way instead.

    Examples
    --------
    >>> import engine, numpy
    >>> engine.correlate(numpy.eye(3), [[1, 2, 3]], device="cpu")
    array([[2., 1., 0.],
           [3., 2., 1.],
           [0., 3., 2.]], dtype=float32)
    """
    return filtered(
        image, mask, (border, cval, anchor, variant, block, device, False, layout, result), out, stream
    )


@overload
def convolve(image: GpuArray, mask: MaskLike, **options: Unpack[FilterOptions]) -> GpuArray: ...
@overload
def convolve(image: Image, mask: MaskLike, **options: Unpack[FilterOptions]) -> np.ndarray: ...
def convolve(
    image: Image | OnGpu,
    mask: MaskLike,
    *,
    border: str | Border = "zero",
    cval: float = 0.0,
    anchor: tuple[int, int] | None = None,
    variant: str = AUTO,
    block: BlockLike | None = None,
    device: str | None = None,
    layout: str | Layout = Layout.PITCHED,
    result: str = "float32",
    out: object = None,
    stream: object = None,
) -> Any:
    """Convolve a picture with a mask: `correlate` with the mask, and its anchor, rotated by 180 degrees.

    Parameters, result and errors as for `correlate`.
    """
    return filtered(
        image, mask, (border, cval, anchor, variant, block, device, True, layout, result), out, stream
    )


def list_devices() -> tuple[DeviceInfo, ...]:
    """Return every device, usable or not, with the reason why not."""
    return known_devices()


def list_variants() -> tuple[Variant, ...]:
    """Return every variant, in teaching order."""
    return tuple(VARIANTS)
