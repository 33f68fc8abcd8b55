"""Which runs may be compared, and every number that people see of one: an entry each, for all that shows it.

A speed-up is the median kernel time of the baseline over that of the run. Two runs are compared if they share
the task, the problem (size, channels, types of operands and results, border with its value, anchor), the
weights and the layout of rows; on the CPU rows have one layout only, so such a run is compared with either.
Recorded runs, which another machine made, are compared with recorded ones only. The fastest verified run of
the named baseline counts for a problem; a run that was chosen itself counts on its own problem instead.

Here are the metrics of every task; a task has its own in `METRICS` of the module that its problem names.
"""

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from importlib import import_module
from operator import mul
from typing import Any, ClassVar, Generic

from engine.device_info import RECORDED
from engine.geometry.block import Layout
from engine.results.measurement import AnyResult, Measurement, Timing
from engine.results.problem import P_co, P_contra, TaskProblem, Work
from engine.results.text_forms import (
    MISSING,
    count_text,
    error_text,
    ms_cell,
    percent_text,
    rate_text,
    ratio_text,
)

SPEED_UP_OF = (
    "the median kernel time of the baseline's fastest verified run of the same problem (size, channels, "
    "types, weights, anchor, border, layout of rows), or of the run chosen as baseline, over that of this run"
)
"""The definition, for the reader of a file or a tooltip."""


@dataclass(frozen=True)
class ComparedRun(Generic[P_co]):
    """A run among others, with its position from 1, and the run that its speed-up is against.

    There is no baseline where none can be compared, or the run has no speed.
    """

    result: Measurement[P_co]
    number: int = 1
    baseline: AnyResult | None = None
    baseline_run: int | None = None

    @property
    def speed_up(self) -> float | None:
        """How many times faster the kernel is than the baseline's; None where either has no speed."""
        if self.baseline is None or not self.baseline.kernel_ms or not self.result.kernel_ms:
            return None
        return self.baseline.kernel_ms / self.result.kernel_ms


Compared = ComparedRun[Any]
"""A run of whatever task; the metrics of a task take those of its own."""


def compared(results: Sequence[AnyResult], baseline: str, chosen: AnyResult | None = None) -> list[Compared]:
    """Return every run with the one that its speed-up is against.

    `baseline` is the key of a variant; a `chosen` run is the baseline of its own problem instead.
    """
    best: dict[Hashable, int] = {}
    for at, run in enumerate(results):
        if run.variant == baseline and run.kernel_ms:
            for key in _served(run):
                before = results[best[key]].kernel_ms if key in best else None
                if before is None or run.kernel_ms < before:
                    best[key] = at
    for at, run in enumerate(results):
        if run is chosen and run.kernel_ms:
            best |= dict.fromkeys(_served(run), at)
    baselines = (best.get((comparable(run), run.layout)) if run.kernel_ms else None for run in results)
    return [
        Compared(run, number, None if at is None else results[at], None if at is None else at + 1)
        for number, (run, at) in enumerate(zip(results, baselines, strict=True), start=1)
    ]


def comparable(result: AnyResult) -> Hashable:
    """Return what two runs must share, beside the layout of rows, so that their times can be compared."""
    # Files of version 1 have no digest, and compared masks by their names.
    weights = result.weights_digest or ("", result.mask_name)
    of_here = result.task, result.problem.comparable, weights
    return (*of_here, RECORDED) if result.device == RECORDED else of_here


def _served(baseline: AnyResult) -> Iterable[Hashable]:
    """Return the problems and layouts of runs that a baseline may be compared with."""
    layouts = ("", baseline.layout) if baseline.layout else ("", *Layout)
    return [(comparable(baseline), str(layout)) for layout in layouts]


Number = float | int | None
Value = Callable[[ComparedRun[TaskProblem]], Number]


