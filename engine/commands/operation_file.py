"""Does an operation on a picture that `filter` has opened, saves the result, and prints how it went."""

import argparse
import time
from dataclasses import replace
from typing import Any

from engine.commands.filter_options import unused_quality
from engine.commands.opening import Opened
from engine.commands.operation_options import (
    answer_document,
    call_for,
    finished_answer,
    numbers_text,
    unused_operation_options,
)
from engine.commands.output import log_notes, print_answer, print_json, printable
from engine.files.atomic_write import atomic_write
from engine.image.save import encoded_image
from engine.run.sampling import HARDLY_SAMPLED

FORMAT, VERSION = "haloscope-operation", 1


def operate_file(options: argparse.Namespace, opened: Opened) -> None:
    """Do the operation, save the result, and print notes and the answer."""
    picture = opened.picture
    call = call_for(options, picture)
    begin = time.perf_counter()
    proof: Any = None
    if options.verify:
        applied = call.measure(replace(HARDLY_SAMPLED, is_recorded=options.json))
        values, proof = applied.values, applied.result
    else:
        values = call.filter()
    elapsed_ms = (time.perf_counter() - begin) * 1e3
    answer = call.answer(values)
    finished = finished_answer(options, picture, answer, opened.dtype)
    data, left_out = encoded_image(finished, options.output, quality=options.quality)
    atomic_write(options.output, data)
    unused = (*unused_operation_options(options, call), *unused_quality(options, [options.output]))
    notes = (*picture.notes, *unused, *left_out)
    log_notes(notes)
    choice = call.choice
    if options.json:
        document = {"format": FORMAT, "version": VERSION, "input": options.input, "output": options.output}
        document |= answer_document(call, answer)
        document |= {
            "variant": choice.variant.key,
            "device": call.device.key,
            "block": {"x": choice.block.x, "y": choice.block.y} if choice.variant.uses_block else None,
            "layout": str(call.asked.layout) if call.device.kind == "cuda" else None,
            "verified": proof is not None,
            "elapsed_ms": elapsed_ms,
            "result": None if proof is None else proof.as_json(),
            "notes": list(notes),
        }
        print_json(document)
        return
    block = f", block {choice.block}" if choice.variant.uses_block else ""
    chosen = f" (auto: {choice.reason.clauses})" if choice.reason else ""
    head = (
        f"{printable(options.output)}: {call.problem.operation_text} by {choice.variant.key} on "
        f"{call.device.title}{block}{chosen}"
    )
    found = numbers_text(answer)
    print_answer("\n".join(line for line in (head, found, _how_it_went(proof, elapsed_ms)) if line))


def _how_it_went(proof: Any, elapsed_ms: float) -> str:
    if proof is None:
        return f"{elapsed_ms:.3g} ms with everything, not verified"
    if proof.timing is None:
        return f"no times: the simulator's mean nothing; {proof.status}"
    kernel, whole_ms = proof.timing.kernel, proof.timing.end_to_end.median_ms
    return f"kernel {kernel.median_ms:.3g} ms, end to end {whole_ms:.3g} ms; {proof.status}"
