"""`Plan`: a filter prepared once for pictures of one shape and type, and called as often as wanted."""

import math
import operator
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Self

import numpy as np

from engine.api import calls
from engine.api.call_device import faster_device
from engine.api.calls import BlockLike, Image, Options, as_array, as_block, device_calls
from engine.api.request import MaskLike, as_mask, check_named, request_of
from engine.device.device_arrays import Found, Given, library_of
from engine.device.devices import backend
from engine.device.host_memory import reused_result
from engine.device.launches import Prepared
from engine.device_info import AUTO, DeviceInfo
from engine.errors import BadValue, Reason
from engine.geometry.block import Block, Layout
from engine.geometry.border import Border
from engine.mask.mask import Mask
from engine.process import most_launch_cores
from engine.results.text_forms import html_table, sides_text
from engine.work.filter_task import refuse_non_finite
from engine.work.problem import as_samples, other_shape, sample_type
from engine.work.resolve import Resolved
from engine.work.steps import PictureRequest

MOST_PLANS = 64
# Bytes, type and shape of the weights, anchor and offset.
MaskKey = tuple[bytes, np.dtype, tuple[int, ...], tuple[int, int] | None, float]
OnHost = Callable[[np.ndarray, np.ndarray], None]
OnDevice = Callable[[Given, object], object]


