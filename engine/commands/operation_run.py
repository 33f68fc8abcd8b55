"""A picture that an operation other than a mask is done on."""

from dataclasses import asdict
from typing import Any, cast

import numpy as np

from engine.api.operation import OperationCall
from engine.commands.picture_filter import Opened, PictureFilter
from engine.commands.picture_run import PictureRun, Result, ResultArray
from engine.commands.picture_settings import PictureSettings
from engine.device_info import AUTO
from engine.errors import BadValue
from engine.image.convert import change_alpha_depth, change_depth
from engine.image.form import Form
from engine.image.open import open_image
from engine.image.picture import Picture
from engine.tasks.operation.contract import ResultKind
from engine.tasks.operation.drawing import histogram_picture, marked
from engine.tasks.operation.operations import operation_named, parameters_from
from engine.variants.operations.contract import OperationVariant
from engine.variants.registry import operation_variant


class OperationFilter(PictureFilter):
    """An operation with its parameters, and the patch from a file or None."""

    def __init__(self, settings: PictureSettings) -> None:
        super().__init__(settings)
        self.operation = operation_named(settings.operation)
        self.name, self.done = self.operation.key, f"computed ({self.operation.key})"
        self.parameters = parameters_from(settings.set)
        self.operation.read(self.parameters)
        self.patch: np.ndarray | None = None
        if settings.patch is not None:
            if not self.operation.takes_patch:
                what = f"--patch with --operation {self.operation.key}"
                raise BadValue(what, "it takes none", "Leave it out.")
            self.patch = open_image(settings.patch, max_bytes=settings.max_bytes).pixels

    def run_type(self) -> "type[OperationRun]":
        """Return what does the operation."""
        return OperationRun

    def working_bytes(self, result_bytes: int) -> int:
        """Return the memory of coefficients and samples, or of a picture as float32 planes."""
        return 2 * result_bytes

    def form_of_result(self, picture: Picture) -> tuple[tuple[int, ...], np.dtype[Any]]:
        """Return the shape and the sample type of the picture, or of a plot, which any format holds."""
        if self.operation.result is ResultKind.PLOT:
            return (1, 1, 3), np.dtype(np.uint8)
        return super().form_of_result(picture)


class OperationRun(PictureRun):
    """A picture with the call that does the operation."""

    format = "haloscope-operation"
    how: OperationFilter
    call: OperationCall

    def __init__(self, how: OperationFilter, opened: Opened) -> None:
        super().__init__(how, opened)
        asked = how.settings
        # With `auto` on the CPU, as starting a GPU takes longer than all.
        device = "cpu" if asked.device == AUTO and asked.variant == AUTO else asked.device
        self.call = OperationCall(
            opened.picture.pixels,
            how.operation.key,
            how.parameters,
            patch=how.patch,
            key=asked.variant,
            block=asked.block,
            device=device,
            layout=asked.layout,
        )

    @staticmethod
    def named_variant(how: PictureFilter) -> OperationVariant:
        """Return the variant of the operation that the settings name."""
        return operation_variant(how.settings.variant, how.name)

    @staticmethod
    def why_not_gpu(how: PictureFilter, form: Form, pictures: int) -> str | None:
        """Return "": copies take longer than all of these operations but the largest patches."""
        return ""

    @property
    def what(self) -> str:
        """The operation with its parameters."""
        return self.call.problem.operation_text

    @property
    def facts(self) -> dict[str, object]:
        """The operation with its parameters."""
        return {"operation": self.how.name, "settings": self.call.problem.parameters}

    def compute(self, array: ResultArray) -> np.ndarray:
        """Return what the variant writes."""
        return self.call.filter()

    def finished(self, values: np.ndarray) -> Result:
        """Return the picture to save: of a histogram its plot, of a patch the picture with its best match."""
        answer, (picture, dtype) = self.call.answer(values), self.opened
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
        shaped = change_depth(pixels.reshape(picture.pixels.shape), dtype)
        alpha = None if picture.alpha is None else change_alpha_depth(picture.alpha, dtype)
        return Result(
            Picture(shaped, alpha, picture.icc_profile, metadata=picture.metadata), (), found, words
        )

    def unused(self) -> list[str]:
        """Return a sentence for each option that changed nothing."""
        is_plot = self.how.operation.result is ResultKind.PLOT
        plot = ["--depth was not used: a plot has 8 bits."]
        return super().unused() + (plot if is_plot and self.how.settings.depth != "keep" else [])


def _lower(title: str) -> str:
    """Return a title as it stands within a sentence: "PSNR", "estimated size"."""
    return title if title.isupper() else f"{title[0].lower()}{title[1:]}"
