"""The options of `filter` and `batch` for operations other than masks, and what becomes of their results."""

import argparse
from typing import TYPE_CHECKING, Any

import numpy as np

from engine.device_info import AUTO
from engine.errors import BadValue
from engine.geometry.layout import Layout
from engine.image.convert import change_alpha_depth, change_depth
from engine.image.open import open_image
from engine.image.picture import Picture
from engine.tasks.operation.contract import Answer, ResultKind
from engine.tasks.operation.drawing import histogram_picture, marked
from engine.tasks.operation.operations import operation_named, settings_from

if TYPE_CHECKING:
    from engine.api.operation import OperationCall


def read_operation(options: argparse.Namespace) -> None:
    """Read the parameters: `options.settings`, and `options.patch_cells`, the patch from a file or None."""
    operation = operation_named(options.operation)
    options.settings = {}
    for text in options.set or ():
        options.settings |= settings_from(text)
    operation.read(options.settings)
    options.patch_cells = None
    if options.patch is not None:
        if not operation.takes_patch:
            raise BadValue(f"--patch with --operation {operation.key}", "it takes none", "Leave it out.")
        options.patch_cells = open_image(options.patch, max_bytes=options.max_bytes).pixels


def call_for(options: argparse.Namespace, picture: Picture) -> "OperationCall":
    """Return the operation on a picture; with `auto` on the CPU, as starting a GPU takes longer than all."""
    from engine.api.operation import OperationCall

    device = "cpu" if options.device == AUTO and options.variant == AUTO else options.device
    return OperationCall(
        picture.pixels,
        options.operation,
        options.settings,
        patch=options.patch_cells,
        key=options.variant,
        block=options.block,
        device=device,
        layout=options.layout,
    )


def finished_answer(
    options: argparse.Namespace, picture: Picture, answer: Answer, dtype: np.dtype[Any]
) -> Picture:
    """Return the picture to save: of a histogram its plot, of a patch the picture with its best match."""
    if answer.counts is not None:
        return Picture(histogram_picture(answer.counts), None, None)
    pixels = answer.picture
    assert pixels is not None
    if answer.mark is not None:
        scale = 1.0 if pixels.dtype == np.float32 else float(np.iinfo(pixels.dtype).max)
        pixels = marked(pixels, answer.mark, scale)
    shaped = change_depth(pixels.reshape(picture.pixels.shape), dtype)
    alpha = None if picture.alpha is None else change_alpha_depth(picture.alpha, dtype)
    return Picture(shaped, alpha, picture.icc_profile, metadata=picture.metadata)


def unused_operation_options(options: argparse.Namespace, call: "OperationCall") -> list[str]:
    """Return a sentence for each option that changed nothing."""
    key, is_on_cpu = call.choice.variant.key, call.device.kind == "cpu"
    notes = []
    if options.block is not None and not call.choice.variant.uses_block:
        notes.append(f"--block was not used: {key} has no block.")
    if options.layout is Layout.PACKED and is_on_cpu:
        notes.append(f"--layout was not used: {key} runs on the CPU, where rows are always packed.")
    if options.device not in (AUTO, "cpu") and is_on_cpu:
        notes.append(f"--device was not used: {key} runs on the CPU.")
    if options.depth != "keep" and call.operation.result is ResultKind.PLOT:
        notes.append("--depth was not used: a plot has 8 bits.")
    return notes


def answer_document(call: "OperationCall", answer: Answer) -> dict[str, Any]:
    """Return what an operation found, for JSON."""
    mark = answer.mark
    return {
        "operation": call.operation.key,
        "settings": call.problem.parameters,
        "numbers": {quantity.key: quantity.value for quantity in answer.quantities},
        "mark": None
        if mark is None
        else {name: getattr(mark, name) for name in ("row", "column", "height", "width")},
        "counts": None if answer.counts is None else answer.counts.tolist(),
    }


def numbers_text(answer: Answer) -> str:
    """Return what an operation found in words: "PSNR 34.2 dB, estimated size 12,345 bytes"."""

    def title(text: str) -> str:
        return text if text.isupper() else f"{text[0].lower()}{text[1:]}"

    return ", ".join(f"{title(quantity.title)} {quantity.text}" for quantity in answer.quantities)
