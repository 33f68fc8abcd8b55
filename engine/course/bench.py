"""Does the runs of a paper's tables on this machine: verified first, then timed; a failure is a reason.

Called on: the main thread of the engine's process, or of a script.
"""

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from statistics import median

import numpy as np

from engine.course import runs
from engine.course.files import write_paper
from engine.course.papers import MeasureCourse, MeasuredPaper, SaveCourse, paper
from engine.course.tables import SEED, job_of, tables_of, transactions_per_request, variant_of
from engine.device.backend import Backend, cuda_errors_in_words
from engine.device.cuda_memory import check, copy_in, copy_out
from engine.device.devices import backend, device_named
from engine.device.launches import CAPTURE_LOCK, DeviceKind, Prepared
from engine.device.numba_cuda import cuda, driver
from engine.device_info import DeviceInfo
from engine.errors import BadValue, Cancelled, DeviceFault, DeviceUnavailable, EngineError
from engine.files.atomic_write import make_folder
from engine.host.protocol import Saved
from engine.results.measurement import AnyResult
from engine.results.metrics import number_of
from engine.results.problem import Checkpoint, Progress, go_on
from engine.run.measure import SamplingPlan, environment_of, measure, timed
from engine.tasks.network.task import NETWORK_VARIANTS
from engine.tasks.product.problem import MatrixProduct
from engine.work.problem import random_picture

ROUNDS = 20
"""How often memory is allocated and freed; a round takes less than a millisecond."""
STREAM_ROUNDS = 5


def fresh_memory(sizes: Sequence[int]) -> dict[str, float]:
    """Allocate and free arrays of so many bytes by the driver itself (cuMemAlloc, cuMemFree); medians, ms.

    Runs take their memory from a pool (`cuda_memory.py`): how long a run waited for its own depends on
    which run was before it.
    """
    allocating, freeing = [], []
    with cuda_errors_in_words(f"allocating {sum(sizes) / 1e6:,.1f} MB"):
        for _ in range(1 + ROUNDS):
            addresses: list[object] = []
            begin = time.perf_counter()
            try:
                addresses.extend(check(driver.cuMemAlloc(size)) for size in sizes)
            finally:
                between = time.perf_counter()
                for address in addresses:
                    check(driver.cuMemFree(address))
            allocating.append((between - begin) * 1e3)
            freeing.append((time.perf_counter() - between) * 1e3)
    # The first round takes what the driver has to ask the system for.
    return {"allocate_ms": median(allocating[1:]), "free_ms": median(freeing[1:])}


def on_streams(
    machine: Backend, prepared: Prepared, picture: np.ndarray, pictures: int
) -> tuple[float, float, list[np.ndarray]]:
    """Filter a picture so many times: copy in, kernel and copy out one after another on each stream.

    Returned are the time for each picture, ms, on one stream and on two that take turns; and every result.
    Picture and results lie in pinned memory of the host, so that a copy of one stream can run beside the
    kernel of the other; the prepared variant must not keep values between passes.
    """
    source = cuda.pinned_array(picture.shape, picture.dtype)
    source[...] = picture
    results = [cuda.pinned_array(picture.shape, np.float32) for _ in range(pictures)]
    slots = [(cuda.stream(), machine.allocate(source, results[0])) for _ in range(2)]
    times_ms: dict[int, list[float]] = {1: [], 2: []}
    for streams in (1, 2) * (1 + STREAM_ROUNDS):
        # What a launch leaves out must not seem right with an earlier one's result.
        for result in results:
            result.fill(np.nan)
        with CAPTURE_LOCK, cuda_errors_in_words("filtering on streams"):
            begin = time.perf_counter()
            for number, result in enumerate(results):
                stream, buffers = slots[number % streams]
                copy_in(source, buffers.image, stream)
                prepared.launch(buffers.image, buffers.out, stream)
                copy_out(buffers.out, result, stream)
            for stream, _ in slots[:streams]:
                stream.synchronize()
            times_ms[streams].append((time.perf_counter() - begin) * 1e3)
    # The first round loads the kernel.
    one_ms, two_ms = (median(rounds_ms[1:]) / pictures for rounds_ms in times_ms.values())
    return one_ms, two_ms, results


HOST_SAMPLES = 20
# Of what is timed beside a verified run.
_EXPECTED_S = 3.0
NO_SPEED = "The simulator's times mean nothing."
WITHOUT_CUDA = "filter, matmul and network verify each CUDA kernel with --device simulator, small and untimed"
"""What a person with no GPU can still do with a paper's kernels."""


def cuda_device(wanted: str) -> DeviceInfo:
    """Return the CUDA device of a key, or the first one for "auto"; `DeviceUnavailable` says why not."""
    what = "This needs a CUDA device"
    try:
        device = device_named("cuda" if wanted == "auto" else wanted)
    except DeviceUnavailable as error:
        raise DeviceUnavailable(what, error.why) from error
    if device.kind != "cuda":
        raise DeviceUnavailable(what, f"the device chosen is the {device.title}")
    return device


