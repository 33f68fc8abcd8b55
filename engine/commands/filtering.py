"""`filter`: a picture file in, the filtered picture out, with the proof that it is right."""

import argparse
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from engine.api.filtering import Request
from engine.commands.arguments import Parser
from engine.commands.filter_memory import WORK, work_bytes
from engine.commands.filter_options import (
    add_filter_options,
    mask_of,
    operation_of,
    request_for,
    unused_options,
    unused_quality,
)
from engine.commands.finishing import depth_of_result
from engine.commands.interrupt import report_interrupt
from engine.commands.output import printable, say, say_json, tell_notes
from engine.commands.result_checks import check_format
from engine.files.output_checks import check_other_file, check_place
from engine.geometry.layout import Layout
from engine.image.open import open_image
from engine.image.result_picture import finished_picture, lost_values
from engine.image.save import save_image
from engine.mask.mask import Mask
from engine.results.measurement import RunResult
from engine.run.sampling import SamplingPlan

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
    with report_interrupt([options.output]):
        _filter_file(options)
    return 0


def _filter_file(options: argparse.Namespace) -> None:
    check_place(options.output)
    if not options.overwrite:
        check_other_file(options.output, options.input)
    mask = mask_of(options)
    picture = open_image(
        options.input, max_bytes=options.max_bytes, work_bytes=work_bytes(options, options.output), work=WORK
    )
    target = depth_of_result(picture, options.depth, options.range, options.result_type)
    check_format(options.output, picture.channels, target, options.quality)
    request = request_for(options, mask, picture)
    begin = time.perf_counter()
    values, proof = _filter(request, options.verify)
    elapsed_ms = (time.perf_counter() - begin) * 1e3
    # Whole numbers of 8 and 16 bit stay what they are in float32.
    values = values.astype(np.float32, copy=False)
    lost = lost_values(values, target)
    finished = finished_picture(picture, values, target, options.range, with_alpha=options.alpha == "filter")
    # Before it is encoded: it takes four times the memory of an 8-bit picture.
    del values
    left_out = save_image(finished, options.output, quality=options.quality)
    unused = (*unused_options(options, picture, request), *unused_quality(options, [options.output]))
    notes = (*picture.notes, *unused, *lost, *left_out)
    tell_notes(notes)
    if options.json:
        say_json(_document(options, request, mask, proof, elapsed_ms, notes))
    else:
        say(_what_ran(options, request, mask))
        say(_how_it_went(proof, elapsed_ms))


def _parser() -> Parser:
    parser = Parser(
        "filter",
        "The result is verified against a float64 oracle before it is saved, and the depth, the colour profile and "
        "the alpha of the picture are kept. The mask is correlated with the picture; --flip convolves. `batch` filters many files.",
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
        "--overwrite",
        action="store_true",
        help="let OUT be IN itself, which is then lost (another OUT that is there is always replaced)",
    )
    add_filter_options(parser)
    return parser


def _filter(request: Request, verify: bool) -> tuple[np.ndarray, RunResult | None]:
    if not verify:
        return request.filter(), None
    applied = request.measure(_PLAN)
    return applied.values, applied.result


def _what_ran(options: argparse.Namespace, request: Request, mask: Mask) -> str:
    variant = request.choice.variant
    turned = ", turned by 180 degrees" if options.flip else ""
    block = f", block {request.choice.block}" if variant.uses_block else ""
    rows = (
        f", {request.asked.layout} rows"
        if request.asked.layout is Layout.PACKED and request.device.kind == "cuda"
        else ""
    )
    rounded = f", {request.problem.result_dtype} results" if request.problem.is_quantised else ""
    chosen = f" (auto: {request.choice.reason})" if request.choice.reason else ""
    return (
        f"{printable(options.output)}: {operation_of(options)} with {printable(mask.name) or 'a mask'} ({mask.rows} x {mask.columns}{turned}), "
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
        "operation": operation_of(options),
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
        "layout": str(request.asked.layout) if request.device.kind == "cuda" else None,
        "result_dtype": problem.result_dtype,
        "verified": proof is not None,
        "elapsed_ms": elapsed_ms,
        "result": None if proof is None else proof.as_json(),
        "notes": list(notes),
    }
