"""The options of `filter` and `batch` that say how to filter, and the notes on those that change nothing."""

import argparse
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from engine.commands.arguments import Parser, cell, number, one_of, size_in_bytes, whole
from engine.device_info import AUTO
from engine.errors import BadValue, UnknownName
from engine.geometry.block import Block
from engine.geometry.border import Border
from engine.geometry.layout import Layout
from engine.image.budget import DEFAULT_MAX_BYTES, bytes_text
from engine.image.convert import RANGE_MODES
from engine.image.formats import format_to_save, formats_for, quality_words, titles
from engine.image.picture import Picture
from engine.image.save import DEFAULT_QUALITY, DEPTH_DTYPES
from engine.mask.mask import Mask
from engine.mask.resolve import resolve_mask
from engine.tasks.filtering.problem import RESULT_TYPES

if TYPE_CHECKING:
    from engine.api.filtering import Request

# Results of the picture's own type where the file is the same, else float32.
AUTO_TYPE = "auto"

_TAKING_VALUE = " or ".join(border for border in Border if border.takes_value)


# What belongs to masks, with the values that say nothing.
_OF_MASKS: dict[str, Any] = {
    "border": "zero",
    "cval": 0.0,
    "anchor": None,
    "flip": False,
    "normalize": False,
    "divisor": None,
    "offset": None,
    "range": "clip",
    "alpha": "keep",
    "result_type": AUTO_TYPE,
}


def key_of_filter(key: str) -> str:
    """Return the key of a variant, known or not; refuse one that multiplies matrices."""
    if key == AUTO:
        return key
    # The picture is opened before what filters is imported (`filtering`).
    from engine.variants.registry import MATMUL_VARIANTS

    if any(key == known.key for known in MATMUL_VARIANTS):
        raise UnknownName(
            f"variant '{key}'",
            "it multiplies matrices and filters no picture",
            f"Run python main.py matmul --variants {key}, or choose a filter that `variants` lists.",
        )
    return key


def add_filter_options(parser: Parser) -> None:
    """Add the options that say with what to filter, where, and what becomes of the result."""
    modes = "; ".join(
        f"{mode}: {sentence[0].lower()}{sentence[1:].rstrip('.')}" for mode, sentence in RANGE_MODES.items()
    )
    parser.add_options(
        f"""
        --mask MASK         a preset (`masks` lists them), gaussian:9:1.5, box:7x3 and the like, a file,
                            or the weights themselves
        --operation KEY     instead of a mask: median, histogram, compress, ... (docs/operations.md;
                            `variants` lists the ways to compute each)
        --set NAME=VALUE    a parameter of the operation, such as size=5; several with commas, or --set again
        --patch FILE        for --operation find-patch: the small picture to find (default: left, top, width
                            and height of the picture itself)
        --variant KEY       how to compute it (`variants` lists them; default auto)
        --block 16x16       threads of a CUDA block, width x height
        --device KEY        auto, cpu, cuda:0 or simulator (`devices` lists them; default auto); a CPU variant
                            always runs on the CPU
        --layout NAME       rows on a CUDA device: pitched (each on a 128-byte boundary, the default) or
                            packed; the result is the same
        --result-type TYPE  what the kernel writes: float32, same (samples of the picture's type, rounded half
                            to even), or auto (default): same where the saved file has the same samples
        --border NAME       cells outside: {", ".join(Border)} (default zero)
        --cval VALUE        their value with --border {_TAKING_VALUE} (default 0)
        --anchor R,C        mask cell that lies on the pixel (default: the middle)
        --flip              convolve: rotate the mask, and its anchor, by 180 degrees
        --normalize, --normalise  divide the weights by their sum
        --divisor D         divide the weights by this number
        --offset O          add this to each result, in the picture's units
        --range MODE        {modes} (default clip)
        --depth DEPTH       of the saved picture: keep (default), 8, 16 or float32
                            ({titles(formats_for(np.float32))} only; values are neither rounded nor clipped)
        --alpha MODE        keep: unchanged (default); filter: filtered as a channel of its own (not
                            premultiplied), then clipped
        --quality N         1 to 100 (default {DEFAULT_QUALITY}), for {quality_words()}
        --max-bytes SIZE    most memory for a picture and its result, such as 8GiB
                            (default {bytes_text(DEFAULT_MAX_BYTES)})
        --no-verify         do not compare the result with the oracle
        """,
        set={"action": "append"},
        variant={"type": key_of_filter, "default": "auto"},
        block={"type": Block.parse},
        device={"default": "auto"},
        layout={"type": Layout.named, "default": Layout.PITCHED},
        result_type={"type": one_of("--result-type", (AUTO_TYPE, *RESULT_TYPES)), "default": AUTO_TYPE},
        border={"default": "zero"},
        cval={"type": number("--cval"), "default": 0.0},
        anchor={"type": cell("--anchor")},
        divisor={"type": number("--divisor")},
        offset={"type": number("--offset")},
        range={"type": one_of("--range", tuple(RANGE_MODES)), "default": "clip"},
        depth={"type": one_of("--depth", ("keep", *DEPTH_DTYPES)), "default": "keep"},
        alpha={"type": one_of("--alpha", ("keep", "filter")), "default": "keep"},
        quality={"type": whole("--quality", 1, 100), "default": DEFAULT_QUALITY},
        max_bytes={"type": size_in_bytes("--max-bytes"), "default": DEFAULT_MAX_BYTES},
        no_verify={"dest": "verify", "action": "store_false"},
    )


