"""The flow of a batch: files are opened, computed, proven, encoded, written, and reported in order.

A worker takes one file all the way, so no core waits for another stage. On the CPU there is a worker per
core, and a filter has one core, as the others have work of their own. On another device there are twice as
many, as some wait for it: it computes their pictures in one stream, so that copies run beside kernels, on all
GPUs with `cuda:all`. To the loop (`engine.flow.loop`) all of them are one device.

Pictures that are larger than memory come after all others, each with all cores and the memory for itself. One
more thread writes, which is mostly waiting for the disk. A file that fails has a reason instead of a result.
"""

import itertools
import os
import sys
import zlib
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from importlib import import_module
from pathlib import Path
from threading import BoundedSemaphore, Event
from typing import Any, NamedTuple, Self

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
from engine.flow.loop import Loop
from engine.flow.picture_memory import MOST_KEPT_BYTES, Loan, PictureMemory
from engine.image.form import RAISE_LIMIT, Form
from engine.image.result_picture import finished_picture
from engine.image.save import encoded_image
from engine.shortages import shortage_of
from engine.verify.regions import CheckedSamples
from engine.verify.verification import Verification
from engine.work.filtering.agreement import regions_to_check
from engine.work.filtering.clipping import Clipped


class Ran(NamedTuple):
    """What filtered a file: the key of a variant, the titles of devices, the machine where it is another."""

    variant: str
    devices: Sequence[str]
    machine: str = ""


@dataclass(frozen=True, slots=True)
class Finished:
    """The outcome of one file: why there is no result, or its notes and, if checked, its verification."""

    file: PictureFile
    error: EngineError | None = None
    notes: tuple[str, ...] = ()
    verification: Verification | None = None
    found: Mapping[str, object] = field(default_factory=dict)  # by an operation, for JSON
    clipped: Clipped | None = None  # how much of the result is, where some can be
    ran: Ran | None = None  # where there is a result


@dataclass(eq=False, slots=True)
class Task:
    """A file in the loop, or some small ones; none is `finished` where the batch ends before."""

    picture: int  # of the first file
    files: Sequence[PictureFile]
    finished: Sequence[Finished] = ()


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


def job_for(how: PictureWork, file: PictureFile, loan: Loan, remedy: str = RAISE_LIMIT) -> Job:
    """Open a picture, check that the variant can filter it and that its result can be saved.

    `remedy` says what helps where it takes more memory than allowed. Called on: any thread.
    """
    if file.refusal is not None:
        raise file.refusal
    asked, saving, saved_as = how.asked, how.saving, file.saved_as
    assert saved_as is not None

    def allocate(form: Form) -> tuple[np.ndarray, np.ndarray | None]:
        return loan.picture(form, work_bytes(asked, saving, form, saved_as))

    say_begun(file.source)
    opened = open_picture(asked, saving, file.source, file.target, saved_as, allocate, remedy=remedy)
    call = how.call(opened)
    call.job().refuse(call.device)
    return Job(file, how, opened, call, loan)


Encoded = tuple[bytes | memoryview, Finished]


def all_the_way(
    how: PictureWork,
    file: PictureFile,
    memory: PictureMemory,
    encoded: Callable[[Job], Encoded],
    *,
    remedy: str = RAISE_LIMIT,
    go_on: Callable[[], object] = lambda: None,
    machine: str = "",
) -> Encoded:
    """Return a result as it is written, and what is said of it. Called on: any thread.

    `encoded` computes, proves and encodes; `go_on` is called between two steps, and may end them.
    """
    loan = Loan(memory)
    try:
        go_on()
        job = job_for(how, file, loan, remedy)
        go_on()
        data, finished = encoded(job)
        ran = Ran(job.call.choice.variant.key, titles(how.devices(job.call)), machine)
        return data, replace(finished, ran=ran)
    finally:
        loan.give_back()


# Files that are encoded and wait to be written.
MOST_ENCODED = 2
# How long Python may keep a worker waiting that comes back from compiled code. 40 pictures of 12 megapixels
# on 16 cores take 0.93 s, and 1.03 with Python's own 5 ms.
SWITCH_S = 0.0005

# What the pictures under way may take together, and at least for each core: one of 12 megapixels with float32
# results takes 216 MB.
MOST_BYTES = 4 << 30
MOST_BYTES_PER_CORE = 256 << 20


Take = Callable[[Sequence[PictureFile]], Callable[[], Sequence[Finished]]]


class OnThreads:
    """Threads of this machine, as the loop sees them: each takes files all the way, and one more writes.

    A context manager. `take` makes results and returns what writes them, or raises CancelledError; it is
    called for no more once `has_ended` is set. So much is under way that none waits for the oldest.
    """

    def __init__(self, take: Take, threads: int, has_ended: Event) -> None:
        self.most = 2 * threads
        self._take, self._has_ended = take, has_ended
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="batch")
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="batch-write")
        self._encoded = BoundedSemaphore(MOST_ENCODED)
        self._under_way: deque[tuple[Task, Future[Future[Sequence[Finished]]]]] = deque()
        self._fault: DeviceFault | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            # What is not in its filter yet ends.
            self._has_ended.set()
        self._threads.shutdown(cancel_futures=True)
        self._writer.shutdown()

    @property
    def has_room(self) -> bool:
        """Whether another task can be begun."""
        return self._fault is None and len(self._under_way) < self.most

    def send(self, work: Task) -> None:
        """Have files taken."""
        self._under_way.append((work, self._threads.submit(self._all_the_way, work.files)))

    def wait(self) -> list[Task]:
        """Wait for the oldest task; where the device has failed, for all, and then raise that."""
        found: list[Task] = []
        while self._under_way and (self._fault is not None or not found):
            work, future = self._under_way.popleft()
            found.append(work)
            try:
                work.finished = future.result().result()
            except CancelledError:
                pass  # the batch has ended
            except DeviceFault as error:
                self._fault = self._fault or error
                self._has_ended.set()
                found.pop()
            except (EngineError, MemoryError) as error:
                why = error if isinstance(error, EngineError) else shortage_of(error)
                work.finished = [Finished(file, why) for file in work.files]
        if self._fault is not None and not found:
            raise self._fault
        return found

    def _all_the_way(self, files: Sequence[PictureFile]) -> Future[Sequence[Finished]]:
        if self._has_ended.is_set():
            raise CancelledError
        write = self._take(files)
        self._encoded.acquire()
        saving = self._writer.submit(write)
        saving.add_done_callback(lambda _: self._encoded.release())
        return saving