class Plan:
    """A filter prepared for pictures of one shape and type, as `engine.plan` returns it.

    Everything that depends on shape, types, mask, border and options alone was done when it was made. A call
    checks its arrays and filters. Any number of threads may call one plan at the same time. As a context
    (`with engine.plan(...) as sharpen:`) it frees its memory at the end. Copied, or pickled for another
    process, it is made anew there, by the same arguments.
    """

    def __init__(self, request: PictureRequest, shape: tuple[int, ...], own_dtype: np.dtype) -> None:
        self.shape, self._own_dtype = shape, own_dtype
        self.dtype = dtype = sample_type(shape, own_dtype)
        # Of one sample, repeated: a plan reads no picture.
        like = np.broadcast_to(np.zeros((), dtype), shape if len(shape) == 3 else (*shape, 1))
        resolved = Resolved(request, like, np.broadcast_to(np.zeros((), own_dtype), shape))
        resolved.device, self._device_reason = faster_device(resolved)
        check_named(resolved)
        variant, job = resolved.choice.variant, resolved.job()
        job.refuse_problem(resolved.device)
        self._resolved, self._variant = resolved, variant
        self.result_dtype = np.dtype(resolved.problem.result_dtype)
        self._reads_samples = variant.finite_only and dtype.kind == "f"
        self._is_closed = False
        self._on_host: OnHost | None = None
        self._on_device: OnDevice | None = None
        self._prepared: Prepared | None = None
        with backend(resolved.device.key).selected():
            self._prepared = job.prepare()

    def __reduce__(self) -> tuple[object, ...]:
        if self._is_closed:
            raise _freed()
        return type(self), (self._resolved.request, self.shape, self._own_dtype)

    def _host_call(self) -> OnHost:
        """Return what filters arrays of the host, for the first call with some."""
        prepared = self._prepared
        if prepared is None:
            raise _freed()
        machine, layout = backend(self.device.key), self._resolved.request.layout
        self._on_host = call = machine.caller(prepared, self._resolved.samples, self.result_dtype, layout)
        return call

    @property
    def variant(self) -> str:
        """Key of the variant that runs."""
        return str(self._variant.key)

    @property
    def block(self) -> Block:
        """Its block."""
        return self._resolved.choice.block

    @property
    def device(self) -> DeviceInfo:
        """Where it runs."""
        return self._resolved.device

    @property
    def reason(self) -> Reason | None:
        """Why `auto` chose the device, by whole calls, and the variant; None where both were named."""
        of_device, of_variant = self._device_reason, self._resolved.choice.reason
        if of_device is None or of_variant is None:
            return of_variant
        return of_device.and_also(f"{self.variant}: {of_variant.clauses}")

    def __repr__(self) -> str:
        return f"Plan({self.variant} on {self.device.key}, {self.dtype} {self.shape} to {self.result_dtype})"

    def _repr_html_(self) -> str:
        sides, reason = sides_text(self.shape), self.reason
        known = {
            "Variant": self.variant,
            "Block": str(self.block) if self._variant.uses_block else "",
            "Device": self.device.title,
            "Pictures": f"{self.dtype}, {sides}",
            "Results": f"{self.result_dtype}, {sides}",
            "Verification": "none: engine.apply verifies and times",
            "Reason": "" if reason is None else reason.clauses,
        }
        return html_table((name, text) for name, text in known.items() if text)

    def __call__(self, image: Image, out: Any = None, *, stream: object = None) -> Any:
        """Filter a picture of the plan's shape and type.

        Parameters
        ----------
        image : array or Picture
            Also one in the memory of the plan's GPU; its result stays there, and nothing waits for it.
        out : array of the plan's shape and result type, optional
            Where the result goes: C-contiguous, writeable, in the same memory, apart from the picture. None:
            a new array of the picture's kind.
        stream : stream of CuPy, torch or Numba, or its handle, optional
            For a picture in a GPU's memory, which is ready there. None: its library's current stream.

        Raises
        ------
        BadValue
            The picture is of another shape or type, or `out` is no such array.
        """
        if self._is_closed:
            raise _freed()
        shape = self.shape
        if type(image) is not np.ndarray or image.dtype != self.dtype or not image.flags.c_contiguous:
            library = library_of(image)
            if library is not None:
                picture = device_calls().given(library, image, stream)
                return self.device_calls_for(picture)(picture, out)
            image = self._as_samples(image)
        elif not image.flags.aligned:
            image = self._as_samples(image)
        if stream is not None:
            raise BadValue("A stream", "the picture is in the host's memory", "Leave the stream out.")
        if image.shape != shape:
            raise other_shape("a picture", image.shape, shape)
        if self._reads_samples:
            refuse_non_finite(self._variant, image.reshape(self._resolved.samples.shape))
        if out is None:
            out = reused_result(image, shape, self.result_dtype)
        else:
            calls.refuse_out(out, image, shape, self.result_dtype)
        launch = self._on_host or self._host_call()
        if len(shape) == 2:
            launch(image.reshape(*shape, 1), out.reshape(*shape, 1))
        else:
            launch(image, out)
        return out

    def device_calls_for(self, picture: Given) -> OnDevice:
        """Return what filters pictures in the memory of the plan's GPU, made by the first call with one."""
        made, prepared = self._on_device, self._prepared
        if made is None:
            if self._is_closed:
                raise _freed()
            made = device_calls().DeviceCalls(self._resolved, prepared, self.shape, picture)
            self._on_device = made
        return made

    def _as_samples(self, image: object) -> np.ndarray:
        array = as_array(image)
        samples = as_samples(array)
        if samples.dtype != self.dtype:
            remedy = "Make a plan for this type, or convert the picture."
            raise BadValue(f"a picture of {array.dtype}", f"the plan was made for {self.dtype}", remedy)
        return samples.reshape(array.shape)

    def close(self) -> None:
        """Free what the plan holds; it cannot be called any more.

        What launches on a GPU may still use is freed with the next plan for an array there.
        """
        self._is_closed = True
        self._on_host = self._on_device = self._prepared = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _freed() -> BadValue:
    return BadValue("This plan", "its memory was freed", "Make another one with engine.plan.")


