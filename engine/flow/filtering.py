"""`filter_stream`: filter large pictures and batches in chunks, copies beside the kernels."""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sized
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from msgspec import structs
from numpy.lib.array_utils import byte_bounds

from engine.api.calls import BlockLike, Image, as_array, refuse_out
from engine.api.request import MaskLike, PictureCall, request_of
from engine.device.backend import cuda_errors_in_words
from engine.device.device_arrays import library_of
from engine.device.devices import backend, device_named
from engine.device.host_memory import empty_result
from engine.device_info import ALL_GPUS, AUTO, DeviceInfo
from engine.errors import BadValue, DeviceUnavailable, EngineError, OutOfDeviceMemory
from engine.flow.chunks import Queue, Timeline
from engine.flow.stream import DEFAULT_RING, Stream, StreamPicture
from engine.geometry.block import Layout
from engine.geometry.border import Border
from engine.image.picture import Picture
from engine.results.measurement import AnyResult, Spread, Timing
from engine.results.problem import Checkpoint
from engine.run.measure import environment_of, unrun
from engine.work.problem import MAX_CHANNELS
from engine.work.resolve import Resolved

MOST_RING = 16
_ARRAYS = "The arrays for the results"


def _refuse_settings(receive: object, checkpoint: object, chunk_bytes: Any, ring: Any) -> None:
    received = len if receive is None else receive
    for name, call, of in (("checkpoint", checkpoint, "a step"), ("receive", received, "(number, result)")):
        if not callable(call):
            raise BadValue(name, f"{_in_words(call)} cannot be called", f"Pass a function of {of}.")
    is_ring, is_bytes = (
        isinstance(value, int | np.integer) and not isinstance(value, bool) for value in (ring, chunk_bytes)
    )
    if not is_ring or not 2 <= ring <= MOST_RING:
        why = "it is the number of chunks on the device at once, and 2 of them overlap"
        raise BadValue(f"a ring of {ring!r}", why, f"Choose a whole number from 2 to {MOST_RING}.")
    if chunk_bytes is not None and (not is_bytes or chunk_bytes < 1):
        why = "a chunk has at least 1 byte" if is_bytes else "a number of bytes is a whole number (an int)"
        raise BadValue(f"chunks of {chunk_bytes!r} bytes", why, "Choose some megabytes, such as 16 << 20.")


def _refuse_arrays(pictures: object, out: object) -> None:
    """Refuse what is no picture and no batch, a stack in one array, and outputs of another type or number."""
    _refuse_on_gpu(pictures)
    is_one, is_counted = isinstance(pictures, np.ndarray | Picture), isinstance(pictures, Sized)
    if isinstance(pictures, np.ndarray):
        if pictures.ndim == 4 or (pictures.ndim == 3 and pictures.shape[2] > MAX_CHANNELS):
            why = f"an array is one picture, of shape (H, W), or (H, W, C) with up to {MAX_CHANNELS} channels"
            what = f"an array of shape {pictures.shape}"
            raise BadValue(what, why, "If it is a stack of pictures, pass list(array).")
    elif isinstance(pictures, str | bytes) or not isinstance(pictures, Picture | Iterable):
        what, why = "The pictures", f"what was passed is {_in_words(pictures)}"
        these = "Pass an array, a Picture, or a list or a generator of these"
        raise BadValue(what, why, f"{these}; engine.open_image opens a file.")
    if out is None:
        return
    if isinstance(out, str | bytes) or not isinstance(out, Iterable):
        remedy = "Pass an array, or a list of arrays for a batch."
        raise BadValue(_ARRAYS, f"what was passed is {_in_words(out)}", remedy)
    if isinstance(out, np.ndarray):
        if not is_one:
            what, remedy = "One array for the results of a batch", "Pass a list of arrays; list(out) of it."
            raise BadValue(what, "each picture has a result of its own", remedy)
    elif isinstance(out, Sized) and (is_one or is_counted):
        wanted = 1 if is_one else len(pictures)  # type: ignore[arg-type]
        if wanted and len(out) != wanted:
            pictures_of, arrays_of = ("" if number == 1 else "s" for number in (wanted, len(out)))
            short = f": there is none for picture {len(out) + 1}" if len(out) < wanted else ""
            why = f"{wanted} picture{pictures_of}, but {len(out)} array{arrays_of}{short}"
            raise BadValue(_ARRAYS, why, "Pass one for each picture.")


def _refuse_on_gpu(picture: object) -> None:
    if library_of(picture) is not None:
        what = f"a picture of type {type(picture).__name__} in a GPU's memory"
        why = "a stream copies pictures of the host to the device, and this one is there"
        raise BadValue(what, why, "Call engine.correlate, which filters it where it lies.")


def _refuse_part(image: Image, pictures: object) -> None:
    """Refuse an element of a batch that is not an array, or that is a row or a number of one picture."""
    _refuse_on_gpu(image)
    if image is None or isinstance(image, str | Picture):
        return  # `Request` refuses these
    array = as_array(image)
    axes = array.ndim
    if axes == 0 and array.dtype == object:
        raise BadValue(_in_words(image), "a picture is an array", "Leave out what is none.")
    if axes < 2:
        what = f"{axes} {'axis' if axes == 1 else 'axes'}"
        why = f"what was passed is a {type(pictures).__name__}, so each of its parts is a picture"
        raise BadValue(what, why, "Pass numpy.array of it if it is one picture.")


