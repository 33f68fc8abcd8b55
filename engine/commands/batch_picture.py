"""One picture of a batch: opened, computed, proven and encoded, in memory that the next one uses again."""

import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from engine.commands.batch_files import PictureFile
from engine.commands.batch_watch import say_begun
from engine.commands.picture_opening import Opened, open_picture, work_bytes
from engine.commands.picture_work import AFFORDABLE_MULTIPLY_ADDS, PictureWork, Result
from engine.errors import EngineError
from engine.flow.converted import bands_to_convert, convert
from engine.flow.picture_memory import Loan
from engine.flow.plan import Plan
from engine.image.budget import RAISE_LIMIT
from engine.image.result_picture import finished_picture
from engine.image.save import encoded_image
from engine.verify.checked_samples import CheckedSamples
from engine.verify.verification import Verification
from engine.work.filtering.agreement import regions_to_check
from engine.work.filtering.clipping import Clipped


class Ran(NamedTuple):
    """What filtered a file elsewhere: key of the variant, title of the device, name of the machine."""

    variant: str
    device: str
    machine: str


@dataclass(frozen=True, slots=True)
class Finished:
    """The outcome of one file: why there is no result, or its notes and, if checked, its verification."""

    file: PictureFile
    error: EngineError | None = None
    notes: tuple[str, ...] = ()
    verification: Verification | None = None
    found: Mapping[str, object] = field(default_factory=dict)  # by an operation, for JSON
    clipped: Clipped | None = None  # how much of the result is, where some can be
    ran: Ran | None = None  # where a cluster filtered it


@dataclass(frozen=True, slots=True)
class Job:
    """A picture that can be filtered, and its memory."""

    file: PictureFile
    how: PictureWork
    opened: Opened
    call: Any  # of `how`
    loan: Loan

    @property
    def seed(self) -> int:
        """The seed of the pixels that are checked: other ones in each picture."""
        return zlib.crc32(self.file.source.encode(errors="surrogateescape"))

    def room(self) -> np.ndarray:
        """Return an array for what the variant writes."""
        call = self.call
        return self.loan.result(call.samples, call.problem.result_dtype, call.problem.result_shape)

    def filtered(self) -> np.ndarray:
        """Return what the variant writes."""
        values: np.ndarray = self.call.filter(self.room())
        return values

    def filtered_and_encoded(self) -> tuple[bytes | memoryview, Finished]:
        """Filter the picture on the CPU, verify the result and encode it. Called on: any thread."""
        if not self.is_converted:
            return self.verified_and_encoded(self.filtered())
        call, how, opened, plan = self.call, self.how, self.opened, Plan.of(self.call)
        regions = regions_to_check(call.problem, self.seed, AFFORDABLE_MULTIPLY_ADDS)
        checked = CheckedSamples(
            call.samples.shape, np.dtype(np.float32), regions if how.saving.verify else ()
        )
        out = self.loan.result(call.samples, opened.dtype)
        highest = max(band.length for band in bands_to_convert(plan))
        rows = np.broadcast_to(call.samples[:1], (highest, *call.samples.shape[1:]))
        loss = convert(plan, out, self.loan.result(rows, np.float32), checked, how.saving.range)
        verification, pixels = how.verified(call, checked, self.seed), out.reshape(call.shape)
        finished = finished_picture(opened.picture, pixels, pixels.dtype)
        result = Result(finished, loss.sentences(pixels.size, pixels.dtype))
        return self._encoded(result, verification, pixels)

    @property
    def is_converted(self) -> bool:
        """Whether results are converted band by band: of a mask, whole numbers in, whole numbers out.

        An alpha that is filtered is converted otherwise than the colours; a chain would do its halos twice.
        """
        call, opened, saving = self.call, self.opened, self.how.saving
        return (
            self.how.mask is not None
            and call.choice.variant.band_invariant
            and not call.problem.is_quantised
            and np.dtype(np.float32) not in {call.samples.dtype, opened.dtype}
            and (saving.alpha == "keep" or opened.picture.alpha is None)
            and bool(call.is_finite)
        )

    def verified_and_encoded(self, values: np.ndarray) -> tuple[bytes | memoryview, Finished]:
        """Verify a result and encode it. Called on: any thread."""
        verification = self.how.verified(self.call, values, self.seed)
        return self._encoded(self.how.finished(self.call, self.opened, values), verification, values)

    def _encoded(
        self, result: Result, verification: Verification | None, values: np.ndarray
    ) -> tuple[bytes | memoryview, Finished]:
        asked, file = self.how.saving, self.file
        data, left_out = encoded_image(
            result.picture,
            file.target,
            quality=asked.quality,
            metadata=asked.metadata,
            saved_as=file.saved_as,
        )
        picture = self.opened.picture
        notes = (*picture.notes, *self.how.picture_notes(picture), *result.lost, *left_out)
        found = {**self.how.facts(self.call), **result.found} if result.found else {}
        clipped = self.how.clipped(self.call, self.opened, values)
        return data, Finished(file, None, notes, verification, found, clipped=clipped)


def open_file(how: PictureWork, file: PictureFile, loan: Loan, remedy: str = RAISE_LIMIT) -> Opened:
    """Open a picture and check that its result can be saved. Called on: any thread.

    `remedy` says what helps where the picture takes more memory than allowed.
    """
    if file.refusal is not None:
        raise file.refusal
    asked, saving, saved_as = how.asked, how.saving, file.saved_as
    assert saved_as is not None
    say_begun(file.source)
    return open_picture(
        asked,
        saving,
        file.source,
        file.target,
        saved_as,
        lambda form: loan.picture(form, work_bytes(asked, saving, form, saved_as)),
        remedy=remedy,
    )


def job_for(how: PictureWork, file: PictureFile, opened: Opened, loan: Loan) -> Job:
    """Return the job of a picture that the variant can filter; raise an EngineError where it cannot."""
    call = how.call(opened)
    call.job().refuse(call.device)
    return Job(file, how, opened, call, loan)
