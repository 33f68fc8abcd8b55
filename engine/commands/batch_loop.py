"""The flow of a batch: files are opened, computed, proven, encoded, written, and reported in order.

A worker takes one file all the way, so no core waits for another stage. On the CPU there is a worker per
core, and a filter has one core. On another device there are twice as many, as some wait for it: it computes
their pictures in one stream, so that copies run beside kernels, on all GPUs with `cuda:all`.

Pictures that are larger than memory come after all others, each with all cores and the memory for itself. One
more thread writes. A file that fails has a reason instead of a result.
"""

import itertools
import os
import platform
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from threading import Event
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine import interrupts
from engine.commands.batch_plan import BatchPlan, PictureFile, why_not_new
from engine.commands.batch_watch import watched
from engine.commands.picture_opening import Opened
from engine.commands.picture_work import AFFORDABLE_MULTIPLY_ADDS, PictureResult, PictureWork
from engine.device.host_memory import PictureMemory, reused_array, reused_result
from engine.device_info import titles
from engine.errors import DeviceFault, EngineError
from engine.files.atomic_write import atomic_write, make_folder
from engine.flow.chunks import Flow
from engine.flow.stream import Preparing, Stream, StreamPicture
from engine.geometry.border import RangeMode, Span, bands
from engine.image.format import RAISE_LIMIT, Form
from engine.image.save import Conversion, Loss, finished_picture
from engine.process import cores, launches_on, shortage_of
from engine.verify.closeness import Verification
from engine.verify.verification import CheckedSamples
from engine.work.filtering.clipping import Clipped
from engine.work.filtering.oracle import regions_to_check
from engine.work.resolve import Resolved


@dataclass(frozen=True, slots=True)
class Finished:
    """The outcome of one file: why there is no result, or its notes and, if checked, its verification."""

    file: PictureFile
    error: EngineError | None = None
    notes: tuple[str, ...] = ()
    verification: Verification | None = None
    facts: Mapping[str, object] = field(default_factory=dict)  # for JSON: what an operation returned
    clipped: Clipped | None = None  # how much of the result is, where some can be
    # What filtered it, where there is a result: the key of a variant, titles of devices, the machine's name.
    variant: str = ""
    devices: Sequence[str] = ()
    machine: str = ""


@dataclass(eq=False, slots=True)
class FileTask:
    """A file in the loop, or some small ones; none is `finished` where the batch ends before.

    `write` is called once they are computed: it writes what there is to write, and returns what they became.
    """

    files: Sequence[PictureFile]
    finished: Sequence[Finished] = ()
    write: Callable[[], Sequence[Finished]] = tuple
    loan: ExitStack = field(default_factory=ExitStack)  # of the memory of its picture

    def take(self) -> None:
        """Write the results, where there are some, and keep nothing of them."""
        try:
            self.finished = self.write()
        finally:
            self.write = tuple
            self.loan.close()

    def failed(self, error: BaseException) -> bool:
        """Note why the files fail; return whether that is all there is to it."""
        if isinstance(error, EngineError | MemoryError) and not isinstance(error, DeviceFault):
            why = shortage_of(error) if isinstance(error, MemoryError) else error
            self.finished = [Finished(file, why) for file in self.files]
            _forget_frames(error)
            return True
        # The batch has ended.
        return isinstance(error, CancelledError)


def _forget_frames(error: BaseException) -> None:
    """Forget the frames that an error came through: they hold the picture."""
    cause: BaseException | None = error
    while cause is not None:
        cause.__traceback__ = None
        cause = cause.__cause__ or cause.__context__


Encoded = tuple[bytes | memoryview, Finished]


@dataclass(frozen=True, slots=True)
class OpenedJob:
    """A picture that can be filtered."""

    file: PictureFile
    how: PictureWork
    opened: Opened
    call: Any  # of `how`

    @property
    def seed(self) -> int:
        """The seed of the pixels that are checked: other ones in each picture."""
        return zlib.crc32(self.file.source.encode(errors="surrogateescape"))

    def result_array(self) -> np.ndarray:
        """Return an array for what the variant writes."""
        samples, problem = self.call.samples, self.call.problem
        return reused_result(samples, problem.result_shape, problem.result_dtype)

    def filtered_and_encoded(self) -> Encoded:
        """Filter the picture on the CPU, verify the result and encode it. Called on: any thread."""
        if not self.is_converted:
            return self.verified_and_encoded(self.call.filter(self.result_array()))
        call, how, opened = self.call, self.how, self.opened
        regions = regions_to_check(call.problem, self.seed, AFFORDABLE_MULTIPLY_ADDS)
        kept = regions if how.saving.verify else ()
        checked = CheckedSamples(call.samples.shape, np.dtype(np.float32), kept)
        out = reused_result(call.samples, call.samples.shape, opened.dtype)
        highest = max(band.length for band in bands_to_convert(call))
        floats = reused_result(call.samples, (highest, *call.samples.shape[1:]), np.float32)
        loss = convert(call, out, floats, checked, how.saving.range)
        verification, pixels = how.verified(call, checked, self.seed), out.reshape(call.shape)
        finished = finished_picture(opened.picture, pixels, pixels.dtype)
        result = PictureResult(finished, loss.sentences(pixels.size, pixels.dtype))
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

    def verified_and_encoded(self, values: np.ndarray) -> Encoded:
        """Verify a result and encode it. Called on: any thread."""
        verification = self.how.verified(self.call, values, self.seed)
        return self._encoded(self.how.finished(self.call, self.opened, values), verification, values)

    def _encoded(
        self, result: PictureResult, verification: Verification | None, values: np.ndarray
    ) -> Encoded:
        data, notes = self.how.encoded(result, self.opened.picture, self.file.target, self.file.saved_as)
        facts = {**self.how.facts(self.call), **result.answer} if result.answer else {}
        clipped = self.how.clipped(self.call, self.opened, values)
        ran = self.call.choice.variant.key, titles(self.call.devices), platform.node()
        return data, Finished(self.file, None, notes, verification, facts, clipped, *ran)