@dataclass(frozen=True, slots=True)
class Metric(Generic[P_contra]):
    """One number of a run of a problem P."""

    key: str  # its name in files, with its unit
    title: str  # its name for people, in lower case unless it is an abbreviation
    unit: str  # empty for counts and ratios
    explanation: str  # what it is, in a sentence, for tooltips and files
    value: Callable[[ComparedRun[P_contra]], Number]  # the number; None where the run has none
    format: Callable[[float], str]  # the number in words, without the unit
    of: str = ""  # key of the metric of which this is a detail: a tooltip shows both
    # Whether tables show it at first; files, tooltips and column choosers have every metric.
    shown: bool = True
    more_is_better: bool = False  # whether the best run is the one with most of it
    is_number: ClassVar[bool] = True

    def text(self, run: ComparedRun[P_contra]) -> str:
        """Write the number of a run without its unit, a dash where there is none."""
        value = self.value(run)
        return MISSING if value is None else self.format(value)

    def words(self, run: ComparedRun[P_contra]) -> str:
        """Write the number of a run with its unit."""
        return f"{self.text(run)} {self.unit}".rstrip()

    def sort(self, run: ComparedRun[P_contra]) -> Number:
        """Return the number that a run is sorted by; None where it has none."""
        return self.value(run)

    def pasted(self, run: ComparedRun[P_contra]) -> str:
        """Write the number of a run with six significant digits, for spreadsheets and documents."""
        value = self.value(run)
        return MISSING if value is None else f"{value:.6g}"

    @property
    def header(self) -> str:
        """Title and unit, for the header of a column or the name of an axis."""
        unit = f", {self.unit}" if self.unit not in self.title else ""
        return f"{self.title[:1].upper()}{self.title[1:]}{unit}"


CommonMetric = Metric[TaskProblem]
AnyMetric = Metric[Any]
"""A metric of whatever task: tables, files and plots take them from `metrics_of`, which finds them by name.

The entries themselves are declared with the problem of their task, so that mypy knows each number they read.
"""


def metrics_of(problem: TaskProblem | type[TaskProblem]) -> tuple[AnyMetric, ...]:
    """Return the metrics of a problem's task, or of a class of problems, in their order.

    A task's own metric takes the place of one of every task with the same key or title.
    """
    own: tuple[AnyMetric, ...] = import_module(problem.columns_module).METRICS.get(problem.task, ())
    replaced = {name for entry in own for name in (entry.key, entry.title)}
    return (*TIMES, *own, *(entry for entry in METRICS if not {entry.key, entry.title} & replaced))


def metric(key: str, problem: TaskProblem | type[TaskProblem] | None = None) -> AnyMetric:
    """Return the metric of a key, of every task or a problem's; a `KeyError` says that there is none."""
    entries = {entry.key: entry for entry in ((*TIMES, *METRICS) if problem is None else metrics_of(problem))}
    return entries[key]


def number_of(result: AnyResult, key: str) -> Number:
    """Return one number of a run by itself."""
    return metric(key, result.problem).value(ComparedRun(result))


def _timed(value: Callable[[Timing], Number]) -> Value:
    """Return the value of runs with a speed only."""

    def of(run: ComparedRun[TaskProblem]) -> Number:
        timing = run.result.timing
        return value(timing) if timing is not None and run.result.kernel_ms is not None else None

    return of


_STATISTICS = {
    "median": "Median of",
    "p20": "A fifth of the samples are below this of",
    "p80": "A fifth of the samples are above this of",
    "minimum": "The fastest sample of",
}


def _durations(name: str, title: str, explanation: str, shown: Iterable[str] = ()) -> Iterable[CommonMetric]:
    """Yield the metrics of one sampled duration."""

    def value(statistic: str) -> Value:
        return _timed(lambda timing: getattr(getattr(timing, name), f"{statistic}_ms", None))

    for statistic, meaning in _STATISTICS.items():
        key, explained, is_shown = f"{name}_{statistic}_ms", f"{meaning} {explanation}", statistic in shown
        words, of = (title, "") if statistic == "median" else (f"{title} {statistic}", f"{name}_median_ms")
        yield Metric(key, words, "ms", explained, value(statistic), ms_cell, of=of, shown=is_shown)


def _of(part: str, name: str) -> Value:
    """Return a number of a part of the result, such as its proof, where there is that part."""
    return lambda run: getattr(getattr(run.result, part), name, None)


