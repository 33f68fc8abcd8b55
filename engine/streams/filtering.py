"""The call that people use: filter large pictures and batches in chunks, copies beside the kernels."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from engine.api import BlockLike, Image, MaskLike, Request, as_mask
from engine.border import Border
from engine.device.cuda_faults import cuda_errors_in_words
from engine.device.devices import backend, device_named
from engine.device.numba_cuda import cuda
from engine.errors import BadValue, DeviceUnavailable, OutOfDeviceMemory
from engine.image.picture import Picture
from engine.layout import Layout
from engine.streams.chunking import Stream
from engine.streams.timeline import Timeline
from engine.timing.sampling import Checkpoint
from engine.variants.planner import AUTO

DEFAULT_RING = 4
MOST_RING = 16

Outputs = np.ndarray | Iterable[np.ndarray]


@dataclass(frozen=True, slots=True)
class Streamed:
    """Filtered pictures with their timeline.

    Parameters
    ----------
    values : ndarray, or tuple of ndarray
        Each of its picture's shape, float32; a tuple for a batch, empty where somebody received the results.
    timeline : Timeline
        Which chunk was where, when.
    """

    values: np.ndarray | tuple[np.ndarray, ...]
    timeline: Timeline


def filter_stream(
    pictures: Image | Iterable[Image],
    mask: MaskLike,
    *,
    border: str | Border = "zero",
    cval: float = 0.0,
    anchor: tuple[int, int] | None = None,
    variant: str = AUTO,
    block: BlockLike | None = None,
    device: str | None = None,
    flip: bool = False,
    layout: str | Layout = Layout.PITCHED,
    out: Outputs | None = None,
    receive: Callable[[int, np.ndarray], None] | None = None,
    chunk_bytes: int | None = None,
    ring: int = DEFAULT_RING,
    checkpoint: Checkpoint = lambda step: None,
) -> Streamed:
    """Correlate one large picture, or many of any sizes, in chunks: copies in both directions run beside the kernels.

    Pictures may be larger than the device's memory. Results are bit for bit those of `engine.correlate` with the same
    variant. They are not verified; nothing is timed but the stream itself.

    Parameters
    ----------
    pictures : array, Picture, or iterable of such
        An array or a `Picture` is one picture; anything else, a list as well as a generator, is a batch, whose
        pictures are taken one by one as there is room. Copies from memory of `engine.pinned_array` are the fastest.
    mask, border, cval, anchor, variant, block, device, flip, layout
        As for `engine.apply`. `auto` chooses for each picture.
    out : ndarray, or iterable of ndarray, optional
        Where the results go: C-contiguous float32 of the pictures' shapes. None: fresh arrays.
    receive : callable of (int, ndarray), optional
        Called with the number of each picture of a batch and its result, in order, as soon as it is whole; the results
        are then not kept. Called on: the calling thread.
    chunk_bytes : int, optional
        What a chunk copies at most in either direction, about. None: a 32nd of the whole, within 4 and 32 MB.
    ring : int
        Chunks that are on the device at once, 2 to 16.
    checkpoint : callable of Step
        Called before each chunk; may raise `Cancelled`.

    Returns
    -------
    Streamed

    Raises
    ------
    UnsupportedVariant
        Also: a variant whose results depend on where a band begins, for a picture that has to be cut.
    EngineError
        Anything else, in words.

    Examples
    --------
    >>> import engine, numpy
    >>> streamed = engine.filter_stream([numpy.eye(3), numpy.eye(2)], [[1, 2, 3]], device="cpu")
    >>> streamed.values[1]
    array([[2., 1.],
           [3., 2.]], dtype=float32)
    """
    _refuse_values(chunk_bytes, ring)
    is_one = isinstance(pictures, np.ndarray | Picture)
    if not is_one and (isinstance(pictures, str) or not isinstance(pictures, Iterable)):
        raise BadValue(
            "The pictures are none", "a batch is a list or a generator", "Pass arrays or pictures."
        )
    wanted = as_mask(mask, anchor)
    wanted = wanted.flipped() if flip else wanted

    def request(image: Image) -> Request:
        return Request(image, wanted, border, cval, None, variant, block, device, flip=False, layout=layout)

    batch: Iterable[Image] = (pictures,) if is_one else pictures  # type: ignore[assignment]
    if out is not None and not hasattr(out, "__iter__"):
        raise BadValue(
            "The arrays for the results",
            f"what was passed is a {type(out).__name__}",
            "Pass an array, or a list of arrays for a batch.",
        )
    if receive is not None and not callable(receive):
        raise BadValue(
            "receive", f"a {type(receive).__name__} cannot be called", "Pass a function of (number, result)."
        )
    outputs: Iterable[np.ndarray] | None = (out,) if isinstance(out, np.ndarray) else out
    stream = Stream(request, wanted, variant, chunk_bytes, ring, checkpoint, receive)
    timeline = stream.run(batch, outputs)
    return Streamed(stream.values[0] if is_one and receive is None else tuple(stream.values), timeline)


def pinned_array(shape: int | tuple[int, ...], dtype: Any = np.float32) -> np.ndarray:
    """Return an uninitialised array of page-locked memory, which a CUDA device copies to and from the fastest.

    It takes about a millisecond for 2 MB to make, and the system cannot swap it out: make few and use them again.

    Parameters
    ----------
    shape : int or tuple of int
    dtype : data type

    Returns
    -------
    ndarray

    Raises
    ------
    DeviceUnavailable
        There is no CUDA device: ordinary arrays do as well there.
    OutOfDeviceMemory
        The system does not let that much memory be locked.
    """
    try:
        device = device_named("cuda")
    except DeviceUnavailable as error:
        raise DeviceUnavailable("Page-locked memory", error.why, "Use numpy.empty instead.") from error
    try:
        with cuda_errors_in_words("locking memory of the host"):
            backend(device.key).activate()
            array: np.ndarray = cuda.pinned_array(shape, dtype)
            return array
    except OutOfDeviceMemory as error:
        raise OutOfDeviceMemory(
            f"Page-locked memory for an array of shape {shape}",
            "the system does not let that much be locked",
            "Lock less at a time, or use numpy.empty.",
        ) from error


def _refuse_values(chunk_bytes: int | None, ring: int) -> None:
    if not isinstance(ring, int) or not 2 <= ring <= MOST_RING:
        raise BadValue(f"a ring of {ring!r}", "chunks need 2 places to overlap", f"Choose 2 to {MOST_RING}.")
    if chunk_bytes is not None and (not isinstance(chunk_bytes, int) or chunk_bytes < 1):
        raise BadValue(
            f"chunks of {chunk_bytes!r} bytes", "a chunk has at least 1 byte", "Choose some megabytes."
        )
