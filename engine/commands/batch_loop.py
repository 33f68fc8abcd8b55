"""The flow of a batch: files are opened, computed, proven, encoded, written, and reported in order.

A worker takes one file all the way, so no core waits for another stage. On the CPU there is a worker per
core, and a filter has one core, as the others have work of their own. On another device there are twice as
many, as some wait for it: it computes their pictures in one stream, so that copies run beside kernels, on all
GPUs with `cuda:all`.

Pictures that are larger than memory come after all others, each with all cores and the memory for itself. One
more thread writes, which is mostly waiting for the disk. A file that fails has a reason instead of a result.
"""

import os
import sys
import zlib
from collections import deque
from collections.abc import Callable, Mapping
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from importlib import import_module
from pathlib import Path
from threading import BoundedSemaphore, Event
from typing import Any, NamedTuple, TypeVar

import numpy as np

from engine import interrupts
from engine.commands.batch_plan import BatchPlan, PictureFile, why_not_new
from engine.commands.batch_watch import say_begun, watched
from engine.commands.picture_opening import Opened, open_picture, work_bytes
from engine.commands.picture_work import AFFORDABLE_MULTIPLY_ADDS, PictureWork, Result
from engine.device.core_count import cores, launches_on
from engine.device_info import titles
from engine.errors import DeviceFault, EngineError
from engine.files.atomic_write import atomic_write
from engine.files.output_checks import make_folder
from engine.flow.converted import bands_to_convert, convert
from engine.flow.picture_memory import MOST_KEPT_BYTES, Loan, PictureMemory
from engine.image.form import RAISE_LIMIT
from engine.image.result_picture import finished_picture
from engine.image.save import encoded_image
from engine.shortages import shortage_of
from engine.verify.regions import CheckedSamples
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
        call, how, opened = self.call, self.how, self.opened
        regions = regions_to_check(call.problem, self.seed, AFFORDABLE_MULTIPLY_ADDS)
        checked = CheckedSamples(
            call.samples.shape, np.dtype(np.float32), regions if how.saving.verify else ()
        )
        out = self.loan.result(call.samples, opened.dtype)
        highest = max(band.length for band in bands_to_convert(call))
        rows = np.broadcast_to(call.samples[:1], (highest, *call.samples.shape[1:]))
        loss = convert(call, out, self.loan.result(rows, np.float32), checked, how.saving.range)
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


T = TypeVar("T")

# Files that are encoded and wait to be written.
MOST_ENCODED = 2
# How long Python may keep a worker waiting that comes back from compiled code. 40 pictures of 12 megapixels
# on 16 cores take 0.93 s, and 1.03 with Python's own 5 ms.
SWITCH_S = 0.0005


Saving = Future[Finished]

# What the pictures under way may take together, and at least for each core: one of 12 megapixels with float32
# results takes 216 MB.
MOST_BYTES = 4 << 30
MOST_BYTES_PER_CORE = 256 << 20

Encoded = tuple[bytes | memoryview, Finished]