def _rate(read: Callable[[Work], int]) -> Value:
    """Return what is counted of the work per second, in 10⁹, by the median kernel time."""

    def of(run: ComparedRun[TaskProblem]) -> Number:
        work, kernel_ms = run.result.work, run.result.kernel_ms
        return read(work) / kernel_ms / 1e6 if work and kernel_ms else None

    return of


def _launch(name: str, of_all: Callable[[Iterable[float]], float] = max) -> Value:
    """Return a fact of the launches: of several the largest, or what `of_all` takes of them."""

    def of(run: ComparedRun[TaskProblem]) -> Number:
        values = [getattr(launch, name) for launch in run.result.launches or ()]
        known = [value for value in values if value is not None]
        return of_all(known) if known else None

    return of


def _idle_threads(run: ComparedRun[TaskProblem]) -> Number:
    launches = run.result.launches or ()
    threads = [launch.blocks * launch.threads for launch in launches]
    shares = [launch.idle_threads for launch in launches if launch.idle_threads is not None]
    return sum(map(mul, threads, shares)) / sum(threads) if 0 < len(threads) == len(shares) else None


def _counts(name: str, title: str, explanation: str, *, per_value: bool = True) -> Iterable[CommonMetric]:
    """Yield a count of the model of work, and where it is wanted the same per value that is computed."""
    total = _of("work", name)

    def each(run: ComparedRun[TaskProblem]) -> Number:
        count = total(run)
        return None if count is None else count / run.result.problem.values

    sentence = f"Model, before any cache: {explanation}"
    key = f"model_{name}"
    yield Metric(key, title, "", f"{sentence}.", total, count_text, shown=False)
    if per_value:
        explained = f"{sentence}, per sample or element of the result."
        of_each = f"{title} per output value"
        yield Metric(f"{key}_per_value", of_each, "", explained, each, rate_text, of=key, shown=False)


# fmt: off
TIMES: tuple[CommonMetric, ...] = (
    *_durations("kernel", "kernel", "the kernel alone, without copies and compilation.",
                ("median", "p20", "p80")),
    *_durations("end_to_end", "end to end",
                "the way from the operands in the host's memory to the result there: copies and kernel.",
                ("median",)),
)
"""The metrics of every task that come before its own."""

