"""Who filters the files of a batch: workers of the CPU, a stream on a GPU, or the calling thread one by one.

Over several machines a cluster's workers do (`batch_cluster`).

On the CPU there is a worker per core, and each takes one file all the way: opens, filters, verifies, encodes.
So no core waits for another stage, and a filter has one core, as the others have work of their own.

On a GPU the calling thread filters: all pictures go through one stream (`engine.filter_stream`), so that
copies run beside kernels. The workers open what comes next, and verify and encode what is done.
"""

import zlib
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future
from dataclasses import dataclass, replace
from importlib import import_module
from itertools import chain, islice
from typing import Any, Protocol

import numpy as np

from engine.commands.batch_files import PictureFile
from engine.commands.batch_loop import Finished, Loop, Saving
from engine.commands.batch_memory import Loan, PictureMemory
from engine.commands.batch_plan import BatchPlan
from engine.commands.batch_watch import say_begun
from engine.commands.mask_bands import filtered_in_bands, is_for_bands
from engine.commands.picture_filter import AnyFilter, Result
from engine.commands.picture_opening import Opened, open_picture, work_bytes
from engine.device.core_count import cores, launches_on
from engine.device_info import titles
from engine.errors import DeviceFault, EngineError
from engine.flow.filtering import filter_stream
from engine.image.budget import RAISE_LIMIT
from engine.image.result_picture import finished_picture
from engine.image.save import encoded_image
from engine.verify.verification import Verification

# What the pictures under way may take together, and at least for each core: one of 12 megapixels with float32
# results takes 216 MB. On a GPU about what those that wait before the filter may have, and those after it.
MOST_BYTES = 4 << 30
MOST_BYTES_PER_CORE = 256 << 20
WAITING_BYTES = 1 << 30
# What is kept for the next pictures.
MOST_KEPT_BYTES = 1 << 30


@dataclass(frozen=True, slots=True)
class Job:
    """A picture that can be filtered, and its memory."""

    file: PictureFile
    how: AnyFilter
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
        return self.loan.result(call.samples, call.problem.result_dtype, call.result_shape)

    def filtered(self) -> np.ndarray:
        """Return what the variant writes."""
        values: np.ndarray = self.call.filter(self.room())
        return values

    def filtered_and_encoded(self) -> tuple[bytes | memoryview, Finished]:
        """Filter the picture on the CPU, verify the result and encode it. Called on: any thread."""
        if not is_for_bands(self.how, self.call, self.opened):
            return self.verified_and_encoded(self.filtered())
        pixels, checked, loss = filtered_in_bands(self.how, self.call, self.opened, self.loan, self.seed)
        verification = self.how.verified(self.call, checked, self.seed)
        finished = finished_picture(self.opened.picture, pixels, pixels.dtype)
        return self._encoded(
            Result(finished, loss.sentences(pixels.size, pixels.dtype)), verification, pixels
        )

    def verified_and_encoded(self, values: np.ndarray) -> tuple[bytes | memoryview, Finished]:
        """Verify a result and encode it. Called on: any thread."""
        verification = self.how.verified(self.call, values, self.seed)
        return self._encoded(self.how.finished(self.call, self.opened, values), verification, values)

    def _encoded(
        self, result: Result, verification: Verification | None, values: np.ndarray
    ) -> tuple[bytes | memoryview, Finished]:
        asked, file = self.how.settings, self.file
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


def source_for(plan: BatchPlan) -> "Source":
    """Return the source that suits the device, and the pictures that are larger than memory."""
    large = [file for file in plan.files if file.in_parts]
    if not large:
        return _source_for(plan)
    ordinary = replace(plan, files=[file for file in plan.files if not file.in_parts])
    # Loaded only with such a picture.
    in_parts: Source = import_module("engine.commands.large_batch").InParts(
        plan.how, large, _source_for(ordinary)
    )
    return in_parts


class Source(Protocol):
    """What has pictures filtered."""

    def run(self, loop: Loop) -> None:
        """Have every picture filtered, and hand each over."""


def _source_for(plan: BatchPlan) -> Source:
    if plan.scheduler is not None:
        # It needs the extra `cluster`.
        made: Source = import_module("engine.commands.batch_cluster").OnCluster(plan)
        return made
    if plan.device.kind == "cpu":
        return Workers(plan)
    return Stream(plan) if plan.device.is_usable_gpu else OneByOne(plan)


