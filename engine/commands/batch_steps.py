"""The steps of one file of a batch: open, look up what filters it, filter, verify and encode, write."""

import os
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from engine.commands.batch_bands import filtered_in_bands, is_for_bands
from engine.commands.batch_files import PictureFile, why_not_new
from engine.commands.batch_memory import Loan
from engine.commands.picture_filter import Opened, PictureFilter
from engine.commands.picture_run import PictureRun, Result
from engine.errors import EngineError
from engine.files.atomic_write import atomic_write
from engine.files.output_checks import make_folder
from engine.image.result_picture import converted_picture
from engine.image.save import encoded_image
from engine.verify.verification import Verification


@dataclass(frozen=True, slots=True)
class Finished:
    """The outcome of one file: why there is no result, or its notes and, if checked, its verification."""

    file: PictureFile
    error: EngineError | None = None
    notes: tuple[str, ...] = ()
    verification: Verification | None = None
    found: Mapping[str, object] = field(default_factory=dict)  # by an operation, for JSON


@dataclass(frozen=True, slots=True)
class Job:
    """A picture that can be filtered, and its memory."""

    file: PictureFile
    run: PictureRun
    loan: Loan

    @property
    def seed(self) -> int:
        """The seed of the pixels that are checked: other ones in each picture."""
        return zlib.crc32(self.file.source.encode(errors="surrogateescape"))


@dataclass(frozen=True, slots=True)
class Encoded:
    """The bytes of a result, and what will be reported when they are written."""

    data: bytes
    finished: Finished


def open_file(how: PictureFilter, file: PictureFile, loan: Loan) -> Opened:
    """Open a picture and check that its result can be saved. Called on: any thread."""
    if file.refusal is not None:
        raise file.refusal
    assert file.saved_as is not None
    needed_bytes = how.work_bytes(file.saved_as)
    return how.open(
        file.source, file.target, file.saved_as, lambda form: loan.picture(form, needed_bytes(form))
    )


def job_for(
    how: PictureFilter, file: PictureFile, opened: Opened, loan: Loan, *, in_bands: bool = False
) -> Job:
    """Return the job of a picture that the variant can filter; raise an EngineError where it cannot.

    `in_bands` says that the picture may be filtered in bands.
    """
    run = how.run_type()(how, opened)
    run = run.for_bands() if in_bands else run
    run.refuse()
    return Job(file, run, loan)


def filter_and_encode(job: Job) -> Encoded:
    """Filter a picture on the CPU, verify the result and encode it. Called on: any thread."""
    run = job.run
    if not is_for_bands(run):
        return verify_and_encode(job, run.compute(job.loan.result))
    pixels, checked = filtered_in_bands(run, job.loan, job.seed)
    verification = run.verified(checked, job.seed)
    return _encoded(job, Result(converted_picture(run.opened.picture, pixels)), verification)


def verify_and_encode(job: Job, values: np.ndarray) -> Encoded:
    """Verify a result and encode it. Called on: any thread."""
    verification = job.run.verified(values, job.seed)
    return _encoded(job, job.run.finished(values), verification)


def _encoded(job: Job, result: Result, verification: Verification | None) -> Encoded:
    quality = job.run.how.settings.quality
    data, left_out = encoded_image(result.picture, job.file.target, quality=quality)
    notes = (*job.run.opened.picture.notes, *result.lost, *left_out)
    found = {**job.run.facts, **result.found} if result.found else {}
    return Encoded(data, Finished(job.file, None, notes, verification, found))


def write(encoded: Encoded) -> Finished:
    """Write a file, whole or not at all. Called on: any thread."""
    file = encoded.finished.file
    make_folder(os.path.dirname(file.target) or ".", with_parents=True)
    # Asked again: another program may have written it since the batch began, hours ago.
    if not file.replaces and (why_not := why_not_new(file.target)):
        raise why_not
    atomic_write(file.target, encoded.data)
    return encoded.finished


def failed(file: PictureFile, error: Exception) -> Finished:
    """Return the outcome of a file that an EngineError or a MemoryError kept from being filtered."""
    if not isinstance(error, EngineError):
        error = EngineError("Not enough memory", "the system gave no more", "Use a smaller picture.")
    return Finished(file, error)
