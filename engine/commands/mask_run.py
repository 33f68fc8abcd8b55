"""A picture that is filtered with a mask."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, cast

import numpy as np

from engine.api.filtering import Request
from engine.commands.output import mask_document, printable
from engine.commands.picture_filter import MaskFilter, Opened, PictureFilter
from engine.commands.picture_run import PictureRun, Result, ResultArray
from engine.commands.picture_settings import AUTO_TYPE, taking_value
from engine.device.cuda_presence import has_driver
from engine.device.devices import device_named
from engine.device_info import AUTO
from engine.image.form import Form
from engine.image.picture import Picture
from engine.image.result_picture import finished_picture, lost_values, result_as_it_is
from engine.mask.mask import names_size
from engine.tasks.filtering.auto.planner import why_not_gpu
from engine.tasks.filtering.resolve import describe_problem
from engine.tasks.filtering.variants import Variant, variant


class MaskRun(PictureRun):
    """A picture with the request to filter it, which `request_for` makes where none is given."""

    format = "haloscope-filter"
    how: MaskFilter
    call: Request

    def __init__(self, how: MaskFilter, opened: Opened, call: Request | None = None) -> None:
        super().__init__(how, opened)
        self.call = request_for(how, opened.picture, opened.dtype) if call is None else call

    @staticmethod
    def named_variant(how: PictureFilter) -> Variant:
        """Return the filter that the settings name."""
        return variant(how.settings.variant)

    @staticmethod
    def why_not_gpu(how: PictureFilter, form: Form, pictures: int) -> str | None:
        """Return why the CPU filters so many pictures of a form; None where a GPU may be faster."""
        asked, mask = how.settings, cast(MaskFilter, how).mask
        # The shape alone: it takes no memory.
        samples = np.broadcast_to(np.zeros((), form.dtype), (form.height, form.width, form.channels))
        result = "float32" if asked.result_type == "float32" else form.dtype.name
        problem = describe_problem(samples, mask, asked.border, asked.cval, result)
        return why_not_gpu(problem, mask, device_named("cpu"), pictures) or None

    @classmethod
    def check(cls, how: PictureFilter, probe: Picture) -> list[str]:
        """Refuse what is wrong with every picture; return a sentence for each option that changes nothing.

        Which pictures can have results of their own type is known when they are opened.
        """
        floats = cast(MaskFilter, how).asking(replace(how.settings, result_type="float32"))
        run = cls(floats, Opened(probe, np.dtype(np.float32)))
        run.refuse()
        return run.unused()

    @property
    def what(self) -> str:
        """The mask, how it is applied, and the border."""
        mask = self.how.mask
        name = printable(mask.name) or "a mask"
        size = "" if names_size(name, mask.rows, mask.columns) else f"{mask.rows} × {mask.columns}"
        flipped = "rotated by 180 degrees" if self.how.settings.flip else ""
        about = ", ".join(filter(None, (size, flipped)))
        return (
            f"{self.how.name} with {name}{f' ({about})' if about else ''}, border {self.call.problem.border},"
        )

    @property
    def facts(self) -> dict[str, object]:
        """The mask, before it is flipped, and the border."""
        mask = self.how.mask
        return {
            "operation": self.how.name,
            "mask": {"name": mask.name} | mask_document(mask),
            "border": str(self.call.problem.border),
        }

    def document(self) -> dict[str, object]:
        """Return what ran, and the type of its results."""
        return super().document() | {"result_dtype": self.call.problem.result_dtype}

    def compute(self, array: ResultArray) -> np.ndarray:
        """Return the result, of the shape of the samples."""
        samples = self.call.samples
        values = self.call.filter(array(samples, self.call.problem.result_dtype))
        return values.reshape(samples.shape)

    def finished(self, values: np.ndarray) -> Result:
        """Return the picture to save, and a note for each kind of value that it cannot hold."""
        values, (picture, dtype) = values.reshape(self.call.shape), self.opened
        with_alpha = self.how.settings.alpha == "filter"
        if values.dtype == dtype and values.dtype != np.float32:
            return Result(result_as_it_is(picture, values, with_alpha=with_alpha))
        # Whole numbers of 8 and 16 bit stay what they are in float32.
        floats = values.astype(np.float32, copy=False)
        mode = self.how.settings.range
        finished = finished_picture(picture, floats, dtype, mode, with_alpha=with_alpha)
        return Result(finished, lost_values(floats, dtype))

    def unused(self) -> list[str]:
        """Return a sentence for each option that changed nothing."""
        asked, notes = self.how.settings, []
        if asked.cval != 0.0 and not asked.border.takes_value:
            notes.append(f"--cval was not used: it is for --border {taking_value()}, not {asked.border}.")
        if asked.alpha == "filter" and self.opened.picture.alpha is None:
            notes.append("--alpha was not used: the picture has no alpha.")
        return notes + super().unused()

    def for_bands(self) -> "MaskRun":
        """Return the run for a picture that may be filtered in bands, for whose results a variant is free."""
        if self.call.choice.variant.band_invariant:
            return self
        return MaskRun(self.how, self.opened, request_for(self.how, self.opened.picture))

    @property
    def stream(self) -> tuple[str, str] | None:
        """Variant and type of the results of the stream that may take the picture; None where none may."""
        chosen, asked = self.call.choice.variant, self.how.settings.variant
        if not chosen.band_invariant and asked != AUTO:
            return None
        if self.call.problem.is_quantised:
            # Not what `auto` would choose for such results: another variant may round otherwise.
            return chosen.key, "same"
        return asked, _arguments(self.how)["result"]


def request_for(how: MaskFilter, picture: Picture, saved: np.dtype[np.generic] | None = None) -> Request:
    """Return the request to filter a picture, with its alpha as one more channel if that is filtered too.

    `saved` is the sample type of the file. Where the choice is ours and the file has the very same samples,
    the kernel then writes them itself: a result of 12 megapixels takes 36 MB instead of 180. With `auto` a
    GPU is used only where it helps the whole way, its start and copies included.
    """
    pixels, asked = picture.pixels, how.settings
    if asked.alpha == "filter" and picture.alpha is not None:
        pixels = np.dstack([pixels, picture.alpha])
    request = _cheapest(how, pixels)
    mode = asked.range
    is_same = mode == "clip" or (mode == "absolute" and _is_never_negative(request))
    if asked.result_type == AUTO_TYPE and is_same and saved == picture.dtype and is_finite(request):
        return request.quantised() or request
    return request


def _cheapest(how: MaskFilter, pixels: np.ndarray) -> Request:
    asked = how.settings
    if asked.device != AUTO or asked.variant != AUTO or not has_driver():
        return _request(how, pixels, asked.device)
    # Listing the GPUs starts the driver.
    on_cpu = _request(how, pixels, "cpu")
    why = why_not_gpu(on_cpu.problem, on_cpu.mask, on_cpu.device, 1)
    if not why:
        return _request(how, pixels, AUTO)
    choice = on_cpu.choice
    on_cpu.choice = choice._replace(reason=choice.reason and choice.reason.and_also(why))
    return on_cpu


def _request(how: MaskFilter, pixels: np.ndarray, device: str) -> Request:
    asked = how.settings
    return Request(pixels, how.mask, anchor=None, key=asked.variant, **_arguments(how) | {"device": device})


def _arguments(how: MaskFilter) -> dict[str, Any]:
    """Return the arguments that `Request` and `filter_stream` have in common.

    Results are float32 unless the picture's type was asked for.
    """
    names = "border", "cval", "block", "device", "flip", "layout"
    result = "same" if how.settings.result_type == "same" else "float32"
    return {name: getattr(how.settings, name) for name in names} | {"result": result}


def stream_pictures(
    how: MaskFilter,
    way: tuple[str, str],
    pictures: Iterable[np.ndarray],
    results: Iterable[np.ndarray],
    receive: Callable[[int, np.ndarray], None],
) -> tuple[str, ...]:
    """Filter pictures in one stream; return the keys of the variants that ran.

    `way` is the `stream` of their runs, `results` are the arrays for them; `receive` is called with the
    number and the result of each, in order.
    """
    # `filter` has no use for it.
    from engine.streams.filtering import filter_stream

    asked = _arguments(how) | {"variant": way[0], "result": way[1]}
    streamed = filter_stream(pictures, how.mask, **asked, out=results, receive=receive)
    return tuple(streamed.timeline.variant.split(", "))


def is_finite(request: Request) -> bool:
    """Return whether no result can become infinite, which is noted (`lost_values`)."""
    samples, mask = request.samples.dtype, request.mask
    if samples == np.float32:
        return False
    largest = max(float(np.iinfo(samples).max), abs(request.problem.ghost_value))
    most = float(np.abs(mask.weights).sum()) * largest + abs(mask.offset)
    # Far below what the rounding of a sum could lift over it.
    return most < float(np.finfo(np.float32).max) / 2


def _is_never_negative(request: Request) -> bool:
    """Return whether no result can be below 0, so that it is its own absolute value."""
    mask, samples = request.mask, request.samples.dtype
    least = min(float(mask.weights.min()), mask.offset, request.problem.ghost_value)
    return samples != np.float32 and least >= 0.0
