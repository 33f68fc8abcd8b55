"""The steps of one file of a batch: open, look up what filters it, verify and encode, write."""

import argparse
import os
import zlib
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from engine.commands.batch_bands import filtered_in_bands, is_for_bands
from engine.commands.batch_files import Task, why_not_new
from engine.commands.batch_memory import Loan
from engine.commands.filter_steps import finished_result, request_for
from engine.commands.opening import Opened, open_for, work_bytes
from engine.errors import EngineError, VerificationFailed
from engine.files.atomic_write import atomic_write
from engine.files.output_checks import make_folder
from engine.image.picture import Picture
from engine.image.result_picture import converted_picture
from engine.image.save import encoded_image
from engine.mask.mask import Mask
from engine.run.device_choice import refuse_unsuitable
from engine.shortages import shortage_of
from engine.tasks.filtering.agreement import regions_to_check, verify
from engine.tasks.filtering.task import refuse_strange_samples
from engine.verify.checked_samples import CheckedSamples
from engine.verify.verification import Verification

# Multiply-adds that the oracle may spend on a picture: 8 to 16 ms on one core. Every pixel of a photograph
# would take longer than all else together; of a larger one it checks the edges and a grid of pixels.
AFFORDABLE_MULTIPLY_ADDS = 20_000_000


@dataclass(frozen=True, slots=True)
class Finished:
    """The outcome of one file: why there is no result, or its notes and, if checked, its verification."""

    task: Task
    error: EngineError | None = None
    notes: tuple[str, ...] = ()
    verification: Verification | None = None
    found: dict[str, Any] = field(default_factory=dict)  # what an operation found, for JSON


@dataclass(frozen=True, slots=True)
class Job:
    """A picture that can be filtered, and its memory."""

    task: Task
    opened: Opened
    request: Any  # a `Request`, or an `OperationCall`
    loan: Loan


@dataclass(frozen=True, slots=True)
class Encoded:
    """The bytes of a result, and what will be reported when they are written."""

    data: bytes
    finished: Finished


def open_task(options: argparse.Namespace, task: Task, loan: Loan) -> Opened:
    """Open a picture and check that its result can be saved. Called on: any thread."""
    if task.refusal is not None:
        raise task.refusal
    needed_bytes = work_bytes(options, task.target)
    return open_for(options, task.source, task.target, lambda form: loan.picture(form, needed_bytes(form)))


def look_up(
    options: argparse.Namespace,
    mask: Mask | None,
    task: Task,
    opened: Opened,
    loan: Loan,
    *,
    in_bands: bool = False,
) -> Job:
    """Return the job of a picture that the variant can filter; raise an EngineError where it cannot.

    `in_bands` says that the picture may be filtered in bands.
    """
    if mask is None:
        from engine.commands.batch_operation import call_of

        return Job(task, opened, call_of(options, opened), loan)
    request = request_for(options, mask, opened.picture, opened.dtype)
    if in_bands and not request.choice.variant.band_invariant:
        # Of 8-bit results the variant would be fixed.
        request = request_for(options, mask, opened.picture)
    choice = request.choice
    refuse_unsuitable(choice.variant, request.problem, request.mask, choice.block, request.device)
    refuse_strange_samples(choice.variant, request.samples)
    return Job(task, opened, request, loan)


def filter_and_encode(options: argparse.Namespace, job: Job) -> Encoded:
    """Filter a picture on the CPU, verify the result and encode it. Called on: any thread."""
    request, opened = job.request, job.opened
    if options.operation is not None or not is_for_bands(options, opened, request):
        values = request.filter(job.loan.result(request.samples, request.problem.result_dtype))
        return verify_and_encode(options, job, values)
    checked = _to_check(job) if options.verify else None
    pixels = filtered_in_bands(options, opened, request, job.loan, checked)
    verification = None if checked is None else _verified(job, checked)
    return _encoded(options, job, converted_picture(opened.picture, pixels), (), verification)


def verify_and_encode(options: argparse.Namespace, job: Job, values: np.ndarray) -> Encoded:
    """Verify a result and encode it. Called on: any thread."""
    if options.operation is not None:
        from engine.commands.batch_operation import verified_and_encoded

        data, notes, verification, found = verified_and_encoded(
            options, job.opened, job.request, values, job.task.source, job.task.target
        )
        return Encoded(data, Finished(job.task, None, notes, verification, found))
    verification = _verified(job, values.reshape(job.request.samples.shape)) if options.verify else None
    finished, lost = finished_result(options, job.opened, values)
    return _encoded(options, job, finished, lost, verification)


def _encoded(
    options: argparse.Namespace,
    job: Job,
    finished: Picture,
    lost: tuple[str, ...],
    verification: Verification | None,
) -> Encoded:
    data, left_out = encoded_image(finished, job.task.target, quality=options.quality)
    notes = (*job.opened.picture.notes, *lost, *left_out)
    return Encoded(data, Finished(job.task, None, notes, verification))


def write(encoded: Encoded) -> Finished:
    """Write a file, whole or not at all. Called on: any thread."""
    task = encoded.finished.task
    target = task.target
    make_folder(os.path.dirname(target) or ".", with_parents=True)
    # Asked again: another program may have written it since the batch began, hours ago.
    if not task.replaces and (why_not := why_not_new(target)):
        raise why_not
    atomic_write(target, encoded.data)
    return encoded.finished


def _verified(job: Job, values: np.ndarray | CheckedSamples) -> Verification:
    request, variant = job.request, job.request.choice.variant
    verification = verify(
        values,
        request.samples,
        request.mask,
        request.problem,
        seed=_seed(job),
        affordable=AFFORDABLE_MULTIPLY_ADDS,
        added_error=variant.added_error(request.problem, request.mask),
        steps=variant.added_steps(request.mask),
    )
    if not verification.passed:
        what = f"The result of '{variant.key}'"
        raise VerificationFailed(what, verification.reason, "Choose another variant.")
    return verification


def _to_check(job: Job) -> CheckedSamples:
    regions = regions_to_check(job.request.problem, _seed(job), AFFORDABLE_MULTIPLY_ADDS)
    return CheckedSamples(job.request.samples.shape, np.dtype(np.float32), regions)


def _seed(job: Job) -> int:
    """Return the seed of the pixels that are checked: other ones in each picture."""
    return zlib.crc32(job.task.source.encode(errors="surrogateescape"))


def failed(task: Task, error: Exception) -> Finished:
    """Return the outcome of a file that an EngineError or a MemoryError kept from being filtered."""
    why = error if isinstance(error, EngineError) else shortage_of(error)
    assert why is not None
    return Finished(task, why)