def machine_lines(device: str) -> tuple[tuple[str, str], ...]:
    """Return (name, value) of what decides how fast something is here: CPU, GPU, driver, versions, commit.

    `device` is "auto" or the key of a device for the CUDA variants; if none works, its line says why.
    """
    cpu = environment_of(backend("cpu").info)
    try:
        cuda = environment_of(backend(cuda_device(device).key).info)
        gpu = [("CUDA device", cuda.device), ("CUDA driver API", cuda.driver), ("Clocks", cuda.clocks)]
    except DeviceUnavailable as error:
        gpu = [("CUDA device", f"none: {error.why}"), ("Without one", WITHOUT_CUDA)]
    lines = [
        ("CPU", cpu.device),
        *gpu,
        ("Versions", ", ".join(f"{name} {version}" for name, version in cpu.versions.items())),
        ("Commit", cpu.commit),
        ("Made", time.strftime("%Y-%m-%d %H:%M %z")),
    ]
    return tuple((name, value) for name, value in lines if value)


@dataclass
class Bench:
    """Does the runs of a paper; `device` is for the CUDA variants: "auto" or the key of a device.

    `results` has the results of filters, products and stages as they were measured.
    """

    device: str
    plan: SamplingPlan
    results: list[AnyResult] = field(default_factory=list, repr=False)
    _pictures: dict[int, np.ndarray] = field(default_factory=dict, repr=False)

    def take(self, run: runs.Run, checkpoint: Checkpoint = go_on) -> runs.Measured:
        """Do a run; the checkpoint is called before each step and may raise to stop.

        A DeviceFault is raised, because the process cannot use CUDA any longer; other errors are reasons.
        """
        try:
            match run:
                case runs.TimerRun() | runs.StreamsRun():
                    return self._measure_twice(run, checkpoint)
                case runs.AllocationRun():
                    backend(cuda_device(self.device).key).activate()
                    return fresh_memory((4 * run.side**2,) * 2)
                case runs.AttributesRun():
                    device = cuda_device(self.device)
                    if device.attributes is None:
                        return runs.Amount(reason=f"{device.title} has no attributes.")
                    return asdict(device.attributes)
                case _:
                    return self._measure(run, checkpoint)
        except (Cancelled, DeviceFault):
            raise
        except EngineError as error:
            return runs.Amount(reason=str(error))
        except MemoryError:
            self._pictures.clear()
            return runs.Amount(reason="Not enough memory: the system gave no more.")

    def _device_of(self, run: runs.JobRun) -> DeviceInfo:
        is_on_cpu = variant_of(run).device is DeviceKind.CPU
        return device_named("cpu") if is_on_cpu else cuda_device(self.device)

    def _picture(self, side: int) -> np.ndarray:
        """Return a random picture, cached until another size is needed."""
        if side not in self._pictures:
            self._pictures.clear()
            self._pictures[side] = random_picture((side, side, 1), "float32", SEED)
        return self._pictures[side]

    def _measure(self, run: runs.JobRun, checkpoint: Checkpoint) -> runs.Measured:
        # Before a picture or matrices are made for it.
        device = self._device_of(run)
        job, plan = job_of(run, self._picture), self.plan
        if job.variant is NETWORK_VARIANTS[0]:
            # The sequential program takes seconds per launch; the first launches are as long as any other.
            plan = replace(plan, warm_up_s=0.0, budget_s=0.0, fewest=1)
        result: AnyResult = measure(job, backend(device.key), plan, checkpoint=checkpoint).result
        self.results.append(result)
        measured = _measured_of(result)
        if not isinstance(run, runs.StageRun) or result.timing is None or isinstance(measured, runs.Amount):
            return measured
        # A stage that copies from pinned memory does so within its launch.
        whole = result.timing.kernel if job.variant.pinned_drawings else result.timing.end_to_end
        return {**measured, "running_ms": whole.median_ms}

    def _measure_twice(self, run: runs.TimerRun | runs.StreamsRun, checkpoint: Checkpoint) -> runs.Measured:
        verified = self._measure(run.filtering, checkpoint)
        if isinstance(verified, runs.Amount):
            return verified
        how = "timing by the host's clock" if isinstance(run, runs.TimerRun) else "filtering on streams"
        checkpoint(Progress(how, 0.9, _EXPECTED_S))
        machine, job = backend(self._device_of(run.filtering).key), job_of(run.filtering, self._picture)
        machine.activate()
        buffers, prepared = job.filled(machine), job.prepare()
        if isinstance(run, runs.TimerRun):
            # Of launch and wait; the first launch may compile.
            times_ms = [timed(lambda: machine.run(prepared, buffers))[1] for _ in range(1 + HOST_SAMPLES)]
            return {"kernel_ms": verified["kernel_ms"], "host_ms": median(times_ms[1:])}
        machine.run(prepared, buffers)
        wanted = machine.download(buffers)
        one_ms, two_ms, results = on_streams(machine, prepared, job.operands, run.pictures)
        if not all(np.array_equal(result, wanted) for result in results):
            return runs.Amount(reason="not verified: a result on streams is another one", not_verified=True)
        return {"one_stream_ms": one_ms, "two_streams_ms": two_ms}