class Workers:
    """Each file all the way on a worker."""

    def __init__(self, plan: BatchPlan) -> None:
        self._plan = plan

    def run(self, loop: Loop) -> None:
        """Have the files filtered, with enough under way that no worker waits for the oldest one."""
        memory = PictureMemory(max(MOST_BYTES, MOST_BYTES_PER_CORE * loop.threads), MOST_KEPT_BYTES)
        for file in self._plan.files:
            if loop.is_stopped:
                return
            loop.hand_over(file, loop.submit(self._filter, loop, file, Loan(memory)), 2 * loop.threads)

    def _filter(self, loop: Loop, file: PictureFile, loan: Loan) -> Saving:
        """Take a file all the way until it can be written. Called on: a worker."""
        try:
            loop.end_if_stopped()
            opened = open_file(self._plan.how, file, loan)
            job = job_for(self._plan.how, file, opened, loan)
            loop.end_if_stopped()
            loop.note_what_runs(job.call)
            with launches_on(cores() // loop.threads):
                data, finished = job.filtered_and_encoded()
            return loop.save(data, finished)
        finally:
            loan.give_back()


class OneByOne:
    """Files one after the other on the calling thread; workers open some ahead, and save."""

    def __init__(self, plan: BatchPlan) -> None:
        self._plan = plan
        # The calling thread waits for the oldest picture, which must not wait for those after it.
        self._memory = PictureMemory(None, MOST_KEPT_BYTES)
        self._largest_bytes = 1

    def run(self, loop: Loop) -> None:
        """Filter each file that can be opened."""
        for job in self.jobs(loop):
            self.filter(loop, job)

    def jobs(self, loop: Loop) -> Iterator[Job]:
        """Yield the pictures that can be filtered, in order; report the others."""
        waiting: deque[tuple[PictureFile, Loan, Future[Opened]]] = deque()
        files = iter(self._plan.files)
        while not loop.is_stopped:
            for file in islice(files, max(0, self._most_waiting(loop) - len(waiting))):
                loan = Loan(self._memory)
                waiting.append((file, loan, loop.submit(open_file, self._plan.how, file, loan)))
            if not waiting:
                return
            file, loan, future = waiting.popleft()
            job = loop.attempt(file, self._job, file, loan, future)
            if job is None:
                loan.give_back()
            else:
                yield job

    def _job(self, file: PictureFile, loan: Loan, future: Future[Opened]) -> Job:
        opened = future.result()
        self._largest_bytes = max(self._largest_bytes, opened.picture.pixels.nbytes)
        return job_for(self._plan.how, file, opened, loan, in_bands=True)

    def filter(self, loop: Loop, job: Job) -> None:
        """Filter a picture alone."""
        loop.note_what_runs(job.call)
        values = loop.attempt(job.file, job.filtered)
        if values is None:
            job.loan.give_back()
        else:
            self.hand_over(loop, job, values)

    def hand_over(self, loop: Loop, job: Job, values: np.ndarray) -> None:
        """Have a result saved."""
        # Results are float32 where the pictures may be of 8 bit.
        self._largest_bytes = max(self._largest_bytes, values.nbytes)
        loop.hand_over(job.file, loop.submit(self._save, loop, job, values), self._most_waiting(loop))

    def _save(self, loop: Loop, job: Job, values: np.ndarray) -> Saving:
        try:
            return loop.save(*job.verified_and_encoded(values))
        finally:
            job.loan.give_back()

    def _most_waiting(self, loop: Loop) -> int:
        return max(1, min(loop.threads, WAITING_BYTES // self._largest_bytes))


class Stream(OneByOne):
    """Pictures in one stream on a GPU. What it cannot take, or what breaks it off, is filtered alone."""

    def run(self, loop: Loop) -> None:
        """Send the pictures through, in another stream where results are of another type."""
        jobs = self.jobs(loop)
        begin = next(jobs, None)
        while begin is not None and not loop.is_stopped:
            begin = self._stream(loop, begin, jobs) or next(jobs, None)

    def _stream(self, loop: Loop, begin: Job, jobs: Iterator[Job]) -> Job | None:
        """Filter pictures in a stream; return the first one that it cannot take, None at the end."""
        how, asked = begin.how, begin.how.stream(begin.call)
        if asked is None:
            self.filter(loop, begin)
            return None
        in_stream: dict[int, Job] = {}
        other: list[Job] = []

        def pictures() -> Iterator[np.ndarray]:
            for number, job in enumerate(chain((begin,), jobs)):
                if how.stream(job.call) != asked:
                    other.append(job)
                    return
                in_stream[number] = job
                yield job.call.samples

        def results() -> Iterator[np.ndarray]:
            while True:
                yield in_stream[max(in_stream)].room()

        def receive(number: int, values: np.ndarray) -> None:
            self.hand_over(loop, in_stream.pop(number), values)

        loop.devices |= dict.fromkeys(titles(how.devices(begin.call)))
        try:
            streamed = filter_stream(pictures(), **asked, out=results(), receive=receive)
            loop.variants |= dict.fromkeys(streamed.timeline.variant.split(", "))
        except DeviceFault:
            raise
        except (EngineError, MemoryError):
            while in_stream:
                self.filter(loop, in_stream.pop(min(in_stream)))
        return other[0] if other else None


def open_file(how: AnyFilter, file: PictureFile, loan: Loan, remedy: str = RAISE_LIMIT) -> Opened:
    """Open a picture and check that its result can be saved. Called on: any thread.

    `remedy` says what helps where the picture takes more memory than allowed.
    """
    if file.refusal is not None:
        raise file.refusal
    asked, saved_as = how.settings, file.saved_as
    assert saved_as is not None
    say_begun(file.source)
    return open_picture(
        asked,
        file.source,
        file.target,
        saved_as,
        lambda form: loan.picture(form, work_bytes(asked, form, saved_as)),
        remedy=remedy,
    )


def job_for(how: AnyFilter, file: PictureFile, opened: Opened, loan: Loan, *, in_bands: bool = False) -> Job:
    """Return the job of a picture that the variant can filter; raise an EngineError where it cannot.

    `in_bands` says that the picture may be filtered in bands.
    """
    call = how.call(opened, in_bands=in_bands)
    call.job().refuse(call.device)
    return Job(file, how, opened, call, loan)