class Batch:
    """What is known of a batch while it runs.

    `on_finished` is called for each file once it is saved or has failed, on the calling thread, in order.
    `variants` and `devices` have what ran, `written` counts the files, `is_stopped` says whether `stop` was
    called, which calls `when_stopped`. `start_s` is what a cluster took to start. At most `files` are begun
    at once.
    """

    def __init__(self, files: int, on_finished: Callable[[Finished], None]) -> None:
        self.variants: dict[str, None] = {}
        self.devices: dict[str, None] = {}
        self.written = 0
        self.is_stopped = False
        self.when_stopped: Callable[[], object] = lambda: None
        self.start_s = 0.0
        self._files = files
        self._on_finished = on_finished
        self._has_ended = Event()

    def run(self, plan: BatchPlan, on_cluster: "Callable[[Batch, BatchPlan], object]") -> None:
        """Have every file filtered, and report it; `on_cluster` has a cluster's workers do those of a plan.

        A DeviceFault passes when all that was filtered before is saved and reported.
        """
        switch_s = sys.getswitchinterval()
        sys.setswitchinterval(SWITCH_S)
        small = replace(plan, files=[file for file in plan.files if not file.in_parts])
        large = [file for file in plan.files if file.in_parts]
        try:
            if plan.scheduler is not None:
                on_cluster(self, small)
            elif small.files:
                self._on_cores(small)
            if large:
                self.through(partial(self._in_bands, plan.how), 1, ([file] for file in large))
        finally:
            sys.setswitchinterval(switch_s)

    def through(self, take: Take, threads: int, tasks: Iterable[Sequence[PictureFile]]) -> None:
        """Have the files of tasks taken by so many threads, and report them."""
        going_on = itertools.takewhile(lambda _: not self.is_stopped, tasks)
        with OnThreads(take, threads, self._has_ended) as device:
            Loop(device, self._report).run(itertools.starmap(Task, enumerate(going_on)))

    def _report(self, task: Task) -> None:
        for finished in task.finished:
            self.note(finished)
            self._on_finished(finished)

    def note(self, finished: Finished) -> None:
        """Note what filtered a file."""
        if finished.ran is not None:
            self.variants[finished.ran.variant] = None
            self.devices |= dict.fromkeys(finished.ran.devices)

    def _on_cores(self, plan: BatchPlan) -> None:
        """Have each file taken by one thread."""
        in_stream = is_streamed(plan)
        threads = max(1, min(cores() * (2 if in_stream else 1), self._files))
        memory = PictureMemory(max(MOST_BYTES, MOST_BYTES_PER_CORE * cores()), MOST_KEPT_BYTES)
        encoded: Callable[[Job], Encoded] = partial(_on_cores, cores() // threads)

        def take(files: Sequence[PictureFile]) -> Callable[[], Sequence[Finished]]:
            done = all_the_way(plan.how, files[0], memory, encoded, go_on=self._end_if_stopped)
            return partial(self._write, *done)

        with ExitStack() as stack:
            if in_stream:
                # The CPU needs no stream.
                shared: Any = import_module("engine.flow.shared_stream").SharedStream
                stream = stack.enter_context(shared(plan.how.asked.layout, plan.how.gpus))
                encoded = partial(_by_stream, stream)
            self.through(take, threads, ([file] for file in plan.files))

    def _in_bands(self, how: PictureWork, files: Sequence[PictureFile]) -> Callable[[], Sequence[Finished]]:
        """Filter a picture that is larger than memory; nothing is left to write."""
        (file,) = files
        if file.refusal is not None:
            raise file.refusal
        say_begun(file.source)
        # Loaded only with such a picture.
        in_bands: Any = import_module("engine.commands.in_bands")

        make_folder(os.path.dirname(file.target) or ".", with_parents=True)
        if not file.replaces and (why_not := why_not_new(file.target)):
            raise why_not
        done = in_bands.filtered(how, file.source, file.target, self._end_if_stopped)
        with interrupts.undivided():
            self.written += 1
        ran = Ran(done.resolved.choice.variant.key, titles(done.devices))
        facts = in_bands.facts_of(how, done)
        finished = Finished(file, None, done.notes, done.verification, facts, clipped=done.clipped, ran=ran)
        return lambda: [finished]

    def stop(self) -> None:
        """Begin nothing more, and end what is not in its filter yet; called again, end the process at once.

        Called on: any thread.
        """
        if self.is_stopped:
            interrupts.leave()
        self.is_stopped = True
        self._has_ended.set()
        self.when_stopped()

    def _write(self, data: bytes | memoryview, finished: Finished) -> Sequence[Finished]:
        # The count is true where the process is ended.
        with interrupts.undivided():
            # A process that has ended may have written it, and not said so.
            write_result(data, finished.file, may_be_there=watched().plan is not None)
            self.written += 1
        return [finished]

    def _end_if_stopped(self) -> None:
        if self._has_ended.is_set():
            raise CancelledError


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
