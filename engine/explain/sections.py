"""The sections of an explanation, in their order: each is data for JSON and rows for people.

A section that has nothing to say of a job, such as the launch of a CPU variant, is left out.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from typing import NamedTuple

from engine.device_info import DeviceInfo
from engine.explain.ablation_results import Ablation, ablation_document, ablation_rows, ablation_sentences
from engine.explain.answers import kernel_resources, launch_advice
from engine.explain.counting import accesses_document, accesses_rows, counted_run
from engine.explain.launches import Curves, architecture_of, limit_sentence, numbers_of
from engine.explain.messages import LaunchAdvice
from engine.explain.why import explained_time
from engine.results.metrics import Compared, metrics_of
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
    for launch in advice.launches:
        document: dict[str, object] = asdict(launch.facts) | {
            "threads_per_block": launch.facts.threads,
            "warps_per_block": launch.occupancy.block_warps,
            "resident_warps": launch.occupancy.warps,
            "most_warps": launch.occupancy.most_warps,
            "limits": {limit.what: limit.blocks for limit in launch.occupancy.limits},
            "constant_bytes": launch.constant_bytes,
        }
        if launch.is_compiled:
            document["curves"] = _curves_document(launch.curves)
        kernels.append(document)
    architecture = {"architecture": str(architecture_of(device)), "gpu": advice.gpu}
    document = {**architecture, "not_compiled": advice.reason or None, "launches": kernels}
    numbers = zip(*map(numbers_of, advice.launches), strict=True)
    rows = [(of_each[0].name, *(one.text for one in of_each)) for of_each in numbers]
    said = [advice.reason] if advice.reason else list(map(limit_sentence, advice.launches))
    return Section("launch", "Launch", document, rows, said)


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
    rows = [(bound.title, bound.words) for bound in found.bounds]
    return Section("time", "Least time", document, rows, sentences)


def _curves_document(found: Curves) -> dict[str, object]:
    return {
        name: [point._asdict() for point in getattr(found, name)]
        for name in ("threads", "registers", "shared_bytes")
    }
