"""`batch`: many picture files in, a folder of results out; a file that fails does not stop the others."""

import argparse
import os
import time
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from engine import interrupts
from engine.commands import BAD_INPUT, DONE, NOT_VERIFIED
from engine.commands.arguments import Parser, one_of
from engine.commands.batch_device import settle_device
from engine.commands.batch_files import is_unmatched_pattern, tasks_for
from engine.commands.batch_pipeline import Batch
from engine.commands.batch_steps import Finished
from engine.commands.filter_options import (
    add_filter_options,
    is_operation,
    mask_of,
    operation_of,
    unused_options,
    unused_quality,
)
from engine.commands.filter_steps import request_for
from engine.commands.opening import check_format, depth_of_result
from engine.commands.output import log, log_notes, print_answer, print_json, printable
from engine.errors import BadValue, DeviceFault, EngineError, FileWriteError, VerificationFailed
from engine.files.output_checks import check_place, make_folder
from engine.image import formats
from engine.image.picture import Picture
from engine.mask.mask import Mask
from engine.run.device_choice import refuse_unsuitable

FORMAT, VERSION = "haloscope-batch", 1

_EXAMPLES = (
    "photos --out soft --mask gaussian:9:1.5 --border mirror",
    "a.jpg b.jpg c.png --out edges --mask sobel-x --range absolute --format png",
    "scans --recursive --out sharper --mask sharpen --result-type same --overwrite",
    '"shots/*.tif" --out out --mask box:31 --no-verify --json',
)


def run(arguments: list[str]) -> int:
    """Filter the files; return the exit status."""
    options = _parser().read(arguments)
    mask = None if is_operation(options) else mask_of(options)
    notes = _check(options, mask)
    tasks = tasks_for(
        options.inputs,
        options.out,
        extension="" if options.format == "keep" else f".{options.format}",
        recursive=options.recursive,
        overwrite=options.overwrite,
    )
    if not tasks:
        raise BadValue(
            f"{', '.join(options.inputs)}: nothing to filter",
            "there is no picture in it",
            "Add --recursive to look into its folders too, or name the files.",
        )
    if tasks[0].refusal is not None and all(is_unmatched_pattern(task.source) for task in tasks):
        raise tasks[0].refusal
    _prepare_folder(options.out or ".")
    is_on_cpu = settle_device(options, mask, tasks, notes)
    log_notes([*notes, *unused_quality(options, [task.target for task in tasks])])
    outcomes: list[Finished] = []

    def on_finished(finished: Finished) -> None:
        outcomes.append(finished)
        _log_progress(finished, f"[{len(outcomes)}/{len(tasks)}]")

    batch = Batch(options, mask, tasks, on_finished, is_on_cpu=is_on_cpu)
    begin = time.perf_counter()
    fault: DeviceFault | None = None

    def stopped_at_once() -> str:
        return printable(f"Stopped: {batch.written} of {len(tasks)} pictures filtered into {options.out}.")

    try:
        with interrupts.telling(stopped_at_once), interrupts.calling(batch.stop):
            batch.run()
    except DeviceFault as error:
        fault = error
        known = {finished.task for finished in outcomes}
        outcomes += [Finished(task, error) for task in tasks if task not in known]
    elapsed_s = time.perf_counter() - begin
    order = {task: number for number, task in enumerate(tasks)}
    outcomes.sort(key=lambda finished: order[finished.task])
    if options.json:
        print_json(_document(options, mask, batch, outcomes, elapsed_s, len(tasks)))
    else:
        stopped = "Stopped: " if batch.is_stopped else ""
        print_answer(stopped + _summary(options, batch, outcomes, elapsed_s, len(tasks)))
    if batch.is_stopped:
        return interrupts.exit_status(DONE)
    if fault is not None:
        raise fault
    errors = [finished.error for finished in outcomes if finished.error is not None]
    if any(isinstance(error, VerificationFailed) for error in errors):
        return NOT_VERIFIED
    return BAD_INPUT if errors else DONE


def _check(options: argparse.Namespace, mask: Mask | None) -> list[str]:
    """Refuse what is wrong with every picture; return a sentence for each option that will change nothing."""
    pixel = np.zeros((1, 1), np.uint8)
    probe = Picture(pixel, pixel, None)
    dtype = depth_of_result(probe, options)
    if options.format != "keep" and options.depth != "keep":
        try:
            check_format(f"picture.{options.format}", probe.pixels.shape, dtype, options.quality)
        except EngineError as error:
            what = f"--format {options.format} with --depth {options.depth}"
            raise BadValue(what, error.why, error.remedy) from error
    if mask is None:
        from engine.commands.operation_options import read_operation

        # What a picture is too small or too grey for is known when it is opened.
        read_operation(options)
        return []
    # Which pictures can have results of their own type is known when they are opened.
    request = request_for(argparse.Namespace(**vars(options) | {"result_type": "float32"}), mask, probe)
    choice = request.choice
    refuse_unsuitable(choice.variant, request.problem, request.mask, choice.block, request.device)
    return unused_options(options, probe, request)


