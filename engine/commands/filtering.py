"""`filter`: a picture file in, the filtered picture out, with the proof that it is right."""

import argparse
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from engine.api import Request
from engine.block import Block
from engine.commands.arguments import Parser, cell, number, one_of, size_in_bytes, whole
from engine.commands.finishing import DEPTHS, channels_to_filter, depth_of_result
from engine.commands.output import say, say_json, tell_notes
from engine.commands.places import check_format, check_place
from engine.commands.variant_keys import key_of_filter
from engine.errors import BadValue
from engine.image.budget import DEFAULT_MAX_BYTES, bytes_text
from engine.image.convert import RANGE_MODES
from engine.image.finished import finished_picture
from engine.image.open import open_image
from engine.image.picture import Picture
from engine.image.save import save_image
from engine.layout import Layout
from engine.mask.mask import Mask
from engine.mask.resolve import resolve_mask
from engine.results import RunResult
from engine.timing.plan import SamplingPlan
from engine.timing.request import RESULT_TYPES

FORMAT, VERSION = "haloscope-filter", 1

# The person waits for a picture, not for a measurement: at least one sample, then what fits into this time.
_PLAN = SamplingPlan(warm_up_s=0.0, budget_s=0.1, fewest=1, most=50, fewest_copies=1)

_EXAMPLES = (
    "photo.jpg edges.png --mask sobel-x --range absolute",
    "photo.jpg soft.jpg --mask gaussian:9:1.5 --border mirror",
    'photo.png out.tif --mask "1 0 -1; 2 0 -2; 1 0 -1" --depth float32',
    "photo.png out.png --mask my-mask.json --variant tiled --block 32x8 --flip",
    "small.png out.png --mask box-3 --variant naive --device simulator --json",
)


def run(arguments: list[str]) -> int:
    """Filter a file; return the exit status."""
    options = _parser().read(arguments)
    if options is None:
        return 0
    check_place(options.output)
    mask = _mask(options)
    picture = open_image(options.input, max_bytes=options.max_bytes)
    target = depth_of_result(picture, options.depth, options.range, options.result_type)
    check_format(options.output, picture.channels, target, options.quality)
    with_alpha = options.alpha == "filter"
    request = Request(
        channels_to_filter(picture, with_alpha),
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
    begin = time.perf_counter()
    values, proof = _filter(request, options.verify)
    elapsed_ms = (time.perf_counter() - begin) * 1e3
    # Whole numbers of 8 and 16 bit stay what they are in float32.
    values = values.astype(np.float32, copy=False)
    finished = finished_picture(picture, values, target, options.range, with_alpha=with_alpha)
    left_out = save_image(finished, options.output, quality=options.quality)
    notes = (*picture.notes, *_unused(options, picture, request), *left_out)
    tell_notes(notes)
    if options.json:
        say_json(_document(options, request, mask, proof, elapsed_ms, notes))
    else:
        say(_what_ran(options, request, mask))
        say(_how_it_went(proof, elapsed_ms))
    return 0


def _parser() -> Parser:
    parser = Parser(
        "filter",
        "The result is verified against a float64 oracle before it is saved, and the depth, the colour profile and "
        "the alpha of the picture are kept. The mask is correlated with the picture; --flip convolves.",
        _EXAMPLES,
    )
    add = parser.add_argument
    add("input", metavar="IN", help="picture: PNG, JPEG, TIFF, BMP, WebP or GIF (first frame)")
    add(
        "output",
        metavar="OUT",
        help="file to write: .png, .jpg, .tif or .webp; it appears whole or not at all",
    )
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
        help="cells outside: zero, constant, replicate, reflect, mirror or wrap",
    )
    add("--cval", type=number("--cval"), default=0.0, metavar="0", help="their value with --border constant")
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
        help="of the saved picture: keep, 8, 16 or float32 (TIFF only; values are neither rounded nor clipped)",
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
        default=95,
        metavar="95",
        help="of JPEG and WebP, 1 to 100",
    )
    add(
        "--max-bytes",
        type=size_in_bytes("--max-bytes"),
        default=DEFAULT_MAX_BYTES,
        metavar="8GiB",
        help=f"largest picture to open, file or pixels (default {bytes_text(DEFAULT_MAX_BYTES)})",
    )
    add("--no-verify", dest="verify", action="store_false", help="do not compare the result with the oracle")
    return parser


