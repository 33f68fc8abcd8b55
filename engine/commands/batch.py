"""`batch`: many picture files in, a folder of filtered pictures out; a file that fails does not stop the others."""

import argparse
import itertools
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from engine.commands import BAD_INPUT, DONE, INTERRUPTED, NOT_VERIFIED
from engine.commands.arguments import Parser, one_of
from engine.commands.batch_files import is_unmatched_pattern, tasks_for
from engine.commands.batch_pipeline import Batch
from engine.commands.batch_steps import Finished
from engine.commands.filter_options import (
    add_filter_options,
    mask_of,
    operation_of,
    request_for,
    unused_options,
    unused_quality,
)
from engine.commands.finishing import depth_of_result
from engine.commands.output import printable, say, say_json, tell, tell_notes
from engine.commands.result_checks import check_format
from engine.errors import BadValue, DeviceFault, EngineError, FileWriteError, VerificationFailed
from engine.files.output_checks import check_place
from engine.image.picture import Picture
from engine.mask.mask import Mask
from engine.run.device_choice import refuse_unsuitable

FORMAT, VERSION = "haloscope-batch", 1
FORMATS = ("keep", "png", "jpg", "tif", "webp")

_EXAMPLES = (
    "photos --out soft --mask gaussian:9:1.5 --border mirror",
    "a.jpg b.jpg c.png --out edges --mask sobel-x --range absolute --format png",
    "scans --recursive --out sharper --mask sharpen --result-type same --overwrite",
    '"shots/*.tif" --out out --mask box:31 --no-verify --json',
)


def run(arguments: list[str]) -> int:
    """Filter the files; return the exit status."""
    options = _parser().read(arguments)
    if options is None:
        return DONE
    mask = mask_of(options)
    notes = _look_at(options, mask)
    extension = "" if options.format == "keep" else f".{options.format}"
    tasks = tasks_for(
        options.inputs,
        options.out,
        extension=extension,
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
    _make_place(options.out)
    tell_notes([*notes, *unused_quality(options, [task.target for task in tasks])])
    outcomes: list[Finished] = []
    show = _show_progress(len(tasks))

    def on_finished(finished: Finished) -> None:
        outcomes.append(finished)
        show(finished)

    batch = Batch(options, mask, tasks, on_finished)
    begin = time.perf_counter()
    fault: DeviceFault | None = None
    is_stopped = False
    try:
        batch.run()
    except KeyboardInterrupt:
        is_stopped = True
    except DeviceFault as error:
        fault = error
        known = {finished.task for finished in outcomes}
        outcomes += [Finished(task, error) for task in tasks if task not in known]
    elapsed_s = time.perf_counter() - begin
    order = {task: number for number, task in enumerate(tasks)}
    outcomes.sort(key=lambda finished: order[finished.task])
    if options.json:
        say_json(_document(options, mask, batch, outcomes, elapsed_s, len(tasks)))
    else:
        say(("Stopped: " if is_stopped else "") + _summary(options, batch, outcomes, elapsed_s, len(tasks)))
    if is_stopped:
        return INTERRUPTED
    if fault is not None:
        raise fault
    errors = [finished.error for finished in outcomes if finished.error is not None]
    if any(isinstance(error, VerificationFailed) for error in errors):
        return NOT_VERIFIED
    return BAD_INPUT if errors else DONE


def _look_at(options: argparse.Namespace, mask: Mask) -> list[str]:
    """Refuse what would be wrong with every picture; return a sentence for each option that will change nothing."""
    pixel = np.zeros((1, 1), np.uint8)
    probe = Picture(pixel, pixel, None)
    dtype = depth_of_result(probe, options.depth, options.range, options.result_type)
    if options.format != "keep" and options.depth != "keep":
        try:
            check_format(f"picture.{options.format}", probe.channels, dtype, options.quality)
        except EngineError as error:
            raise BadValue(
                f"--format {options.format} with --depth {options.depth}", error.why, error.remedy
            ) from error
    # Which pictures can have results of their own type is seen when they are opened.
    request = request_for(argparse.Namespace(**vars(options) | {"result_type": "float32"}), mask, probe)
    choice = request.choice
    refuse_unsuitable(choice.variant, request.problem, request.mask, choice.block, request.device)
    return unused_options(options, probe, request)


def _parser() -> Parser:
    parser = Parser(
        "batch",
        "Results keep the names of their pictures. Each is verified before it is saved (large ones on edges and rectangles), and appears whole or not at all; "
        "nothing is replaced without --overwrite. A file that fails is listed with its reason, the others go on, and the "
        "exit status is not 0. On a GPU the pictures go through in one stream, copies beside kernels.",
        _EXAMPLES,
    )
    add = parser.add_argument
    add("inputs", nargs="+", metavar="IN", help="pictures, folders of pictures, or patterns in quotes")
    add("--out", required=True, metavar="FOLDER", help="folder for the results; it is made if need be")
    add(
        "--format",
        type=one_of("--format", FORMATS),
        default="keep",
        metavar="keep",
        help=f"of the results: {', '.join(FORMATS)} (each picture's own; BMP and GIF are not written)",
    )
    add(
        "--recursive",
        action="store_true",
        help="take the folders within folders too, and make them in --out",
    )
    add("--overwrite", action="store_true", help="replace files of the same names")
    add_filter_options(parser)
    return parser


def _make_place(folder: str) -> None:
    """Make the folder for the results, and see that files can be written there."""
    try:
        os.makedirs(folder, exist_ok=True)
    except (OSError, ValueError) as error:
        reason = (getattr(error, "strerror", None) or str(error)).lower()
        raise FileWriteError(
            f"The folder {folder!r} for the results cannot be made", reason, "Choose another folder."
        ) from error
    try:
        check_place(os.path.join(folder, "result.png"))
    except FileWriteError as error:
        raise FileWriteError(
            f"No result can be written into the folder {folder!r}", error.why, "Choose another folder."
        ) from error


def _show_progress(total: int) -> Callable[[Finished], None]:
    numbers = itertools.count(1)

    def show(finished: Finished) -> None:
        task = finished.task
        words = f"{task.source} -> {task.target}" if finished.error is None else _failure(finished)
        tell(f"[{next(numbers)}/{total}] {words}")
        for note in finished.notes:
            tell(f"note: {task.source}: {note}")

    return show


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
    by = f", by {', '.join(batch.variants)} on {', '.join(batch.devices)}" if done else ""
    proof = _proof(done) if done else ""
    speed = f", {len(done) / elapsed_s:.3g} a second" if done else ""
    lines = [
        f"{len(done)} of {total} {pictures} filtered into {printable(options.out)}{by}{proof}; {elapsed_s:.3g} s{speed}"
    ]
    if failed:
        lines.append(f"{len(failed)} failed:")
        lines += [f"  {printable(_failure(finished))}" for finished in failed]
    return "\n".join(lines)


def _proof(done: Sequence[Finished]) -> str:
    proofs = [finished.verification for finished in done if finished.verification is not None]
    if not proofs:
        return ", not verified"
    in_part = any(proof.checked_pixels < proof.total_pixels for proof in proofs)
    return f", each verified{' (large ones on a part of their pixels)' if in_part else ''}"


def _document(
    options: argparse.Namespace,
    mask: Mask,
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
        "mask": {"name": mask.name, "rows": mask.rows, "columns": mask.columns},
        "border": options.border,
        "variants": batch.variants,
        "devices": batch.devices,
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
        "notes": list(finished.notes),
    }
