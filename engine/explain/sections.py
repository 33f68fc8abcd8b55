"""The sections of an explanation, in their order: each is data for JSON and rows for people.

A section that has nothing to say of a job, such as the launch of a CPU variant, is left out.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from typing import NamedTuple

from engine.device_info import DeviceInfo
from engine.explain.ablation.results import Ablation, ablation_document, ablation_rows, ablation_sentences
from engine.explain.bounds.explained import explained_time
from engine.explain.counts.accesses import accesses_document, accesses_rows
from engine.explain.counts.counting import counted_run
from engine.explain.gpus import architecture_of
from engine.explain.launch.answers import kernel_resources, launch_advice
from engine.explain.launch.launches import Curves, ExplainedLaunch
from engine.explain.messages import LaunchAdvice
from engine.results.compare import Compared
from engine.results.measurement import Bound
from engine.results.metrics import metrics_of
from engine.results.quantities import MISSING, count_text, digits_text, percent_text, rate_text
from engine.run.measure import unrun
from engine.work.filter_task import MaskJob


class Section(NamedTuple):
    """What is said of a job."""

    key: str  # in JSON
    heading: str
    document: Mapping[str, object]  # for JSON
    rows: Sequence[Sequence[str]]  # a name and a text for each launch, or one
    sentences: Sequence[str] = ()  # below the rows


def sections(job: MaskJob, device: DeviceInfo, ablation: Ablation | None = None) -> Iterator[Section]:
    """Yield every section that has something to say of a job on a device, a GPU here or not."""
    yield _time(job, device)
    advice = LaunchAdvice(job.variant.key)
    if job.variant.has_kernels:
        advice = launch_advice(job, device, lambda: kernel_resources(job, device))
        yield _launch(device, advice)
        yield _accesses(job)
    if metrics := _metrics(job, device, advice):
        yield metrics
    if ablation is not None:
        heading = "Ablation: what each cost takes"
        said = ablation_document(ablation), ablation_rows(ablation), ablation_sentences(ablation)
        yield Section("ablation", heading, *said)


def _launch(device: DeviceInfo, advice: LaunchAdvice) -> Section:
    """Say what each launch takes of a multiprocessor, what limits it, its waves, halo and idle threads."""
    kernels = []
    for launch, drawn in zip(advice.launches, advice.curves, strict=True):
        document: dict[str, object] = asdict(launch.facts) | {
            "threads_per_block": launch.facts.threads,
            "warps_per_block": launch.occupancy.block_warps,
            "resident_warps": launch.occupancy.warps,
            "most_warps": launch.occupancy.most_warps,
            "limits": {limit.what: limit.blocks for limit in launch.occupancy.limits},
            "constant_bytes": launch.constant_bytes,
        }
        if launch.is_compiled:
            document["curves"] = _curves_document(drawn)
        kernels.append(document)
    architecture = {"architecture": str(architecture_of(device)), "gpu": advice.gpu}
    document = {**architecture, "not_compiled": advice.reason or None, "launches": kernels}
    rows = [(name, *map(text, advice.launches)) for name, text in _ROWS]
    return Section("launch", "Launch", document, rows, [advice.reason] if advice.reason else [])


def _metrics(job: MaskJob, device: DeviceInfo, advice: LaunchAdvice) -> Section | None:
    """Say every number of a run that needs no run: those of the model of work and of the launches."""
    result = replace(unrun(job, device, is_recorded=False), work=job.work)
    launched = Compared(replace(result, launches=tuple(one.facts for one in advice.launches) or None))
    found = [metric for metric in metrics_of(job.problem) if metric.value(launched) is not None]
    document = {metric.key: metric.value(launched) for metric in found}
    # What the launches say above, memory that a kernel does not touch, and details are in JSON alone.
    shown = [metric for metric in found if not metric.of and metric.value(Compared(result))]
    rows = [(metric.title, metric.words(launched)) for metric in shown]
    return Section("metrics", "Numbers that need no run", document, rows) if found else None


def _accesses(job: MaskJob) -> Section:
    """Say what the warps of each launch ask of memory, counted in its PTX."""
    run, heading = counted_run(job), "Requests of warps (counted in the executed PTX)"
    sentences = [] if run.not_counted is None else [f"Not counted: {run.not_counted}"]
    return Section("accesses", heading, accesses_document(run), accesses_rows(run.passes), sentences)


def _time(job: MaskJob, device: DeviceInfo) -> Section:
    """Say how long the run takes at least, for each thing that it must do, and why."""
    found = explained_time(job, device)
    sentences = [found.sentence or str(found.not_explained)]
    if found.bounds:
        sentences.append(f"Limits: {found.device}.")
    document = asdict(found) | {"not_explained": str(found.not_explained or "") or None}
    rows = [(bound.title, _bound(bound)) for bound in found.bounds]
    return Section("time", "Least time", document, rows, sentences)


def _bound(bound: Bound) -> str:
    amount, rate = _scaled(bound.amount), _scaled(bound.per_s)
    return f"{digits_text(bound.ms, 3)} ms: {amount} {bound.unit} at {rate} per second ({bound.counted_from})"


def _scaled(number: float) -> str:
    """Write a large number with three digits: 113 M."""
    for factor, letter in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= factor:
            return f"{digits_text(number / factor, 3)} {letter}"
    return rate_text(number)


def _curves_document(found: Curves) -> dict[str, object]:
    return {
        name: [point._asdict() for point in getattr(found, name)]
        for name in ("threads", "registers", "shared_bytes")
    }


def _grid(launch: ExplainedLaunch) -> str:
    return f"{' × '.join(map(count_text, launch.facts.grid))}, {count_text(launch.facts.blocks)} blocks"


def _threads(launch: ExplainedLaunch) -> str:
    warps = launch.occupancy.block_warps
    sides = " × ".join(map(str, launch.facts.block[:2]))
    return f"{sides}, {launch.facts.threads} threads, {warps} warp{'s' if warps > 1 else ''}"


def _bytes(value: int | None) -> str:
    return MISSING if value is None else f"{value:,} bytes"


def _occupancy(launch: ExplainedLaunch) -> str:
    found = launch.occupancy
    at_most = "" if launch.is_compiled else "at most "
    return f"{at_most}{percent_text(found.share)}, {found.warps} of {found.most_warps} warps"


def _waves(launch: ExplainedLaunch) -> str:
    number, last = launch.facts.waves, launch.facts.last_wave
    if number is None or last is None:
        return MISSING
    return f"{rate_text(number)}, the last one {percent_text(last)} full"


def _share(value: float | None) -> str:
    return MISSING if value is None else percent_text(value)


def _halo(launch: ExplainedLaunch) -> str:
    value = launch.facts.halo_redundancy
    return MISSING if value is None else f"{rate_text(value)} cells of the input tile per result"


_ROWS: tuple[tuple[str, Callable[[ExplainedLaunch], str]], ...] = (
    ("grid", _grid),
    ("block", _threads),
    ("registers per thread", lambda launch: str(launch.facts.registers or MISSING)),
    ("shared memory per block", lambda launch: _bytes(launch.facts.shared_bytes)),
    ("constant memory", lambda launch: _bytes(launch.constant_bytes)),
    ("local memory per thread", lambda launch: _bytes(launch.facts.local_bytes)),
    (
        "blocks on a multiprocessor",
        lambda launch: f"{launch.occupancy.blocks}, limited by {launch.facts.limited_by}",
    ),
    ("occupancy", _occupancy),
    ("waves", _waves),
    ("halo redundancy", _halo),
    ("idle threads", lambda launch: _share(launch.facts.idle_threads)),
)
