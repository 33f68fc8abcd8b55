"""An operation other than a mask, done on each picture."""

from dataclasses import asdict
from typing import Any, cast

import numpy as np

from engine.api.request import Call
from engine.commands.picture_filter import PictureFilter, Result
from engine.commands.picture_opening import Opened
from engine.commands.picture_settings import PictureSettings
from engine.device_info import AUTO
from engine.errors import BadValue
from engine.image.convert import change_alpha_depth
from engine.image.form import Form
from engine.image.open import open_image
from engine.image.picture import Picture
from engine.image.result_picture import in_depth
from engine.work.operations.contract import Operation
from engine.work.operations.drawing import histogram_picture, marked
from engine.work.operations.problem import Settings
from engine.work.operations.table import parameters_from
from engine.work.operations.variants import OperationVariant, operation_variant
from engine.work.request import PictureRequest, one_step
from engine.work.resolve import Resolved, resolved_for_parts
from engine.work.steps import OperationStep


class OperationFilter(PictureFilter):
    """An operation with its parameters, and the patch from a file or None."""

    format = "haloscope-operation"

    def __init__(self, settings: PictureSettings) -> None:
        super().__init__(settings)
        operation = cast(Operation, settings.operation)
        self.name, self.done = operation.key, f"computed ({operation.key})"
        self.parameters = parameters_from(settings.set)
        operation.read(self.parameters)
        self.patch: np.ndarray | None = None
        if settings.patch is not None:
            if not operation.takes_patch:
                what = f"--patch with --operation {operation.key}"
                raise BadValue(what, "it takes none", "Leave it out.")
            self.patch = open_image(settings.patch, max_bytes=settings.max_bytes).pixels

    def named_variant(self) -> OperationVariant:
        """Return the variant of the operation that the settings name."""
        return operation_variant(self.settings.variant, self.name)

    def why_not_gpu(self, form: Form, pictures: int) -> str | None:
        """Return "": copies take longer than all of these operations but the largest patches."""
        return ""

    def call(self, opened: Opened) -> Call:
        """Return the call that does the operation on a picture."""
        return Call(opened.picture.pixels, self._asked, self.patch)

    @property
    def _asked(self) -> PictureRequest:
        asked = self.settings
        # With `auto` on the CPU, as starting a GPU takes longer than all.
        device = "cpu" if asked.device == AUTO and asked.variant == AUTO else self.device_key
        step = OperationStep(
            operation=self.name,
            settings=Settings(self.parameters.items()),
            variant=asked.variant,
            block=asked.block,
        )
        return one_step(step, device=device, layout=asked.layout)

    def resolved(self, samples: np.ndarray, saved: np.dtype[Any]) -> Resolved:
        """Return what does the operation on a picture in parts."""
        return resolved_for_parts(self._asked, samples)

    def what(self, call: Resolved) -> str:
        """Return the operation with its parameters, in words."""
        text: str = call.problem.operation_text
        return text

    def facts(self, call: Resolved) -> dict[str, object]:
        """Return the operation with its parameters, for JSON."""
        return {"operation": self.name, "settings": call.problem.parameters}

    def finished(self, call: Call, opened: Opened, values: np.ndarray) -> Result:
        """Return the picture to save: of a histogram its plot, of a patch the picture with its best match."""
        answer, (picture, dtype) = call.answer(values), opened
        found: dict[str, object] = {
            "numbers": {quantity.key: quantity.value for quantity in answer.quantities},
            "mark": None if answer.mark is None else asdict(answer.mark),
            "counts": None if answer.counts is None else answer.counts.tolist(),
        }
        words = ", ".join(f"{_lower(one.title)} {one.text}" for one in answer.quantities)
        if answer.counts is not None:
            return Result(Picture(histogram_picture(answer.counts)), (), found, words)
        pixels = cast(np.ndarray, answer.picture)
        if answer.mark is not None:
            scale = 1.0 if pixels.dtype == np.float32 else float(np.iinfo(pixels.dtype).max)
            pixels = marked(pixels, answer.mark, scale)
        shaped, lost = in_depth(pixels.reshape(picture.pixels.shape), dtype)
        alpha = None if picture.alpha is None else change_alpha_depth(picture.alpha, dtype)
        finished = Picture(shaped, alpha, picture.icc_profile, metadata=picture.metadata)
        return Result(finished, lost, found, words)

    def unused(self, call: Call, opened: Opened) -> list[str]:
        """Return a sentence for each option that changed nothing."""
        depth = self.settings.is_plot and self.settings.depth != "keep"
        return super().unused(call, opened) + ["--depth was not used: a plot has 8 bits."] * depth


def _lower(title: str) -> str:
    """Return a title as it stands within a sentence: "PSNR", "estimated size"."""
    return title if title.isupper() else f"{title[0].lower()}{title[1:]}"