def is_operation(options: argparse.Namespace) -> bool:
    """Return whether an operation is asked for and no mask; refuse options that do not belong together."""
    if options.operation is None:
        if options.mask is None:
            remedy = "Give --mask gaussian:9:1.5, or --operation median (`--help` lists them)."
            raise BadValue("nothing to do", "neither --mask nor --operation is given", remedy)
        for name in ("set", "patch"):
            if getattr(options, name):
                raise BadValue(f"--{name} with --mask", "it is for --operation", "Leave it out.")
        return False
    if options.mask is not None:
        why = "a picture is either filtered with a mask or changed by another operation"
        raise BadValue("--mask with --operation", why, "Give one of the two.")
    for name, unsaid in _OF_MASKS.items():
        if getattr(options, name) != unsaid:
            what = f"--{name.replace('_', '-')} with --operation"
            raise BadValue(what, "it says how a mask is applied", "Leave it out.")
    return True


def mask_of(options: argparse.Namespace) -> Mask:
    """Return the mask that the options ask for; refuse none, and two options that contradict one another."""
    mask = resolve_mask(options.mask)
    if options.anchor is not None:
        mask = mask.with_anchor(options.anchor)
    if options.divisor is not None and options.normalize:
        raise BadValue("--divisor with --normalize", "both divide the weights", "Give one of the two.")
    if options.divisor is not None:
        mask = mask.divided_by(options.divisor)
    if options.normalize:
        mask = mask.normalised()
    return mask if options.offset is None else mask.with_offset(options.offset)


def filter_arguments(options: argparse.Namespace) -> dict[str, Any]:
    """Return the keyword arguments that `Request` and `filter_stream` have in common.

    Results are float32 unless the picture's type was asked for.
    """
    names = ("border", "cval", "block", "device", "flip", "layout")
    result = "same" if options.result_type == "same" else "float32"
    return {name: getattr(options, name) for name in names} | {"result": result}


def unused_options(options: argparse.Namespace, picture: Picture, request: "Request") -> list[str]:
    """Return a sentence for each option that changed nothing."""
    key, is_on_cpu = request.choice.variant.key, request.device.kind == "cpu"
    notes = []
    if options.cval != 0.0 and not request.problem.border.takes_value:
        notes.append(f"--cval was not used: it is for --border {_TAKING_VALUE}, not {options.border}.")
    if options.alpha == "filter" and picture.alpha is None:
        notes.append("--alpha was not used: the picture has no alpha.")
    if options.block is not None and not request.choice.variant.uses_block:
        notes.append(f"--block was not used: {key} has no block.")
    if options.layout is Layout.PACKED and is_on_cpu:
        notes.append(f"--layout was not used: {key} runs on the CPU, where rows are always packed.")
    if options.device not in ("auto", "cpu") and is_on_cpu:
        notes.append(f"--device was not used: {key} runs on the CPU.")
    return notes


def unused_quality(options: argparse.Namespace, files: Iterable[str]) -> list[str]:
    """Return a sentence where `--quality` changes nothing in any of the files that are written."""
    formats = map(format_to_save, files)
    if options.quality == DEFAULT_QUALITY or any(known and known.has_quality for known in formats):
        return []
    return [f"--quality was not used: it is for {quality_words()}."]


def operation_of(options: argparse.Namespace) -> str:
    """Return the word for what is computed."""
    if options.operation is not None:
        return str(options.operation)
    return "convolution" if options.flip else "correlation"