def plan(
    image: Image,
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
) -> Plan:
    """Prepare a filter for pictures of one shape and type, to call it in a loop.

    `engine.correlate` keeps the last plans by itself, so that a plan saves a loop some microseconds per call.
    It also says which variant and device run, and holds its memory for as long as you want.

    Parameters
    ----------
    image : array or Picture
        A picture of the shape and type to prepare for; its samples are not read. With one in a GPU's memory
        all is made ready there: calls may be captured in a graph of CuPy or torch, as long as the plan lives.
    mask, border, cval, anchor, variant, block, device, layout, result
        As for `engine.correlate`.
    flip : bool
        Convolution instead of correlation.

    Raises
    ------
    EngineError
        As `engine.correlate` raises.

    Examples
    --------
    >>> import engine, numpy
    >>> picture = numpy.eye(3)
    >>> with engine.plan(picture, [[1, 2, 3]], device="cpu") as filtered:
    ...     filtered(picture)
    array([[2., 1., 0.],
           [3., 2., 1.],
           [0., 3., 2.]], dtype=float32)
    """
    options = (border, cval, anchor, variant, block, device, flip, layout, result)
    library = library_of(image)
    if library is None:
        array = _as_picture(image)
        return Plan(request_of(mask, options), array.shape, array.dtype)
    picture = device_calls().given(library, image)
    options = device_calls().options_on(picture, options)
    made = Plan(request_of(mask, options), picture.found.shape, picture.found.dtype)
    # Its first call may be captured.
    made.device_calls_for(picture)
    return made


def filtered(image: object, mask: MaskLike, options: Options, out: object, stream: object) -> Any:
    """Return a filtered picture, by one of the last MOST_PLANS plans where there was such a call before."""
    library = None if type(image) is np.ndarray else library_of(image)
    if library is not None:
        picture = device_calls().given(library, image, stream)
        options = device_calls().options_on(picture, options)
        return _plan_for(picture.found, mask, options).device_calls_for(picture)(picture, out)
    array = _as_picture(image)
    return _plan_for(array, mask, options)(array, out, stream=stream)


def _as_picture(image: object) -> np.ndarray:
    """Return a picture as an array; a `BadValue` says of a text or a single value that it is none."""
    array = as_array(image)
    if array.ndim not in (2, 3):
        as_samples(array)
    return array


def _plan_for(image: np.ndarray | Found, mask: MaskLike, options: Options) -> Plan:
    key = _as_key(options)
    if key is None:
        return Plan(request_of(mask, options), image.shape, image.dtype)
    sign = math.copysign(1.0, key[1])
    return _kept_plan(image.shape, image.dtype, _key_of(mask), key, sign, most_launch_cores())


def _key_of(mask: MaskLike) -> MaskKey:
    """Return a mask as something that is equal for equal masks, and that it can be made from."""
    if not isinstance(mask, Mask):
        try:
            weights = np.array(mask) if isinstance(mask, list | tuple) else mask
        except (ValueError, TypeError, RuntimeError):
            weights = mask
        # Twice as fast as a Mask is made.
        if type(weights) is np.ndarray and weights.ndim == 2 and weights.dtype.kind in "biuf":
            return weights.tobytes(), weights.dtype, weights.shape, None, 0.0
        # A text may name a file, whose contents change: it is read each time.
        mask = as_mask(mask, None)
    return mask.weights.tobytes(), mask.weights.dtype, mask.shape, mask.anchor, mask.offset


def _as_key(options: Options) -> Options | None:
    """Return options of which equal ones mean the same: (1, 1.0) is no anchor. None: one has no such form."""
    border, cval, anchor, variant, block, *rest = options
    try:
        if anchor is not None:
            anchor = tuple(map(operator.index, anchor))
        key = border, calls.as_number(cval), anchor, variant, as_block(block), *rest
        hash(key)
    except TypeError:
        return None
    return key


# Zeros of either sign are equal: `sign` is that of cval. A plan keeps the cores that it was made for.
@lru_cache(maxsize=MOST_PLANS)
def _kept_plan(
    shape: tuple[int, ...],
    dtype: np.dtype,
    mask_key: MaskKey,
    options: Options,
    sign: float,
    most_cores: int | None,
) -> Plan:
    sample_type(shape, dtype)
    contents, kind, sides, anchor, offset = mask_key
    mask = Mask(np.frombuffer(contents, kind).reshape(sides), anchor, offset)
    return Plan(request_of(mask, options), shape, dtype)
