"""`explain`: why a filter takes its time, from its launch and its code, without a run and without a GPU.

With `--ablate` from a run, too: of the kernel, and of altered kernels that lack one cost each.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from importlib import import_module
from typing import NamedTuple

import numpy as np

from engine.commands import DONE
from engine.commands.arguments import Settings, group, option, refuse_used, required, sides
from engine.commands.output import print_one, table
from engine.commands.step_options import PictureOptions, key_of_filter
from engine.device.device_list import cpu_info, listed_devices
from engine.device.launches import DeviceKind
from engine.device_info import AUTO, DeviceInfo
from engine.errors import DeviceUnavailable, UnknownName
from engine.explain import launches
from engine.explain.ablation_results import Ablation, ablation_document, ablation_rows, ablation_sentences
from engine.explain.answers import kernel_resources, launch_advice
from engine.explain.counting import accesses_document, accesses_rows, counted_run
from engine.explain.launches import ARCHITECTURES, Architecture
from engine.explain.messages import LaunchAdvice
from engine.explain.why import explained_time
from engine.geometry.block import Block
from engine.image.open import open_image
from engine.mask.json_form import numbers_of
from engine.mask.presets import resolve_mask
from engine.results.columns import problem_text
from engine.results.metrics import Compared, metrics_of
from engine.run.measure import unrun
from engine.run.task import device_for
from engine.work.filter_task import FILTERING, MaskJob
from engine.work.filtering.variants import VARIANTS, variant
from engine.work.problem import MAX_SIDE, as_samples, random_picture
from engine.work.resolve import Resolved
from engine.work.steps import MaskStep, one_step


class ExplainSection(NamedTuple):
    """A section of the explanation of a job."""

    key: str  # in JSON
    heading: str
    document: Mapping[str, object]  # for JSON
    rows: Sequence[Sequence[str]]  # a name and a text for each launch, or one
    sentences: Sequence[str] = ()  # below the rows


def sections(job: MaskJob, device: DeviceInfo, ablation: Ablation | None = None) -> Iterator[ExplainSection]:
    """Yield every section that has something to say of a job on a device, a GPU here or not."""
    least = explained_time(job, device)
    sentences = [least.sentence or str(least.not_explained)]
    if least.bounds:
        sentences.append(f"Limits: {least.device}.")
    document = asdict(least) | {"not_explained": str(least.not_explained or "") or None}
    yield ExplainSection(
        "time", "Least time", document, [(one.title, one.words) for one in least.bounds], sentences
    )
    advice = LaunchAdvice(job.variant.key)
    if job.variant.has_kernels:
        advice = launch_advice(job, device, kernel_resources(job, device))
        yield _launch(device, advice)
        run, heading = counted_run(job), "Requests of warps (counted in the executed PTX)"
        not_counted = [] if run.not_counted is None else [f"Not counted: {run.not_counted}"]
        yield ExplainSection(
            "accesses", heading, accesses_document(run), accesses_rows(run.passes), not_counted
        )
    if metrics := _metrics(job, device, advice):
        yield metrics
    if ablation is not None:
        heading = "Ablation: what each cost takes"
        parts = ablation_document(ablation), ablation_rows(ablation), ablation_sentences(ablation)
        yield ExplainSection("ablation", heading, *parts)


def _launch(device: DeviceInfo, advice: LaunchAdvice) -> ExplainSection:
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
            curves = launch.curves.items()
            document["curves"] = {name: [point._asdict() for point in points] for name, points in curves}
        kernels.append(document)
    architecture = {"architecture": str(launches.architecture_of(device)), "gpu": advice.gpu}
    document = {**architecture, "not_compiled": advice.reason or None, "launches": kernels}
    numbers = zip(*map(launches.numbers_of, advice.launches), strict=True)
    rows = [(of_each[0].name, *(one.text for one in of_each)) for of_each in numbers]
    sentences = [advice.reason] if advice.reason else list(map(launches.limit_sentence, advice.launches))
    return ExplainSection("launch", "Launch", document, rows, sentences)


def _metrics(job: MaskJob, device: DeviceInfo, advice: LaunchAdvice) -> ExplainSection | None:
    """Say every number of a run that needs no run: those of the model of work and of the launches."""
    result = replace(unrun(job, device, is_recorded=False), work=job.work)
    launched = Compared(replace(result, launches=tuple(one.facts for one in advice.launches) or None))
    metrics = [metric for metric in metrics_of(job.problem) if metric.value(launched) is not None]
    document = {metric.key: metric.value(launched) for metric in metrics}
    # What the launches say above, memory that a kernel does not touch, and details are in JSON alone.
    shown = [metric for metric in metrics if not metric.of and metric.value(Compared(result))]
    rows = [(metric.title, metric.words(launched)) for metric in shown]
    return ExplainSection("metrics", "Numbers that need no run", document, rows) if metrics else None


FORMAT, VERSION = "haloscope-explain", 1


def _filter(key: str) -> str:
    if key == AUTO:
        keys = ", ".join(known.key for known in VARIANTS)
        raise UnknownName("variant 'auto'", "a kernel is explained by its name", f"Choose one of {keys}.")
    return variant(key_of_filter(key), takes_auto=False).key


@dataclass(frozen=True, kw_only=True)
class ExplainSettings(Settings):
    """What `explain` takes."""

    about = (
        "Nothing runs and no GPU is needed: the kernel is compiled for the GPU here, or for one that is not "
        "here. Registers, occupancy and what limits it, waves, halo, idle threads, what warps ask of memory, "
        "and every number of a run that needs no run. Only --ablate runs the kernel."
    )
    examples = (
        "1920x1080 --mask gaussian:5 --variant tiled --block 16x16",
        "photo.png --mask sobel-x --variant cached --arch sm_86",
        "4096x4096 --mask box:9 --variant register-blocked --arch sm_120 --json",
        "4096x4096 --mask gaussian:5 --variant naive --ablate",
    )

    picture: str = required("IMAGE|WxH  a picture file, or the size of a picture, width × height", str)
    mask: str = required("--mask MASK  as `filter --mask` takes it", str)
    variant: str = required("--variant KEY  the kernel (`variants` lists them)", _filter)
    block: Block | None = option(
        "--block 16x16  threads of a CUDA block, width × height (default: the variant's own)",
        None,
        Block.parse,
    )
    arch: Architecture | None = option(
        f"""--arch sm_86  the GPU that the kernel is compiled for, here or not:
        {", ".join(map(str, ARCHITECTURES))} (default: the GPU here; without one sm_90)""",
        None,
        Architecture.named,
    )
    made: PictureOptions = group(
        PictureOptions, where=", of a picture that is a size", default=", where it is a size (default uint8)"
    )
    ablate: bool = option(
        """--ablate  also run the kernel, and altered kernels that lack one cost each: what border test,
        loads, stores and barrier take (without a GPU: the instructions that they execute)""",
        False,
    )
    device: str = option("--device KEY  of --ablate (`devices` lists them; default auto)", AUTO)


def run(settings: ExplainSettings) -> int:
    """Print what each section says; return the exit status."""
    if not settings.ablate:
        refuse_used(settings, ("device",), "without --ablate", "nothing runs", "--arch names a GPU instead.")
    step = MaskStep(mask=resolve_mask(settings.mask), border=settings.made.border)
    samples = _samples(settings)
    chosen = variant(settings.variant)
    resolved = Resolved(one_step(step, result_type=settings.made.result_type), samples)
    job = resolved.job_by(chosen, chosen.block_for(settings.block))
    device = cpu_info()
    if chosen.device is DeviceKind.CUDA:
        device = launches.gpu_for(listed_devices(), settings.arch)
        job.refuse_problem(device)
    explained = list(sections(job, device, _ablation(settings, job) if settings.ablate else None))
    document: dict[str, object] = {"format": FORMAT, "version": VERSION, "variant": chosen.key}
    document |= {"title": chosen.title, "block": asdict(job.block) if chosen.uses_block else None}
    document |= {"problem": job.problem.csv_columns(), "mask": numbers_of(job.constant)}
    document |= {section.key: section.document for section in explained}
    where = f", on {launches.gpu_text(device)}" if chosen.device is DeviceKind.CUDA else ""
    block = f", block {job.block}" if chosen.uses_block else ""
    parts = [f"{chosen.key}{block}{where}: {problem_text(unrun(job, device, is_recorded=False))}"]
    parts += [f"{section.heading}\n{_lines(section)}" for section in explained]
    print_one(settings.json, document, "\n\n".join(parts))
    return DONE


def _ablation(settings: ExplainSettings, job: MaskJob) -> Ablation:
    """Time the kernel and the altered ones where its device is; without one, count their instructions."""
    # It loads Numba's CUDA target, which no kernel of the CPU needs: 0.3 s.
    runs = import_module("engine.explain.ablation_runs")
    try:
        device = device_for(job.variant, settings.device)
    except DeviceUnavailable:
        if settings.device != AUTO:
            raise
        counted: Ablation = runs.counted_ablation(job)
        return counted
    samples = job.operands
    if not samples.flags.c_contiguous:
        # Of a size there is no picture.
        job = FILTERING.part(job, random_picture(samples.shape, samples.dtype.name, 0))
    job.refuse(device)
    timed: Ablation = runs.ablated(job, device.key)
    return timed


def _lines(section: ExplainSection) -> str:
    """Return rows as a table with a heading for each launch, where there are several, and the sentences."""
    rows, columns = list(section.rows), max(map(len, section.rows), default=0)
    if columns > 2:
        rows = [("", *(f"launch {number}" for number in range(1, columns))), *rows]
    lines = table(rows[0], rows[1:]).split("\n") if rows else []
    return "\n".join([f"  {line}" for line in lines] + list(section.sentences))


def _samples(settings: ExplainSettings) -> np.ndarray:
    """Return an array of the picture's shape and type; of a size it takes no memory."""
    text = settings.picture
    if not re.fullmatch(r"\d{1,9}[xX×]\d{1,9}", text):
        where, why = f"with {text}", "it is for a picture that is a size, and a file has its own"
        refuse_used(settings.made, ("channels", "dtype"), where, why, "Leave it out.")
        return as_samples(open_image(text).pixels)
    width, height = sides("IMAGE|WxH", "width × height", MAX_SIDE)(text)
    made = settings.made
    return np.broadcast_to(np.zeros((), made.dtype or "uint8"), (height, width, made.channels))