METRICS: tuple[CommonMetric, ...] = (
    Metric("speed_up", "speed-up", "", f"Speed-up: {SPEED_UP_OF}.", lambda run: run.speed_up, ratio_text,
           more_is_better=True),
    Metric("max_error", "max error", "",
           "Largest difference from the float64 reference, in units of the samples; in steps for results of "
           "8 or 16 bit.",
           _of("verification", "max_error"), error_text),
    Metric("error_bound", "error bound", "", "How far rounding may take the value with the largest error.",
           _of("verification", "bound"), error_text, of="max_error", shown=False),
    Metric("compile_ms", "compile", "ms", "Making the code ready, once; near 0 where it was kept.",
           _timed(lambda timing: timing.compile_ms), ms_cell, shown=False),
    Metric("allocate_ms", "allocate", "ms", "The device's buffers, once; near 0 where they were kept.",
           _timed(lambda timing: timing.allocate_ms), ms_cell, shown=False),
    *_durations("host_to_device", "host to device", "the copy of the operands to the device."),
    *_durations("device_to_host", "device to host", "the copy of the result to the host."),
    Metric("samples", "samples", "", "Samples of the kernel time.",
           _timed(lambda timing: len(timing.kernel.samples_ms)), count_text, shown=False),
    Metric("bandwidth_gb_s", "bandwidth", "GB/s", "Theoretical bandwidth of the device's global memory.",
           lambda run: run.result.environment.bandwidth_gb_s, rate_text, shown=False),
    Metric("compulsory_gb_s", "compulsory bandwidth", "GB/s",
           "Bytes that have to move at least (each operand read once, each result written once) over the "
           "median kernel time.",
           _rate(lambda work: work.minimum_bytes), rate_text, shown=False, more_is_better=True),
    Metric("counted_gb_s", "counted bandwidth", "GB/s",
           "Bytes that the threads ask of global memory (the model of work, before any cache) over the "
           "median kernel time. Above the device's bandwidth where caches serve them.",
           _rate(lambda work: work.global_load_bytes + work.global_store_bytes), rate_text, shown=False,
           more_is_better=True),
    Metric("gflops", "GFLOPS", "GFLOPS",
           "10⁹ floating-point operations per second: those of the model of work over the median kernel "
           "time.",
           _rate(lambda work: work.flops), rate_text, shown=False, more_is_better=True),
    Metric("registers_per_thread", "registers per thread", "",
           "Registers of a thread of the compiled kernel; of several launches the most.",
           _launch("registers"), count_text, shown=False),
    Metric("shared_bytes_per_block", "shared memory per block", "bytes",
           "Shared memory of a block of the compiled kernel; of several launches the most.",
           _launch("shared_bytes"), count_text, shown=False),
    Metric("local_bytes_per_thread", "local memory per thread", "bytes",
           "Local memory of a thread: registers that had no room (spilled) and arrays of its own; of several "
           "launches the most.",
           _launch("local_bytes"), count_text, shown=False),
    Metric("occupancy", "occupancy", "",
           "Warps that a multiprocessor holds at once over those that it has room for; of several launches "
           "the lowest.",
           _launch("occupancy", min), percent_text, shown=False, more_is_better=True),
    Metric("waves", "waves", "",
           "Blocks of the grid over those that all multiprocessors hold at once: how often the GPU is "
           "filled; of several launches the most.",
           _launch("waves"), rate_text, shown=False),
    Metric("halo_redundancy", "halo redundancy", "",
           "Cells of a block's input tile per result of its output tile: 1 would be no halo; of several "
           "launches the most.",
           _launch("halo_redundancy"), rate_text, shown=False),
    Metric("idle_threads", "idle threads", "",
           "The part of all threads that computes no result: those at the picture's edges, and those that "
           "load a halo only.",
           _idle_threads, percent_text, shown=False),
    Metric("share_of_tallest_limit", "share of the tallest limit", "",
           "The least time that the tallest limit of each launch allows over the median kernel time: 100 % "
           "would be at the limit. Known of runs whose time was explained.",
           _of("explained", "share"), percent_text, shown=False),
    Metric("transactions_per_request", "transactions per request", "",
           "Transactions of 128 bytes that a warp's request to global memory takes, counted from the kernel: "
           "1 is the least for 32 neighbours. Known of runs whose time was explained.",
           _of("explained", "transactions_per_request"), rate_text, shown=False),
    Metric("model_cgma_flop_per_load", "operations per global load (CGMA)", "",
           "Model, before any cache: floating-point operations per load from global memory.",
           _of("work", "cgma"), rate_text, shown=False, more_is_better=True),
    Metric("model_intensity_flop_per_byte", "operations per byte (arithmetic intensity)", "",
           "Model, before any cache: floating-point operations per byte of global memory.",
           _of("work", "arithmetic_intensity"), rate_text, shown=False, more_is_better=True),
    *_counts("flops", "operations", "floating-point operations, two per multiply-add"),
    *_counts("global_loads", "global loads",
             "elements loaded from global memory: operands, weights, intermediate values"),
    *_counts("picture_loads", "image loads (included above)",
             "elements of the picture loaded from global memory"),
    *_counts("global_stores", "global stores", "elements stored to global memory"),
    *_counts("shared_loads", "shared loads", "elements loaded from shared memory"),
    *_counts("shared_stores", "shared stores", "elements stored to shared memory"),
    *_counts("constant_loads", "constant loads", "elements loaded from constant memory"),
    *_counts("global_load_bytes", "global loads in bytes", "bytes loaded from global memory",
             per_value=False),
    *_counts("global_store_bytes", "global stores in bytes", "bytes stored to global memory",
             per_value=False),
    *_counts("minimum_bytes", "minimum traffic, bytes",
             "each operand read once, each result written once", per_value=False),
)
# fmt: on