def _mask(options: argparse.Namespace) -> Mask:
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


def _filter(request: Request, verify: bool) -> tuple[np.ndarray, RunResult | None]:
    if not verify:
        return request.filter(), None
    applied = request.measure(_PLAN)
    return applied.values, applied.result


def _unused(options: argparse.Namespace, picture: Picture, request: Request) -> list[str]:
    """Return a sentence for each option that changed nothing."""
    notes = []
    key = request.choice.variant.key
    if options.cval != 0.0 and options.border != "constant":
        notes.append(f"--cval was not used: it is for --border constant, not {options.border}.")
    if options.alpha == "filter" and picture.alpha is None:
        notes.append("--alpha was not used: the picture has no alpha.")
    if options.block is not None and not request.choice.variant.uses_block:
        notes.append(f"--block was not used: {key} has no block.")
    if options.layout is Layout.PACKED and request.device.kind == "cpu":
        notes.append(f"--layout was not used: {key} runs on the CPU, where rows are always packed.")
    if options.device not in ("auto", "cpu") and request.device.kind == "cpu":
        notes.append(f"--device was not used: {key} runs on the CPU.")
    return notes


def _operation(options: argparse.Namespace) -> str:
    return "convolution" if options.flip else "correlation"


def _what_ran(options: argparse.Namespace, request: Request, mask: Mask) -> str:
    variant = request.choice.variant
    turned = ", turned by 180 degrees" if options.flip else ""
    block = f", block {request.choice.block}" if variant.uses_block else ""
    rows = (
        f", {request.layout} rows"
        if request.layout is Layout.PACKED and request.device.kind == "cuda"
        else ""
    )
    rounded = f", {request.problem.result_dtype} results" if request.problem.is_quantised else ""
    chosen = f" (auto: {request.choice.reason})" if request.choice.reason else ""
    return (
        f"{options.output}: {_operation(options)} with {mask.name or 'a mask'} ({mask.rows} x {mask.columns}{turned}), "
        f"border {request.problem.border}, by {variant.key} on {request.device.title}{block}{rows}{rounded}{chosen}"
    )


def _how_it_went(proof: RunResult | None, elapsed_ms: float) -> str:
    if proof is None:
        return f"{elapsed_ms:.3g} ms with everything, not verified"
    if proof.timing is None:
        return f"no times: the simulator's mean nothing; {proof.status}"
    kernel, whole_ms = proof.timing.kernel, proof.timing.end_to_end.median_ms
    samples = len(kernel.samples_ms)
    return f"kernel {kernel.median_ms:.3g} ms (median of {samples}), end to end {whole_ms:.3g} ms; {proof.status}"


def _document(
    options: argparse.Namespace,
    request: Request,
    mask: Mask,
    proof: RunResult | None,
    elapsed_ms: float,
    notes: Sequence[str],
) -> dict[str, Any]:
    """Return what `--json` prints; the mask is the one before the flip."""
    choice, problem = request.choice, request.problem
    return {
        "format": FORMAT,
        "version": VERSION,
        "input": options.input,
        "output": options.output,
        "operation": _operation(options),
        "mask": {
            "name": mask.name,
            "rows": mask.rows,
            "columns": mask.columns,
            "anchor": mask.anchor,
            "offset": mask.offset,
            "weights": mask.weights.tolist(),
        },
        "border": str(problem.border),
        "variant": choice.variant.key,
        "device": request.device.key,
        "block": {"x": choice.block.x, "y": choice.block.y} if choice.variant.uses_block else None,
        "layout": str(request.layout) if request.device.kind == "cuda" else None,
        "result_dtype": problem.result_dtype,
        "verified": proof is not None,
        "elapsed_ms": elapsed_ms,
        "result": None if proof is None else proof.as_json(),
        "notes": list(notes),
    }