def _parser() -> Parser:
    parser = Parser(
        "batch",
        "Results keep the names of their pictures. Each is verified before it is saved (large ones on edges "
        "and a grid), and appears whole or not at all; nothing is replaced without --overwrite. A file "
        "that fails is listed with its reason and does not stop the others; the exit status is not 0 then. "
        "On a GPU the pictures go through in one stream, copies beside kernels.",
        _EXAMPLES,
    )
    parser.add_argument(
        "inputs", nargs="+", metavar="IN", help="pictures, folders of pictures, or patterns in quotes"
    )
    choices = ("keep", *(suffix.lstrip(".") for suffix in formats.offered_suffixes()))
    not_written = formats.titles((known for known in formats.FORMATS if known.encode is None), "and")
    parser.add_options(
        f"""
        --out FOLDER     folder for the results; it is made if it does not exist
        --format FORMAT  of the results: {", ".join(choices)} (keep: each picture's own; {not_written}
                         are not written)
        --recursive      also search the folders within folders, and make them in --out
        --overwrite      replace files of the same names
        """,
        out={"required": True},
        format={"type": one_of("--format", choices), "default": "keep"},
    )
    add_filter_options(parser)
    return parser


def _prepare_folder(folder: str) -> None:
    """Make the folder for the results, and check that files can be written there."""
    make_folder(folder, with_parents=True)
    try:
        check_place(os.path.join(folder, "result"))
    except FileWriteError as error:
        raise FileWriteError(
            f"No result can be written into the folder {folder!r}", error.why, "Choose another folder."
        ) from error


def _log_progress(finished: Finished, number: str) -> None:
    task = finished.task
    log(f"{number} {f'{task.source} -> {task.target}' if finished.error is None else _failure(finished)}")
    log_notes([f"{task.source}: {note}" for note in finished.notes])


def _failure(finished: Finished) -> str:
    """Return why a file failed, after its name where the reason does not begin with it."""
    source, reason = finished.task.source, str(finished.error)
    return reason if reason.startswith(source) else f"{source}: {reason}"


def _summary(
    options: argparse.Namespace, batch: Batch, outcomes: Sequence[Finished], elapsed_s: float, total: int
) -> str:
    done = [finished for finished in outcomes if finished.error is None]
    failed = [finished for finished in outcomes if finished.error is not None]
    pictures = "picture" if total == 1 else "pictures"
    done_with = "filtered" if options.operation is None else f"computed ({options.operation})"
    line = f"{len(done)} of {total} {pictures} {done_with} into {printable(options.out)}"
    if done:
        line += f", by {', '.join(batch.variants)} on {', '.join(batch.devices)}{_proof(done)}"
    line += f"; {elapsed_s:.3g} s"
    if done:
        line += f", {len(done) / elapsed_s:.3g} per second"
    failures = [f"  {printable(_failure(finished))}" for finished in failed]
    return "\n".join([line, *([f"{len(failed)} failed:"] if failed else []), *failures])


def _proof(done: Sequence[Finished]) -> str:
    proofs = [finished.verification for finished in done if finished.verification is not None]
    if not proofs:
        return ", not verified"
    in_part = any(proof.checked_pixels < proof.total_pixels for proof in proofs)
    return f", each verified{' (large ones on a part of their pixels)' if in_part else ''}"


def _document(
    options: argparse.Namespace,
    mask: Mask | None,
    batch: Batch,
    outcomes: Sequence[Finished],
    elapsed_s: float,
    total: int,
) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "version": VERSION,
        "out": options.out,
        "operation": operation_of(options),
        "mask": None if mask is None else {"name": mask.name, "rows": mask.rows, "columns": mask.columns},
        "border": options.border if mask else None,
        "variants": list(batch.variants),
        "devices": list(batch.devices),
        "elapsed_s": elapsed_s,
        "pictures": total,
        "done": sum(finished.error is None for finished in outcomes),
        "failed": sum(finished.error is not None for finished in outcomes),
        "files": [_file(finished) for finished in outcomes],
    }


def _file(finished: Finished) -> dict[str, Any]:
    return {
        "input": finished.task.source,
        "output": finished.task.target if finished.error is None else None,
        "failure": "" if finished.error is None else str(finished.error),
        "verification": None if finished.verification is None else asdict(finished.verification),
        **finished.found,
        "notes": list(finished.notes),
    }
