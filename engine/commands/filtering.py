"""`filter`: a picture file in, the filtered picture out, with the proof that it is right."""

import argparse
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from engine.api.filtering import Request
from engine.commands import DONE
from engine.commands.arguments import Parser
from engine.commands.filter_options import (
    add_filter_options,
    mask_of,
    operation_of,
    unused_options,
    unused_quality,
)
from engine.commands.filter_steps import finished_result, open_for, request_for
from engine.commands.output import (
    log_notes,
    mask_document,
    print_answer,
    print_json,
    printable,
    report_interrupt,
)
from engine.files.output_checks import check_other_file, check_place
from engine.geometry.layout import Layout
from engine.image.formats import in_words, offered_suffixes, titles
from engine.image.save import save_image
from engine.mask.mask import Mask
from engine.results.columns import names_size
from engine.results.measurement import RunResult
from engine.run.sampling import NO_SAMPLES

FORMAT, VERSION = "haloscope-filter", 1

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
    with report_interrupt([options.output]):
        _filter_file(options)
    return DONE


def _filter_file(options: argparse.Namespace) -> None:
    check_place(options.output)
    if not options.overwrite:
        check_other_file(
            options.output, options.input, "Give the result another name, or --overwrite to lose the picture."
        )
    mask = mask_of(options)
    opened = open_for(options, options.input, options.output)
    picture = opened.picture
    request = request_for(options, mask, picture, opened.dtype)
    begin = time.perf_counter()
    values, proof = _filter(request, options.verify)
    elapsed_ms = (time.perf_counter() - begin) * 1e3
    finished, lost = finished_result(options, opened, values)
    # Before it is encoded: it takes four times the memory of an 8-bit picture.
    del values
    left_out = save_image(finished, options.output, quality=options.quality)
    unused = (*unused_options(options, picture, request), *unused_quality(options, [options.output]))
    notes = (*picture.notes, *unused, *lost, *left_out)
    log_notes(notes)
    if options.json:
        print_json(_document(options, request, mask, proof, elapsed_ms, notes))
    else:
        print_answer(f"{_what_ran(options, request, mask)}\n{_how_it_went(proof, elapsed_ms)}")


def _parser() -> Parser:
    parser = Parser(
        "filter",
        "The result is verified against a float64 oracle before it is saved. Depth, colour profile and alpha "
        "of the picture are kept. The mask is correlated with the picture; --flip convolves. `batch` filters "
        "many files.",
        _EXAMPLES,
    )
    parser.add_argument("input", metavar="IN", help=f"picture: {titles()} (first frame)")
    parser.add_argument(
        "output",
        metavar="OUT",
        help=f"file to write: {in_words(offered_suffixes())}; it appears whole or not at all",
    )
    parser.add_options("""
        --overwrite  let OUT be IN itself, which is then lost (another OUT that exists is always replaced)
        """)
    add_filter_options(parser)
    return parser


def _filter(request: Request, verify: bool) -> tuple[np.ndarray, RunResult | None]:
    if not verify:
        return request.filter(), None
    # The result is wanted soon, not measured well, which `bench` does: samples took 0.1 s of each command.
    applied = request.measure(NO_SAMPLES)
    return applied.values, applied.result


def _what_ran(options: argparse.Namespace, request: Request, mask: Mask) -> str:
    variant, problem, device = request.choice.variant, request.problem, request.device
    name = printable(mask.name) or "a mask"
    size = "" if names_size(name, mask.rows, mask.columns) else f"{mask.rows} x {mask.columns}"
    about = ", ".join(part for part in (size, "rotated by 180 degrees" if options.flip else "") if part)
    block = f", block {request.choice.block}" if variant.uses_block else ""
    is_packed = request.asked.layout is Layout.PACKED and device.kind == "cuda"
    rows = f", {request.asked.layout} rows" if is_packed else ""
    rounded = f", {problem.result_dtype} results" if problem.is_quantised else ""
    chosen = f" (auto: {request.choice.reason})" if request.choice.reason else ""
    return (
        f"{printable(options.output)}: {operation_of(options)} with {name}"
        f"{f' ({about})' if about else ''}, border {problem.border}, "
        f"by {variant.key} on {device.title}{block}{rows}{rounded}{chosen}"
    )


def _how_it_went(proof: RunResult | None, elapsed_ms: float) -> str:
    if proof is None:
        return f"{elapsed_ms:.3g} ms with everything, not verified"
    if proof.timing is None:
        return f"no times: the simulator's mean nothing; {proof.status}"
    kernel, whole_ms = proof.timing.kernel, proof.timing.end_to_end.median_ms
    times = f"kernel {kernel.median_ms:.3g} ms, end to end {whole_ms:.3g} ms"
    return f"{times}; {proof.status}"


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
        "mask": {"name": mask.name} | mask_document(mask),
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