def _measured_of(result: AnyResult) -> runs.Measured:
    timing, kernel_ms, proof = result.timing, result.kernel_ms, result.verification
    if result.failure or (proof is not None and not proof.passed):
        return runs.Amount(reason=result.status, not_verified=not result.failure)
    if timing is None or kernel_ms is None:
        return runs.Amount(reason=NO_SPEED)
    values = {"kernel_ms": kernel_ms}
    rate = number_of(result, "gflops") if result.task == MatrixProduct.task else None
    if rate is not None:
        values["gflops"] = rate
    if timing.host_to_device is not None and timing.device_to_host is not None:
        # Not with `allocate_ms`: it is 0 where an earlier run's memory was kept.
        values["copy_in_ms"] = timing.host_to_device.median_ms
        values["copy_out_ms"] = timing.device_to_host.median_ms
    return values


MAX_SIDE = 16_384
BUDGET_S = 0.3
# A cell of the serial loops on a large picture takes seconds; three samples of it are enough.
PATIENCE_S = 5.0
# Allowance for preparing a cell: the random picture of 16,384 x 16,384 takes 1.3 s.
PREPARING_S = 3.0


def measured_paper(
    paper_key: str, device: str = "auto",
    *, sizes: Sequence[int] | None = None, budget_s: float = BUDGET_S, checkpoint: Checkpoint = go_on,
) -> MeasuredPaper:  # fmt: skip
    """Measure what a paper's tables need; return them, in the paper's order, with the results.

    `device` is for the CUDA variants: "auto" or the key of a device. Without one that works their cells say
    why; what failed, or failed its verification, is a reason in its cells. `sizes` are sides of pictures and
    matrices instead of the paper's own, `budget_s` is the time for the samples of one cell; `checkpoint` is
    called before each step of each run, with what is measured.

    Raises UnknownName where there is no such paper, DeviceUnavailable where the device of that key is not
    there, BadValue for the simulator, whose times are not speeds, or a size that is out of range, and
    DeviceFault where the process is lost for CUDA.
    """
    if sizes is not None:
        bad = [f"size {size}" for size in sizes if not 1 <= size <= MAX_SIDE] if sizes else ["no size"]
        if bad:
            raise BadValue(bad[0], f"a side has 1 to {MAX_SIDE:,} pixels", "Choose sizes within these.")
    wanted = None if sizes is None else tuple(dict.fromkeys(sizes))
    check_device(device)
    plan = SamplingPlan(budget_s=budget_s, fewest=3, fewest_copies=3, patience_s=PATIENCE_S)
    # Nothing is measured yet: the tables say what they need.
    bench, nothing, done = Bench(device, plan), runs.Results({}), dict[runs.Run, runs.Measured]()
    unmeasured = tables_of(paper_key, nothing, wanted)
    for number, run in enumerate(nothing.needed):

        def within(step: Progress, run: runs.Run = run, number: int = number) -> None:
            checkpoint(Progress(run.label, (number + step.fraction) / len(nothing.needed), step.expected_s))

        within(Progress("", 0.0, PREPARING_S))
        done[run] = bench.take(run, within)
    checkpoint(Progress("the tables", 1.0, PREPARING_S))

    def counting(step: Progress) -> None:
        checkpoint(Progress("the tables", 1.0, step.expected_s))

    transactions = partial(transactions_per_request, checkpoint=counting)
    tables = tables_of(paper_key, runs.Results(done, transactions), wanted)
    if wanted is not None:
        # The sizes are noted in each table that has other rows than with the paper's own sizes.
        note = f"Measured for the sizes {', '.join(map(str, wanted))} only, not for the paper's own."
        own = tables_of(paper_key, runs.Results({}))
        tables = tuple(
            table if whole.rows == part.rows else replace(table, notes=(*table.notes, note))
            for table, whole, part in zip(tables, own, unmeasured, strict=True)
        )
    return MeasuredPaper(tables, tuple(bench.results))


def check_device(device: str) -> None:
    """Raise DeviceUnavailable for a device that is not there, BadValue for the simulator."""
    if device != "auto" and not device_named(device).times_mean_speed:
        why = "its times mean nothing, and the tables are about times"
        raise BadValue("The simulator", why, "Choose auto, cpu or cuda:0.")


def measure_course(request: MeasureCourse, report: Checkpoint) -> MeasuredPaper:
    """Measure a paper's tables; a cancelled request ends between two cells."""
    report(Progress("preparing the paper's tables", 0.0, 5.0))
    return measured_paper(request.paper, request.device, checkpoint=report)


def save_course(request: SaveCourse, report: Checkpoint) -> Saved:
    """Write a paper's tables and figures into a folder."""
    # matplotlib, which draws the figures, takes a second to load.
    report(Progress("saving the paper's tables", 0.0, 10.0))
    make_folder(request.folder)
    names = write_paper(request.folder, paper(request.paper), request.tables, machine_lines(request.device))
    return Saved(request.folder, (f"{len(names)} files: {', '.join(names)}.",))
