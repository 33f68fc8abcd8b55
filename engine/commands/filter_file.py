"""Filters a picture that `filter` has opened, saves the result, and prints how it went."""

import argparse
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np

from engine.api.filtering import Request
from engine.commands.filter_options import operation_of, unused_options, unused_quality
from engine.commands.filter_steps import finished_result, request_for
from engine.commands.opening import Opened
from engine.commands.output import log_notes, mask_document, print_answer, print_json, printable
from engine.errors import EngineError
from engine.files.atomic_write import atomic_write
from engine.geometry.layout import Layout
from engine.image.form import Form
from engine.image.picture import Picture
from engine.image.save import encoded_image
from engine.mask.mask import Mask, names_size
from engine.results.measurement import RunResult
from engine.run.sampling import HARDLY_SAMPLED

FORMAT, VERSION = "haloscope-filter", 1


def load_code(options: argparse.Namespace, mask: Mask, form: Form) -> None:
    """Load the code that will filter a picture of about that form on the CPU, before there is one.

    What cannot be filtered is refused when it is there.
    """
    if form.decoded_bytes > options.max_bytes:
        return
    with suppress(EngineError, MemoryError):
        # Its memory is not touched.
        picture = Picture(np.empty(form.colour_shape, form.dtype))
        request = request_for(options, mask, picture, picture.dtype)
        if request.device.kind == "cpu":
            request.choice.variant.prepare(request.problem, request.mask, request.choice.block)


def filter_file(options: argparse.Namespace, mask: Mask, opened: Opened) -> None:
    """Filter a picture, save the result, and print notes and the answer."""
    picture = opened.picture
    request = request_for(options, mask, picture, opened.dtype)
    encoded: list[Future[tuple[bytes, tuple[str, ...]]]] = []
    with ThreadPoolExecutor(1, thread_name_prefix="filter-encode") as encoder:

        def encode(values: np.ndarray) -> None:
            shaped = values.reshape(request.shape)
            encoded.append(encoder.submit(_encoded, options, *finished_result(options, opened, shaped)))

        begin = time.perf_counter()
        # A result of the file's type is encoded while it is verified.
        values, proof = _filter(request, options, encode)
        elapsed_ms = (time.perf_counter() - begin) * 1e3
        if not encoded:
            finished, lost = finished_result(options, opened, values)
            # Before it is encoded: it takes four times the memory of an 8-bit picture.
            del values
            encoded.append(encoder.submit(_encoded, options, finished, lost))
        data, lost_or_left = encoded[0].result()
    atomic_write(options.output, data)
    unused = (*unused_options(options, picture, request), *unused_quality(options, [options.output]))
    notes = (*picture.notes, *unused, *lost_or_left)
    log_notes(notes)
    if options.json:
        print_json(_document(options, request, mask, proof, elapsed_ms, notes))
    else:
        print_answer(f"{_what_ran(options, request, mask)}\n{_how_it_went(proof, elapsed_ms)}")


def _encoded(
    options: argparse.Namespace, finished: Picture, lost: tuple[str, ...]
) -> tuple[bytes, tuple[str, ...]]:
    """Return the bytes of the file, and a sentence for each value and thing that it does not hold."""
    data, left_out = encoded_image(finished, options.output, quality=options.quality)
    return data, (*lost, *left_out)


def _filter(
    request: Request, options: argparse.Namespace, on_values: Callable[[np.ndarray], object]
) -> tuple[np.ndarray, RunResult | None]:
    if not options.verify:
        return request.filter(), None
    # The result is wanted soon, not measured well, which `bench` does: samples took 0.1 s of each command.
    applied = request.measure(replace(HARDLY_SAMPLED, is_recorded=options.json), on_values)
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
    chosen = f" (auto: {request.choice.reason.clauses})" if request.choice.reason else ""
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