class Loop:
    """The files under way, oldest first, and the threads that they are on.

    `on_finished` is called for each file once it is saved or has failed, on the calling thread, in order; one
    that cannot be opened may be reported before the others. `variants` and `devices` have the keys of
    the variants that ran, and the titles of their devices; `written` counts the files, `is_stopped` says
    whether `stop` was called, which calls each of `when_stopped`. `start_s` is what a cluster took to start.
    """

    def __init__(self, files: int, on_finished: Callable[[Finished], None]) -> None:
        self.variants: dict[str, None] = {}
        self.devices: dict[str, None] = {}
        self.written = 0
        self.is_stopped = False
        self.when_stopped: list[Callable[[], object]] = []
        self.start_s = 0.0
        self._files = files
        self._on_finished = on_finished
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="batch-write")
        self._encoded = BoundedSemaphore(MOST_ENCODED)
        self._has_ended = Event()
        # What is not reported yet, oldest first.
        self._saving: deque[tuple[PictureFile, Future[Saving]]] = deque()

    def run(self, plan: BatchPlan, on_cluster: Callable[[BatchPlan], Any]) -> None:
        """Have every file filtered, and report it; `on_cluster` makes what asks the workers of a cluster.

        A DeviceFault passes when all that was filtered before is saved and reported.
        """
        switch_s = sys.getswitchinterval()
        sys.setswitchinterval(SWITCH_S)
        small = replace(plan, files=[file for file in plan.files if not file.in_parts])
        try:
            if plan.scheduler is not None:
                on_cluster(small).run(self)
            elif small.files:
                self._on_workers(small)
            for file in plan.files:
                if file.in_parts and not self.is_stopped:
                    self._report_oldest(0)
                    finished = self.attempt(file, self._in_bands, plan.how, file)
                    if finished is not None:
                        self._on_finished(finished)
            self._report_oldest(0)
        except DeviceFault:
            while self._saving:
                with suppress(DeviceFault):
                    self._report_oldest(0)
            raise
        finally:
            self._has_ended.set()
            self._writer.shutdown(wait=True)
            sys.setswitchinterval(switch_s)

    def _on_workers(self, plan: BatchPlan) -> None:
        """Have files taken all the way by workers, with enough under way that none waits for the oldest."""
        in_stream = is_streamed(plan)
        threads = max(1, min(cores() * (2 if in_stream else 1), self._files))
        memory = PictureMemory(max(MOST_BYTES, MOST_BYTES_PER_CORE * cores()), MOST_KEPT_BYTES)
        with ExitStack() as stack:
            encoded: Callable[[Job], Encoded]
            if in_stream:
                # The CPU needs no stream.
                shared: Any = import_module("engine.flow.shared_stream").SharedStream
                stream = stack.enter_context(shared(plan.how.asked.layout, plan.how.gpus))
                encoded = partial(_by_stream, stream)
            else:
                encoded = partial(_on_cores, cores() // threads)
            workers = ThreadPoolExecutor(threads, thread_name_prefix="batch")
            stack.callback(workers.shutdown, wait=True, cancel_futures=True)
            try:
                for file in plan.files:
                    if self.is_stopped:
                        break
                    done = workers.submit(self._all_the_way, plan.how, file, Loan(memory), encoded)
                    self._saving.append((file, done))
                    self._report_oldest(2 * threads)
                self._report_oldest(0)
            except BaseException:
                # Workers begin nothing more, and end what is not in its filter yet.
                self._has_ended.set()
                raise

    def _all_the_way(
        self, how: PictureWork, file: PictureFile, loan: Loan, encoded: Callable[[Job], Encoded]
    ) -> Saving:
        """Take a file all the way until it can be written. Called on: a worker."""
        try:
            self.end_if_stopped()
            job = job_for(how, file, open_file(how, file, loan), loan)
            self.end_if_stopped()
            self.variants[job.call.choice.variant.key] = None
            self.devices |= dict.fromkeys(titles(how.devices(job.call)))
            return self._save(*encoded(job))
        finally:
            loan.give_back()

    def _in_bands(self, how: PictureWork, file: PictureFile) -> Finished:
        """Filter a picture that is larger than memory."""
        if file.refusal is not None:
            raise file.refusal
        say_begun(file.source)
        # Loaded only with such a picture.
        in_bands: Any = import_module("engine.commands.in_bands")

        make_folder(os.path.dirname(file.target) or ".", with_parents=True)
        if not file.replaces and (why_not := why_not_new(file.target)):
            raise why_not
        done = in_bands.filtered(how, file.source, file.target, self.end_if_stopped)
        with interrupts.undivided():
            self.written += 1
        self.devices |= dict.fromkeys(titles(done.devices))
        self.variants[done.resolved.choice.variant.key] = None
        facts = in_bands.facts_of(how, done)
        return Finished(file, None, done.notes, done.verification, facts, clipped=done.clipped)

    def stop(self) -> None:
        """Begin nothing more, and end what is not in its filter yet; called again, end the process at once.

        Called on: any thread.
        """
        if self.is_stopped:
            interrupts.leave()
        self.is_stopped = True
        self._has_ended.set()
        for act in self.when_stopped:
            act()

    def _save(self, data: bytes | memoryview, finished: Finished) -> Saving:
        """Have a file written. Called on: a worker."""
        self._encoded.acquire()
        saving = self._writer.submit(self._write, data, finished)
        saving.add_done_callback(lambda _: self._encoded.release())
        return saving

    def _write(self, data: bytes | memoryview, finished: Finished) -> Finished:
        # The count is true where the process is ended.
        with interrupts.undivided():
            # A process that has ended may have written it, and not said so.
            write_result(data, finished.file, may_be_there=watched().plan is not None)
            self.written += 1
        return finished

    def report(self, finished: Finished) -> None:
        """Report a file that a worker of a cluster is done with."""
        if finished.error is None:
            self.written += 1
        if finished.ran is not None:
            self.variants[finished.ran.variant] = None
            self.devices[finished.ran.device] = None
        self._on_finished(finished)

    def attempt(self, file: PictureFile, step: Callable[..., T], *given: object) -> T | None:
        """Return what a step returns; report its file where it fails, and return None."""
        try:
            return step(*given)
        except DeviceFault:
            raise
        except (EngineError, MemoryError) as error:
            why = error if isinstance(error, EngineError) else shortage_of(error)
            self._on_finished(Finished(file, why))
            return None

    def end_if_stopped(self) -> None:
        """Raise CancelledError where the batch ends early. Called on: a worker."""
        if self._has_ended.is_set():
            raise CancelledError

    def _report_oldest(self, most: int) -> None:
        """Report the oldest files until at most so many are still under way."""
        while len(self._saving) > most:
            file, future = self._saving.popleft()
            # A worker cancels its file when it finds that the batch has ended.
            with suppress(CancelledError):
                finished = self.attempt(file, _saved, future)
                if finished is not None:
                    self._on_finished(finished)


def is_streamed(plan: BatchPlan) -> bool:
    """Return whether a device computes the pictures, and not the cores of the workers."""
    return plan.device.kind != "cpu" or plan.device.is_usable_gpu


def _on_cores(count: int, job: Job) -> Encoded:
    with launches_on(count):
        return job.filtered_and_encoded()


def _by_stream(stream: Any, job: Job) -> Encoded:
    return job.verified_and_encoded(stream.computed(job.call, job.room()))


def write_result(data: bytes | memoryview, file: PictureFile, *, may_be_there: bool = False) -> None:
    """Write a result whole, or not at all.

    `may_be_there` says that the very same result may have been written before, which is left as it is.
    """
    make_folder(os.path.dirname(file.target) or ".", with_parents=True)
    # Asked again: another program may have written it since the batch began, hours ago.
    if not file.replaces and (why_not := why_not_new(file.target)):
        if may_be_there and Path(file.target).read_bytes() == data:
            return
        raise why_not
    atomic_write(file.target, data)


def _saved(saving: Future[Saving]) -> Finished:
    return saving.result().result()
