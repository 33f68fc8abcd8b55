"""`filter_stream`: filter large pictures and batches in chunks, copies beside the kernels."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from msgspec.structs import replace

from engine.api.arguments import BlockLike, Image
from engine.api.request import Call, MaskLike, request_of
from engine.device.cuda_faults import cuda_errors_in_words
from engine.device.devices import backend, device_named
from engine.device_info import ALL_GPUS, AUTO
from engine.errors import DeviceUnavailable, EngineError, OutOfDeviceMemory
from engine.flow.arguments import (
    Outputs,
    refuse_calls,
    refuse_outputs,
    refuse_part,
    refuse_pictures,
    refuse_values,
)
from engine.flow.stream import DEFAULT_RING, Asked, Stream
from engine.flow.timeline import Timeline
from engine.geometry.border import Border
from engine.geometry.layout import Layout
from engine.image.picture import Picture
from engine.results.progress import Checkpoint


@dataclass(frozen=True, slots=True)
class Streamed:
    """Filtered pictures with their timeline.

    `values` is an array for one picture, a tuple of arrays for a batch (empty with `receive`), each of its
    picture's shape, float32 or of the picture's type as requested.
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
    result: str = "float32",
    out: np.ndarray | Iterable[np.ndarray] | None = None,
    receive: Callable[[int, np.ndarray], None] | None = None,
    chunk_bytes: int | None = None,
    ring: int = DEFAULT_RING,
    checkpoint: Checkpoint = lambda step: None,
) -> Streamed:
    """Correlate a large picture, or many of any sizes, in chunks: copies run beside the kernels.

    Pictures may be larger than the device's memory. Results are bit for bit those of `engine.correlate` with
    the same variant. They are not verified; nothing is timed but the stream itself.
    The device "cuda:all" is every GPU that works: each chunk goes to the one that is free first, and the bits
    are those of one GPU. With the result "same" a quarter or half of the bytes are copied back.

    Parameters
    ----------
    pictures : array, Picture, or iterable of such
        An array or a `Picture` is one picture; anything else, a list as well as a generator, is a batch,
        whose pictures are taken one by one as there is room. Copies from memory of `engine.pinned_array` are
        the fastest. Arrays in a GPU's memory are refused: `engine.correlate` filters them where they lie.
    mask, border, cval, anchor, variant, block, device, flip, layout, result
        As for `engine.apply`. `auto` chooses for each picture.
    out : ndarray, or iterable of ndarray, optional
        Where the results go: an array for one picture, one for each of a batch, each C-contiguous, of its
        picture's shape and of the result's type; of a generator no more are taken than there are pictures.
        None: fresh arrays.
    receive : callable of (int, ndarray), optional
        Called with the index of each picture of a batch and its result, in order, as soon as it is whole; the
        results are then not kept. Where one of several GPUs fails, also with what the others have finished,
        before the error is raised. Called on: the calling thread.
    chunk_bytes : int, optional
        What a chunk copies at most in either direction, about. None: a quarter of what a device has to do,
        within 8 and 32 MB; on the CPU a 32nd, within 4 and 32 MB.
    ring : int
        Chunks that are on a device at once, 2 to 16.
    checkpoint : callable of Progress
        Called before each chunk; may raise `Cancelled`.

    Raises
    ------
    UnsupportedVariant
        Also: a variant whose results depend on where a band begins, for a picture that has to be cut.
    EngineError
        Anything else.

    Examples
    --------
    >>> import engine, numpy
    >>> streamed = engine.filter_stream([numpy.eye(3), numpy.eye(2)], [[1, 2, 3]], device="cpu")
    >>> streamed.values[1]
    array([[2., 1.],
           [3., 2.]], dtype=float32)
    """
    refuse_values(chunk_bytes, ring)
    is_one = isinstance(pictures, np.ndarray | Picture)
    refuse_pictures(pictures)
    refuse_outputs(out, pictures)
    refuse_calls(receive, checkpoint)
    one = None if device == ALL_GPUS else device
    asked = request_of(mask, border, cval, anchor, variant, block, one, flip, layout, result)
    asked = replace(asked, device=ALL_GPUS) if device == ALL_GPUS else asked
    if not is_one:
        # Errors of the call are reported for the call, not for its first picture.
        Call(np.zeros((1, 1), np.uint8), asked)
    outputs, values = Outputs((out,) if isinstance(out, np.ndarray) else out), []

    def all_asked() -> Iterator[Asked]:
        images: Iterable[Any] = (pictures,) if is_one else pictures  # type: ignore[assignment]
        for number, image in enumerate(images):
            try:
                if not is_one:
                    refuse_part(image, pictures)
                call = Call(image, asked)
                place = outputs.take(call, number + 1)
            except EngineError as error:
                if not is_one:
                    error.what = f"picture {number + 1} of the batch: {error.what}"
                    error.args = (error.what, *error.args[1:])
                raise
            yield Asked(number, call, place)

    def received(asked: Asked) -> None:
        if receive is None:
            values.append(asked.out)
        else:
            receive(asked.picture, asked.out)
            outputs.leave(asked.out)

    stream = Stream(
        chunk_bytes=chunk_bytes,
        ring=int(ring),
        checkpoint=checkpoint,
        in_parts=True,
        total=1 if is_one else len(pictures) if isinstance(pictures, tuple | list) else 0,
    )
    timeline = stream.run(all_asked(), received)
    return Streamed(values[0] if is_one and receive is None else tuple(values), timeline)


def pinned_array(shape: int | tuple[int, ...], dtype: object = np.float32) -> np.ndarray:
    """Return an uninitialised array of page-locked memory, which a CUDA device copies fastest.

    It takes about a millisecond for 2 MB to make, and the system cannot swap it out: make few and use them
    again.

    Raises
    ------
    DeviceUnavailable
        There is no CUDA device: use ordinary arrays there.
    OutOfDeviceMemory
        The system does not let that much memory be locked.
    """
    # Numba's CUDA target: the CPU needs none.
    from engine.device.numba_cuda import cuda

    try:
        device = device_named("cuda")
    except DeviceUnavailable as error:
        raise DeviceUnavailable("Page-locked memory", error.why, "Use numpy.empty instead.") from error
    try:
        with cuda_errors_in_words("locking memory of the host"), backend(device.key).selected():
            array: np.ndarray = cuda.pinned_array(shape, dtype)
            return array
    except OutOfDeviceMemory as error:
        raise OutOfDeviceMemory(
            f"Page-locked memory for an array of shape {shape}",
            "the system does not let that much be locked",
            "Lock less at a time, or use numpy.empty.",
        ) from error