def _in_words(value: object) -> str:
    """Return the type of a wrong argument, as in "a list"."""
    name = type(value).__name__
    return "None" if value is None else f"a{'n' if name[0] in 'aeio' else ''} {name}"


class Outputs:
    """Gives the caller's array for each result, or a fresh one; refuses memory that is still needed."""

    def __init__(self, arrays: Iterable[np.ndarray] | None) -> None:
        self._arrays: Iterator[np.ndarray] | None = None if arrays is None else iter(arrays)
        # First bytes and ends of those in use, in order: bands are read after others are written.
        self._taken: list[tuple[int, int]] = []

    def take(self, call: PictureCall, number: int) -> np.ndarray:
        """Return the array for the result of a picture, the `number`-th from 1; a `BadValue` says why not."""
        shape, dtype = call.shape, np.dtype(call.problem.result_dtype)
        if self._arrays is None:
            return empty_result(call.samples, shape, dtype)
        array = next(self._arrays, None)
        if array is None:
            raise BadValue(_ARRAYS, f"there is none for picture {number}", "Pass one for each picture.")
        refuse_out(array, call.samples, shape, dtype)
        begin, end = interval = byte_bounds(array)
        at = bisect_left(self._taken, interval)
        beside = self._taken[max(at - 1, 0) : at + 1]
        if any(begin < other_end and other < end for other, other_end in beside):
            why = "it shares memory with the result of another picture"
            raise BadValue("This array out", why, "Pass an array of its own.")
        self._taken.insert(at, interval)
        return array

    def leave(self, array: np.ndarray) -> None:
        """Allow the memory of a result to be used again."""
        if self._arrays is not None:
            del self._taken[bisect_left(self._taken, byte_bounds(array))]


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
    is_one = isinstance(pictures, np.ndarray | Picture)
    _refuse_settings(receive, checkpoint, chunk_bytes, ring)
    _refuse_arrays(pictures, out)
    one = None if device == ALL_GPUS else device
    request = request_of(mask, (border, cval, anchor, variant, block, one, flip, layout, result))
    request = structs.replace(request, device=ALL_GPUS) if device == ALL_GPUS else request
    if not is_one:
        # Errors of the call are reported for the call, not for its first picture.
        PictureCall(np.zeros((1, 1), np.uint8), request)
    outputs, values = Outputs((out,) if isinstance(out, np.ndarray) else out), []

    def all_pictures() -> Iterator[StreamPicture]:
        images: Iterable[Any] = (pictures,) if is_one else pictures  # type: ignore[assignment]
        for number, image in enumerate(images):
            try:
                if not is_one:
                    _refuse_part(image, pictures)
                call = PictureCall(image, request)
                place = outputs.take(call, number + 1)
            except EngineError as error:
                if not is_one:
                    error.what = f"picture {number + 1} of the batch: {error.what}"
                    error.args = (error.what, *error.args[1:])
                raise
            yield StreamPicture(call, place)

    def received(work: StreamPicture) -> None:
        if receive is None:
            values.append(work.out)
        else:
            receive(work.picture, work.out)
            outputs.leave(work.out)

    total = 1 if is_one else len(pictures) if isinstance(pictures, tuple | list) else 0
    stream = Stream(
        chunk_bytes=chunk_bytes, ring=int(ring), checkpoint=checkpoint, in_parts=True, total=total
    )
    timeline = stream.run(all_pictures(), received)
    return Streamed(values[0] if is_one and receive is None else tuple(values), timeline)


def measured_in_chunks(
    call: Resolved, on_values: Callable[[np.ndarray], object], *, verify: bool, is_recorded: bool
) -> tuple[np.ndarray, AnyResult | None, list[DeviceInfo]]:
    """Return a call's values, on request with proof and time; its GPUs. `on_values` is as of `measure`."""

    def streamed() -> tuple[np.ndarray, Timeline]:
        out = empty_result(call.samples, call.samples.shape, call.problem.result_dtype)
        return out, Stream(total=1).run([StreamPicture(call, out)])

    values, first = streamed()
    keys = {chunk.device for chunk in first.chunks}
    used = [gpu for gpu in call.devices if gpu.key in keys]
    if not verify:
        return values, None, used
    # Nothing is compiled or allocated the second time. The kernel's time is that of the busiest GPU.
    _, second = streamed()
    on_values(values)
    kernel_ms = dict.fromkeys((chunk.device for chunk in second.chunks), 0.0)
    for span in second.spans:
        if span.queue is Queue.KERNEL:
            kernel_ms[second.chunks[span.chunk].device] += span.ms
    timing = Timing(
        kernel=Spread((max(kernel_ms.values()),)),
        end_to_end=Spread((second.end_to_end_ms,)),
        compile_ms=max(0.0, first.end_to_end_ms - second.end_to_end_ms),
        allocate_ms=0.0,
        clock=second.clock,
    )
    job = call.job()
    verification = job.task.verify(values, job, lambda fraction: None)
    verification.refuse_wrong(f"The result of '{job.variant.key}'")
    proof, device = unrun(job, call.device, is_recorded=False), ", ".join(gpu.key for gpu in used)
    proof = replace(proof, device=device, verification=verification, work=job.work, timing=timing)
    if is_recorded:
        proof = replace(proof, environment=environment_of(call.device))
    return values, proof, used


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
        what = f"Page-locked memory for an array of shape {shape}"
        why = "the system does not let that much be locked"
        raise OutOfDeviceMemory(what, why, "Lock less at a time, or use numpy.empty.") from error