BAND_BYTES = 2 << 20  # bytes of float32 results: they stay in the caches of a core until they are converted


def bands_to_convert(call: Resolved) -> tuple[Span, ...]:
    """Return the bands that a picture is computed in."""
    return bands(call.reach, call.problem.height, call.problem.rows_of(BAND_BYTES))


def convert(
    call: Resolved, out: np.ndarray, floats: NDArray[np.float32], checked: CheckedSamples, mode: RangeMode
) -> Loss:
    """Compute a picture on the CPU into samples `out` of a file; return what these lose.

    `floats` has room for the result of the highest band with its halo; `checked` keeps what is verified.
    """
    conversion = Conversion(call.samples.dtype, out.dtype, mode)
    conversion.find_ends(values for _, values in _computed(call, floats))
    for top, values in _computed(call, floats):
        checked.keep(top, values)
        conversion.samples(values, out[top : top + len(values)])
    return conversion.loss


def _computed(call: Resolved, floats: NDArray[np.float32]) -> Iterator[tuple[int, NDArray[np.float32]]]:
    """Yield the first row and the float32 results of each band, which the next one overwrites."""
    preparing, samples = Preparing(), call.samples
    for band in bands_to_convert(call):
        sources = [samples[first:last] for first, last in band.sources]
        image = sources[0] if len(sources) == 1 else np.concatenate(sources)
        preparing.ready(lambda: call, image.shape).launch(image, floats[: band.length])
        yield band.first, floats[band.inside]


def job_for(
    how: PictureWork, file: PictureFile, memory: PictureMemory, loan: ExitStack, remedy: str = RAISE_LIMIT
) -> OpenedJob:
    """Open a picture, check that the variant can filter it and that its result can be saved.

    `remedy` says what helps where it takes more memory than allowed. Called on: any thread.
    """
    if file.refusal is not None:
        raise file.refusal
    saved_as = file.saved_as
    assert saved_as is not None

    def allocate(form: Form) -> tuple[np.ndarray, np.ndarray | None]:
        memory.enter(how.bytes_for(form, saved_as), loan)
        alpha = reused_array(form.plane_shape, form.dtype) if form.has_alpha else None
        return reused_array(form.colour_shape, form.dtype), alpha

    watched.say_begun(file.source)
    opened = how.open(file.source, file.target, saved_as, allocate, remedy=remedy)
    call = how.call(opened)
    call.job().refuse(call.device)
    return OpenedJob(file, how, opened, call)


def all_the_way(
    how: PictureWork,
    file: PictureFile,
    memory: PictureMemory,
    *,
    remedy: str = RAISE_LIMIT,
    go_on: Callable[[], object] = lambda: None,
) -> Encoded:
    """Return a result of the CPU as it is written, and the report on it. Called on: any thread.

    `go_on` is called before the picture is filtered, and may end it.
    """
    with ExitStack() as loan:
        job = job_for(how, file, memory, loan, remedy)
        go_on()
        return job.filtered_and_encoded()


# How long Python may keep a worker waiting that comes back from compiled code. 40 pictures of 12 megapixels
# on 16 cores take 0.93 s, and 1.03 with Python's own 5 ms.
SWITCH_S = 0.0005

# What the pictures under way may take together, and at least for each core: one of 12 megapixels with float32
# results takes 216 MB.
MOST_BYTES = 4 << 30
MOST_BYTES_PER_CORE = 256 << 20


