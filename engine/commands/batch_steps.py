"""What is done to one file of a batch: opened, looked up, verified and saved. Each raises an `EngineError` in words."""

import argparse
import os
import zlib
from dataclasses import dataclass
from typing import Any

import numpy as np

from engine.api.filtering import Request
from engine.commands.batch_files import Task
from engine.commands.filter_memory import WORK, work_bytes
from engine.commands.filter_options import request_for
from engine.commands.finishing import depth_of_result
from engine.commands.result_checks import check_format
from engine.errors import EngineError, FileWriteError, VerificationFailed
from engine.image.open import open_image
from engine.image.picture import Picture
from engine.image.result_picture import finished_picture, lost_values
from engine.image.save import save_image
from engine.mask.mask import Mask
from engine.run.device_choice import refuse_unsuitable
from engine.tasks.filtering.agreement import verify
from engine.tasks.filtering.task import refuse_strange_samples
from engine.verify.verification import Verification

# Multiply-adds that the oracle may spend on a picture: 40 ms on one core. Every pixel of a photograph would take it longer
# than everything else together; of a larger one the edges and spread rectangles are compared, others in each picture.
AFFORDABLE_MULTIPLY_ADDS = 20_000_000


@dataclass(frozen=True, slots=True)
class Finished:
    """What came of one file.

    Parameters
    ----------
    task : Task
    error : EngineError, optional
        Why there is no result.
    notes : tuple of str
        What a person should know of the picture or of the file that was written.
    verification : Verification, optional
    """

    task: Task
    error: EngineError | None = None
    notes: tuple[str, ...] = ()
    verification: Verification | None = None


@dataclass(frozen=True, slots=True)
class Opened:
    """A picture and the sample type that it will be saved in."""

    task: Task
    picture: Picture
    dtype: np.dtype[Any]


@dataclass(frozen=True, slots=True)
class Job:
    """A picture that can be filtered."""

    opened: Opened
    request: Request


def open_task(options: argparse.Namespace, task: Task) -> Opened:
    """Open a picture and look at the place of its result. Called on: any thread."""
    if task.refusal is not None:
        raise task.refusal
    picture = open_image(
        task.source, max_bytes=options.max_bytes, work_bytes=work_bytes(options, task.target), work=WORK
    )
    dtype = depth_of_result(picture, options.depth, options.range, options.result_type)
    check_format(task.target, picture.channels, dtype, options.quality)
    return Opened(task, picture, dtype)


def look_up(options: argparse.Namespace, mask: Mask, opened: Opened) -> Job:
    """Return the job of a picture that the variant can filter."""
    request = request_for(options, mask, opened.picture)
    choice = request.choice
    refuse_unsuitable(choice.variant, request.problem, request.mask, choice.block, request.device)
    refuse_strange_samples(choice.variant, request.samples)
    return Job(opened, request)


def verify_and_save(options: argparse.Namespace, job: Job, values: np.ndarray) -> Finished:
    """Verify a result and save it. Called on: any thread."""
    opened = job.opened
    seed = zlib.crc32(opened.task.source.encode(errors="surrogateescape"))
    verification = _verified(job.request, values, seed) if options.verify else None
    finished = finished_picture(
        opened.picture,
        # Whole numbers of 8 and 16 bit stay what they are in float32.
        values.astype(np.float32, copy=False),
        opened.dtype,
        options.range,
        with_alpha=options.alpha == "filter",
    )
    _make_folder(os.path.dirname(opened.task.target))
    left_out = save_image(finished, opened.task.target, quality=options.quality)
    notes = (*opened.picture.notes, *lost_values(values, opened.dtype), *left_out)
    return Finished(opened.task, None, notes, verification)


def _verified(request: Request, values: np.ndarray, seed: int) -> Verification:
    variant = request.choice.variant
    verification = verify(
        values.reshape(request.samples.shape),
        request.samples,
        request.mask,
        request.problem,
        seed=seed,
        affordable=AFFORDABLE_MULTIPLY_ADDS,
        added_error=variant.added_error(request.problem, request.mask),
    )
    if not verification.passed:
        raise VerificationFailed(
            f"The result of '{variant.key}'", verification.reason, "Choose another variant."
        )
    return verification


def _make_folder(folder: str) -> None:
    try:
        os.makedirs(folder or ".", exist_ok=True)
    except OSError as error:
        raise FileWriteError(
            f"The folder {folder} cannot be made",
            (error.strerror or str(error)).lower(),
            "Choose another folder.",
        ) from error
