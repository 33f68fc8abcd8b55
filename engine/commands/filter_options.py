"""What `filter` and `batch` have in common: the options that say how to filter, and what they make of a picture."""

import argparse
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from engine.api.filtering import Request
from engine.commands.arguments import Parser, cell, number, one_of, size_in_bytes, whole
from engine.commands.finishing import DEPTHS, channels_to_filter
from engine.commands.variant_keys import key_of_filter
from engine.errors import BadValue
from engine.geometry.block import Block
from engine.geometry.border import Border
from engine.geometry.layout import Layout
from engine.image.budget import DEFAULT_MAX_BYTES, bytes_text
from engine.image.convert import RANGE_MODES
from engine.image.formats import format_to_save, formats_for, quality_words, titles
from engine.image.picture import Picture
from engine.image.save import DEFAULT_QUALITY
from engine.mask.mask import Mask
from engine.mask.resolve import resolve_mask
from engine.tasks.filtering.problem import RESULT_TYPES

TAKING_VALUE = " or ".join(border for border in Border if border.takes_value)


def add_filter_options(parser: Parser) -> None:
    """Add the options that say with what to filter, where, and what becomes of the result."""
    add: Callable[..., Any] = parser.add_argument
    add(
        "--mask",
        required=True,
        metavar="MASK",
        help="a preset (`masks` lists them), gaussian:9:1.5, box:7x3 and the like, a file, or the weights themselves",
    )
    add(
        "--variant",
        type=key_of_filter,
        default="auto",
        metavar="KEY",
        help="how to compute it (`variants` lists them; default auto)",
    )
    add("--block", type=Block.parse, metavar="16x16", help="threads of a CUDA block, across x down")
    add(
        "--device",
        default="auto",
        metavar="auto|cpu|cuda:0|simulator",
        help="where to compute it (`devices` lists them); a CPU variant always runs on the CPU",
    )
    add(
        "--layout",
        type=Layout.named,
        default=Layout.PITCHED,
        metavar="pitched",
        help="rows on a CUDA device: pitched (each on a 128-byte boundary) or packed; the result is the same",
    )
    add(
        "--result-type",
        type=one_of("--result-type", RESULT_TYPES),
        default="float32",
        metavar="float32",
        help="what the kernel writes: float32, or same: samples of the picture's type, rounded half to even",
    )
    add(
        "--border",
        default="zero",
        metavar="zero",
        help=f"cells outside: {', '.join(Border)}",
    )
    add(
        "--cval",
        type=number("--cval"),
        default=0.0,
        metavar="0",
        help=f"their value with --border {TAKING_VALUE}",
    )
    add(
        "--anchor",
        type=cell("--anchor"),
        metavar="R,C",
        help="mask cell that lies on the pixel (default: the middle)",
    )
    add("--flip", action="store_true", help="convolve: turn the mask, and its anchor, by 180 degrees")
    add("--normalize", "--normalise", action="store_true", help="divide the weights by their sum")
    add("--divisor", type=number("--divisor"), metavar="D", help="divide the weights by this number")
    add(
        "--offset",
        type=number("--offset"),
        metavar="O",
        help="add this to each result, in the picture's units",
    )
    modes = "; ".join(
        f"{mode}: {sentence[0].lower()}{sentence[1:].rstrip('.')}" for mode, sentence in RANGE_MODES.items()
    )
    add("--range", type=one_of("--range", tuple(RANGE_MODES)), default="clip", metavar="clip", help=modes)
    add(
        "--depth",
        type=one_of("--depth", DEPTHS),
        default="keep",
        metavar="keep",
        help=f"of the saved picture: keep, 8, 16 or float32 ({titles(formats_for(np.float32))} only; values are neither rounded nor clipped)",
    )
    add(
        "--alpha",
        type=one_of("--alpha", ("keep", "filter")),
        default="keep",
        metavar="keep",
        help="keep: carried as it is; filter: filtered as a channel of its own (not premultiplied), then clipped",
    )
    add(
        "--quality",
        type=whole("--quality", 1, 100),
        default=DEFAULT_QUALITY,
        metavar=str(DEFAULT_QUALITY),
        help=f"1 to 100 (default {DEFAULT_QUALITY}), for {quality_words()}",
    )
    add(
        "--max-bytes",
        type=size_in_bytes("--max-bytes"),
        default=DEFAULT_MAX_BYTES,
        metavar="8GiB",
        help=f"most memory for a picture and what becomes of it (default {bytes_text(DEFAULT_MAX_BYTES)})",
    )
    add("--no-verify", dest="verify", action="store_false", help="do not compare the result with the oracle")


def mask_of(options: argparse.Namespace) -> Mask:
    """Return the mask that the options ask for.

    Raises
    ------
    EngineError
        It is none, or two options contradict one another.
    """
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


def request_for(options: argparse.Namespace, mask: Mask, picture: Picture) -> Request:
    """Look one picture up.

    Raises
    ------
    EngineError
        As `engine.api.filtering.Request`.
    """
    return Request(
        channels_to_filter(picture, options.alpha == "filter"),
        mask,
        options.border,
        options.cval,
        None,
        options.variant,
        options.block,
        options.device,
        flip=options.flip,
        layout=options.layout,
        result=options.result_type,
    )


def unused_options(options: argparse.Namespace, picture: Picture, request: Request) -> list[str]:
    """Return a sentence for each option that changed nothing."""
    notes = []
    key = request.choice.variant.key
    if options.cval != 0.0 and not request.problem.border.takes_value:
        notes.append(f"--cval was not used: it is for --border {TAKING_VALUE}, not {options.border}.")
    if options.alpha == "filter" and picture.alpha is None:
        notes.append("--alpha was not used: the picture has no alpha.")
    if options.block is not None and not request.choice.variant.uses_block:
        notes.append(f"--block was not used: {key} has no block.")
    if options.layout is Layout.PACKED and request.device.kind == "cpu":
        notes.append(f"--layout was not used: {key} runs on the CPU, where rows are always packed.")
    if options.device not in ("auto", "cpu") and request.device.kind == "cpu":
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
    return "convolution" if options.flip else "correlation"