class Batch:
    """What is known of a batch while it runs.

    `on_finished` is called for each file once it is saved or has failed, on the calling thread, in order.
    `written` counts the files, `is_stopped` says whether `stop` was called, which calls `when_stopped`.
    `start_s` is what a cluster took to start. At most `files` are begun at once.
    """

    def __init__(self, files: int, on_finished: Callable[[Finished], None]) -> None:
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
                self._in_memory(small)
            if large:
                self.through(partial(self._in_bands, plan.how), 1, ([file] for file in large))
        finally:
            sys.setswitchinterval(switch_s)

    def through(
        self, ready: Callable[[FileTask], StreamPicture | None], threads: int,
        tasks: Iterable[Sequence[PictureFile]],
        **more: Any,
    ) -> None:  # fmt: skip
        """Have the files of tasks taken by so many threads, and report them; `more` is as of `Flow`."""

        def begun(task: FileTask) -> StreamPicture | None:
            self._end_if_stopped()
            try:
                return ready(task)
            except (EngineError, MemoryError) as error:
                # Before this thread takes the next picture, and not only once the calling one has seen it.
                _forget_frames(error)
                raise

        going_on = itertools.takewhile(lambda _: not self.is_stopped, tasks)
        how = {"takers": 1, "most": 2 * threads} | more
        # What is not in its filter yet ends where the flow has.
        flow = Flow(
            ready=begun,
            take=FileTask.take,
            threads=threads,
            failed=FileTask.failed,
            ended=self._has_ended,
            **how,
        )
        flow.run(map(FileTask, going_on), self._report)

    def _report(self, task: FileTask) -> None:
        for finished in task.finished:
            self._on_finished(finished)

    def _in_memory(self, plan: BatchPlan) -> None:
        """Have each file taken all the way by one thread, or by a device's stream between two threads."""
        threads = max(1, min(cores(), self._files))
        memory = PictureMemory(max(MOST_BYTES, MOST_BYTES_PER_CORE * cores()))

        def on_core(task: FileTask) -> None:
            with launches_on(cores() // threads):
                done = all_the_way(plan.how, task.files[0], memory, go_on=self._end_if_stopped)
            task.write = lambda: self._write(*done)

        def in_stream(task: FileTask) -> StreamPicture:
            job = job_for(plan.how, task.files[0], memory, task.loan)
            self._end_if_stopped()
            # Chosen here: the stream's thread has others' pictures to launch.
            job.call.job()
            streamed = StreamPicture(job.call, job.result_array())
            task.write = lambda: self._write(*job.verified_and_encoded(streamed.out))
            return streamed

        files = ([file] for file in plan.files)
        if not is_streamed(plan):
            self.through(on_core, threads, files)
            return
        self.through(
            in_stream, threads, files, takers=threads, stream=Stream, dropped=lambda task: task.loan.close(),
            alone=lambda streamed: streamed.request.filter(streamed.out),
        )  # fmt: skip

    def _in_bands(self, how: PictureWork, task: FileTask) -> None:
        """Filter a picture that is larger than memory; nothing is left to write."""
        (file,) = task.files
        if file.refusal is not None:
            raise file.refusal
        watched.say_begun(file.source)
        make_folder(os.path.dirname(file.target) or ".", with_parents=True)
        if not file.replaces and (why_not := why_not_new(file.target)):
            raise why_not
        done = how.filter_file(file.source, file.target, self._end_if_stopped)
        with interrupts.undivided():
            self.written += 1
        resolved = done.resolved
        facts = {**how.facts(resolved), **how.document(resolved, None, resolved.devices), **done.facts}
        ran = resolved.choice.variant.key, titles(resolved.devices), platform.node()
        finished = Finished(file, None, done.notes, done.verification, facts, done.clipped, *ran)
        task.write = lambda: [finished]

    def stop(self) -> None:
        """Begin nothing more, end what is not filtered yet; called again, end the process. On any thread."""
        if self.is_stopped:
            interrupts.leave()
        self.is_stopped = True
        self._has_ended.set()
        self.when_stopped()

    def _write(self, data: bytes | memoryview, finished: Finished) -> Sequence[Finished]:
        # The count is true where the process is ended.
        with interrupts.undivided():
            # A process that has ended may have written it, and not reported it.
            write_result(data, finished.file, may_be_there=watched.plan is not None)
            self.written += 1
        return [finished]

    def _end_if_stopped(self) -> None:
        if self._has_ended.is_set():
            raise CancelledError


def is_streamed(plan: BatchPlan) -> bool:
    """Return whether a device computes the pictures, and not the cores of the workers."""
    return plan.device.kind != "cpu" or plan.device.is_usable_gpu


def write_result(data: bytes | memoryview, file: PictureFile, *, may_be_there: bool = False) -> None:
    """Write a result whole, or not at all; the very same one that `may_be_there` is left as it is."""
    make_folder(os.path.dirname(file.target) or ".", with_parents=True)
    # Checked again: another program may have written it since the batch began, hours ago.
    if not file.replaces and (why_not := why_not_new(file.target)):
        if may_be_there and Path(file.target).read_bytes() == data:
            return
        raise why_not
    atomic_write(file.target, data)
