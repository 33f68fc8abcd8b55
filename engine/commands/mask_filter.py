"""A mask, correlated with each picture or convolved."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from engine.api.request import Call, request_of
from engine.commands.output import mask_document
from engine.commands.picture_filter import PictureFilter, Result
from engine.commands.picture_opening import Opened
from engine.commands.picture_settings import AUTO_TYPE, PictureSettings
from engine.device.cuda_presence import has_driver
from engine.device.devices import device_named
from engine.device_info import AUTO
from engine.files.standard_streams import printable
from engine.image.form import Form
from engine.image.picture import Picture
from engine.image.result_picture import finished_picture, loss_sentences
from engine.mask.generators import cut_sentence
from engine.mask.mask import Mask, names_size
from engine.work.filter_task import describe_problem
from engine.work.filtering.auto.planner import why_not_gpu
from engine.work.filtering.variants import Variant, variant
from engine.work.resolve import Resolved

R = TypeVar("R", bound=Resolved)


class MaskFilter(PictureFilter):
    """A mask, as the options change it, with everything that was asked for."""

    format = "haloscope-filter"
    mask: Mask

    def __init__(self, settings: PictureSettings, mask: Mask) -> None:
        super().__init__(settings)
        self.mask = mask
        self.name = "convolution" if settings.flip else "correlation"
        self.range, self.filters_alpha = settings.range, settings.alpha == "filter"

    def own_notes(self) -> tuple[str, ...]:
        """Return a sentence where the sides of a Gaussian cut much of it off."""
        sentence = cut_sentence(self.settings.mask or "")
        return (sentence,) if sentence else ()

    def picture_notes(self, picture: Picture) -> tuple[str, ...]:
        """Return a sentence where clear pixels have colours, which are filtered as all others."""
        if picture.alpha is None or self.mask.taps == 1 or picture.alpha.all():
            return ()
        return (
            "Some pixels are clear: colours are not weighted with the alpha, so those of clear pixels show "
            "in pixels beside them.",
        )

    def named_variant(self) -> Variant:
        """Return the filter that the settings name."""
        return variant(self.settings.variant)

    def why_not_gpu(self, form: Form, pictures: int) -> str | None:
        """Return why the CPU filters so many pictures of a form; None where a GPU may be faster."""
        asked = self.settings
        # The shape alone: it takes no memory.
        samples = np.broadcast_to(np.zeros((), form.dtype), (form.height, form.width, form.channels))
        result = "float32" if asked.result_type == "float32" else form.dtype.name
        problem = describe_problem(samples, self.mask, asked.border, asked.cval, result)
        return why_not_gpu(problem, self.mask, device_named("cpu"), pictures) or None

    def check(self, probe: Picture) -> list[str]:
        """Refuse what is wrong with every picture; return a sentence for each option that changes nothing.

        Which pictures can have results of their own type is known when they are opened.
        """
        floats = self.asking(replace(self.settings, result_type="float32"))
        opened = Opened(probe, np.dtype(np.float32))
        call = floats.call(opened)
        call.job().refuse(call.device)
        return [*self.own_notes(), *floats.unused(call, opened)]

    def call(self, opened: Opened) -> Call:
        """Return the request to filter a picture, with its alpha as one more channel if that is filtered too.

        Where the choice is ours and the file has the very same samples, the kernel then writes them itself: a
        result of 12 megapixels takes 36 MB instead of 180. With `auto` a GPU is used only where it helps the
        whole way, its start and copies included.
        """
        (picture, dtype), asked = opened, self.settings
        pixels = picture.pixels
        if asked.alpha == "filter" and picture.alpha is not None:
            pixels = np.dstack([pixels, picture.alpha])
        request = self.cheapest(lambda device: self._request(pixels, device))
        return self.as_saved(request, dtype)

    def resolved(self, samples: np.ndarray, saved: np.dtype[Any]) -> Resolved:
        """Return the request to filter a picture in parts."""

        def on_device(device: str) -> Resolved:
            asked = self.arguments() | {"device": device, "variant": self.settings.variant}
            return Resolved(request_of(mask=self.mask, anchor=None, **asked), samples).in_parts()

        return self.as_saved(self.cheapest(on_device), saved)

    def as_saved(self, request: R, saved: np.dtype[Any]) -> R:
        """Return a request whose kernel writes the samples of the file, where that is the same."""
        asked = self.settings
        return request.as_saved(saved, asked.range) if asked.result_type == AUTO_TYPE else request

    def cheapest(self, on_device: Callable[[str], R]) -> R:
        """Return the request on the device that is asked for; of `auto` the one that is done sooner."""
        asked = self.settings
        if asked.device != AUTO or asked.variant != AUTO or not has_driver():
            return on_device(self.device_key)
        # Listing the GPUs starts the driver.
        on_cpu = on_device("cpu")
        why = why_not_gpu(on_cpu.problem, on_cpu.constant, on_cpu.device, 1)
        if not why:
            return on_device(AUTO)
        choice = on_cpu.choice
        on_cpu.choice = choice._replace(reason=choice.reason and choice.reason.and_also(why))
        return on_cpu

    def _request(self, pixels: np.ndarray, device: str) -> Call:
        asked = self.arguments() | {"device": device, "variant": self.settings.variant}
        return Call(pixels, request_of(self.mask, anchor=None, **asked))

    def arguments(self) -> dict[str, Any]:
        """Return the arguments of a request but mask, variant and anchor.

        Results are float32 unless the picture's type was asked for.
        """
        names = "border", "cval", "block", "device", "flip", "layout"
        result = "same" if self.settings.result_type == "same" else "float32"
        return {name: getattr(self.settings, name) for name in names} | {"result": result}

    def what(self, call: Resolved) -> str:
        """Return the mask, how it is applied, and the border, in words."""
        mask = self.mask
        name = printable(mask.name) or "a custom mask"
        size = "" if names_size(name, mask.rows, mask.columns) else f"{mask.rows} × {mask.columns}"
        flipped = "rotated by 180 degrees" if self.settings.flip else ""
        about = ", ".join(filter(None, (size, flipped)))
        return f"{self.name} with {name}{f' ({about})' if about else ''}, border {call.problem.border},"

    def facts(self, call: Resolved) -> dict[str, object]:
        """Return the mask, before it is flipped, and the border, for JSON."""
        return {
            "operation": self.name,
            "mask": {"name": self.mask.title} | mask_document(self.mask),
            "border": str(call.problem.border),
        }

    def document(self, call: Call) -> dict[str, object]:
        """Return what ran, and the type of its results, for JSON."""
        return super().document(call) | {"result_dtype": call.problem.result_dtype}

    def finished(self, call: Call, opened: Opened, values: np.ndarray) -> Result:
        """Return the picture to save, and a note for each kind of value that it cannot hold."""
        values, (picture, dtype) = values.reshape(call.shape), opened
        if values.dtype != dtype:
            # Whole numbers of 8 and 16 bit stay what they are in float32.
            values = values.astype(np.float32, copy=False)
        with_alpha = self.settings.alpha == "filter"
        finished = finished_picture(picture, values, dtype, self.settings.range, with_alpha=with_alpha)
        colours = values[..., :-1] if with_alpha and picture.alpha is not None else values
        pixels = finished.pixels.reshape(colours.shape)
        return Result(finished, loss_sentences(colours, pixels, picture.dtype))

    def unused(self, call: Call, opened: Opened) -> list[str]:
        """Return a sentence for each option that changed nothing."""
        asked, notes = self.settings, []
        if asked.alpha == "filter" and opened.picture.alpha is None:
            notes.append("--alpha was not used: the picture has no alpha.")
        return notes + super().unused(call, opened)
