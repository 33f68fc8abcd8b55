"""`bench`: every variant on every size, mask and block, verified and timed; results as JSON, CSV, a table."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from engine.commands.arguments import Settings, group, option, refuse_used, several, sides
from engine.commands.measuring import Cells, Measuring, measure_cells
from engine.commands.output import log, table
from engine.commands.reasons import reasons, with_reason
from engine.commands.step_options import PictureOptions, key_of_filter
from engine.device.launches import DeviceKind
from engine.device_info import AUTO, SIMULATOR, DeviceInfo
from engine.errors import BadValue, MaskError, UnknownName
from engine.geometry.block import EVERY, Block, Layout, every_block
from engine.host.request import answer
from engine.image.format import DEFAULT_MAX_BYTES
from engine.mask.generator_table import GENERATORS
from engine.mask.mask import MAX_LINE, SIDES_ALLOWED, Mask, is_size_allowed
from engine.mask.mask import MAX_SIDE as MAX_MASK_SIDE
from engine.mask.presets import did_you_mean, resolve_mask
from engine.process import bytes_text
from engine.results.columns import layout_suffix
from engine.results.measurement import AnyResult, Measurement
from engine.run.measure import SamplingPlan, measured_result
from engine.run.task import AnyJob
from engine.run.variant import AnyVariant, named
from engine.tasks.messages import RecordedRequest
from engine.work.chain_files import chain_named, entry_of
from engine.work.columns import RunResult, fastest_blocks, found_words, mask_text
from engine.work.filter_task import random_mask
from engine.work.filtering.variants import VARIANTS, variant
from engine.work.measuring import Sweep, measured_work
from engine.work.operations.contract import operation_named, parameters_from
from engine.work.planned import CHAIN_VARIANTS
from engine.work.problem import MAX_SIDE, Parameters
from engine.work.steps import MaskStep, OperationStep, PictureRequest, of_chain, one_step

DEFAULT_MASKS = ((3, 3), (5, 5))
_OF_MASKS = "masks", "border", "result_type", "best", "recorded", "explain"

_GENERATORS = ", ".join(GENERATORS)


def _blocks(text: str) -> tuple[Block, ...]:
    if text.strip().lower() == EVERY:
        return tuple(every_block())
    return several("--blocks", Block.parse)(text)


def _mask(text: str) -> Mask | tuple[int, int]:
    """Return one entry of the list of masks: 5, 2x5, box:5, sobel-x, or the name of a file."""
    if re.fullmatch(r"\d{1,9}(?:[xX×]\d{1,9})?", text):
        return sides("--masks", "rows × columns", MAX_LINE, is_size_allowed, SIDES_ALLOWED)(text)
    if re.match(r"[\d+.-]", text):
        why = f"it is neither a side from 1 to {MAX_MASK_SIDE} nor rows × columns; weights are not taken here"
        remedy = f"Write a size such as 5 or 5x7, or one by name such as box:5 ({_GENERATORS})."
        raise BadValue(f"--masks {text}", why, remedy)
    try:
        return resolve_mask(text).with_name(text)
    except MaskError as error:
        known = f"one by name such as box:5 ({_GENERATORS}), a preset (`masks` lists them), or a file."
        remedy = f"{did_you_mean(text)}Write a size such as 5 or 5x7, {known}"
        raise MaskError(f"--masks: {error.what}", error.why, remedy) from error


@dataclass(frozen=True, kw_only=True)
class BenchSettings(Settings):
    """What `bench` takes."""

    gone = Settings.gone | {
        "--scheduler": (
            "it measures the machine that it runs on",
            "On each machine: ssh user@server haloscope {command} ...",
        )
    }
    about = (
        "Each cell is verified against a float64 oracle, warmed up and sampled; one that fails, or that the "
        "variant cannot compute, is in the results with its reason. Pictures, and the weights of masks "
        "without a name, are random numbers from a seed."
    )
    examples = (
        "--out results.json",
        "--variants cpu-parallel,tiled --sizes 1024,1920x1080 --masks 3,5 --out r.json --csv r.csv",
        "--variants tiled,cached --blocks 8x8,16x16,32x8 --baseline cached --out blocks.json",
        "--variants cpu-parallel,cpu-separable,cpu-box --masks 5,gaussian:5,box:31 --out r.json",
        "--variants naive,tiled --sizes 1001 --layouts pitched,packed --out pitch.json",
        "--operation median --set size=5 --variants cpu-median,median-tiled --out r.json",
        "--chain sobel-magnitude --sizes 1920x1080 --channels 3 --dtype uint8 --out edges.json",
        "--best --variants tiled,cached --sizes 1024 --masks 5",
    )

    variants: tuple[str, ...] = option("--variants a,b  keys (default: all)", (), several("--variants", str))
    sizes: tuple[tuple[int, int], ...] = option(
        "--sizes 512,1024  pictures: a side, or width × height",
        ((512, 512), (1024, 1024)),
        several("--sizes", sides("--sizes", "width × height", MAX_SIDE)),
    )
    masks: tuple[Mask | tuple[int, int], ...] = option(
        f"""--masks 3,5,box:5  masks: a side, or rows × columns, up to 63, or 127 in one row or column, with
        random weights; or by name, as `filter --mask` takes them ({_GENERATORS} with their sizes, a preset, a
        file)""",
        DEFAULT_MASKS,
        several("--masks", _mask),
    )
    operation: str | None = option(
        """--operation KEY  instead of masks: median, histogram, ... (docs/operations.md); --variants and
        --baseline are then the operation's (default: the CPU's)""",
        None,
    )
    set: tuple[str, ...] = option("--set NAME=VALUE  a parameter of the operation, such as size=5", ())
    chain: str | None = option(
        """--chain CHAIN  instead of masks: several steps, each by the kernel that it names, by the name of a
        ready chain (`chains` lists them), a file, or JSON; --variants are then cpu-chain and cuda-chain""",
        None,
    )
    blocks: tuple[Block, ...] = option(
        """--blocks 8x8,16x16  blocks of CUDA threads, width × height, or all: every block with sides 1, 2, 4,
        8 ... that CUDA allows (default: each variant's own, with --best all)""",
        (),
        _blocks,
    )
    best: bool = option("--best  also say the best block of each kernel", False)
    layouts: tuple[Layout, ...] = option(
        """--layouts pitched,packed  rows on the CUDA device: each on a 128-byte boundary (default), or one
        right after the other""",
        (Layout.PITCHED,),
        several("--layouts", Layout.named),
    )
    picture: PictureOptions = group(PictureOptions, where="", default=" (default)")
    recorded: bool = option(
        """--recorded  also show what another machine with a GPU measured, marked as recorded: masks of the
        same size on the same picture, or on the nearest one that was recorded""",
        False,
    )
    baseline: str | None = option(
        """--baseline KEY  speed-ups are against the fastest verified run of this variant on the same
        problem, whose number is under 'baseline run'; none where it is not measured (default cpu-serial)""",
        None,
    )
    explain: bool = option(
        "--explain  also say why each run takes its time; `devices --limits` measures what that needs", False
    )
    measuring: Measuring = group(Measuring, seed_of="pictures and weights")

    def __post_init__(self) -> None:
        """Refuse options that do not belong together, blocks without threads and pictures too large."""
        if self.chain is not None:
            names = ("operation", "set", "blocks", *_OF_MASKS)
            refuse_used(self, names, "with --chain", "the chain has steps of its own", "Leave it out.")
        elif self.operation is not None:
            refuse_used(self, _OF_MASKS, "with --operation", "it is for masks", "Leave it out.")
        elif self.set:
            why = "it is a parameter of an operation"
            raise BadValue("--set without --operation", why, "Leave it out.")
        for block in self.blocks:
            if block.x < 1 or block.y < 1:
                raise BadValue(f"--blocks {block}", "it has no threads", "Give each side at least 1.")
        for width, height in self.sizes:
            dtype = np.dtype(self.picture.dtype or "float32")
            needed_bytes = width * height * self.picture.channels * dtype.itemsize
            if needed_bytes > DEFAULT_MAX_BYTES:
                limit = bytes_text(DEFAULT_MAX_BYTES)
                why = f"the picture takes {bytes_text(needed_bytes)}, the limit is {limit}"
                raise BadValue(f"--sizes {width}x{height}", why, "Choose a smaller size.")


def run(settings: BenchSettings) -> int:
    """Measure every cell, print and write the results; return the exit status."""
    # Masks by name keep the text that was written.
    masks = [mask.name for mask in settings.masks if isinstance(mask, Mask)]
    sources, what = (masks, "mask") if settings.chain is None else ([settings.chain], "chain")
    settings.measuring.check(sources, what)
    if not (settings.measuring.out or settings.best):
        remedy = "Add --out results.json, or --best for the best blocks."
        raise BadValue("bench", "no file for the results is named", remedy)
    return measure_cells(bench_cells(settings), settings.measuring, json=settings.json)


def bench_cells(settings: BenchSettings) -> Cells:
    """Return the requested cells: every size, mask, variant, block and layout."""
    requests = _requests(settings)
    step = requests[0].step
    known: Sequence[AnyVariant] = CHAIN_VARIANTS if step is None else step.variants
    variants = [_named(key, step) for key in settings.variants] or tuple(known)
    sweep = Sweep(
        requests=requests,
        variants=variants,
        sizes=settings.sizes,
        blocks=settings.blocks or (every_block() if settings.best else ()),
        layouts=settings.layouts,
        channels=settings.picture.channels,
        dtype=settings.picture.dtype or "float32",
        seed=settings.measuring.seed,
    )
    sweep.refuse()
    on_cpu = next(one.key for one in known if one.device == DeviceKind.CPU)

    def measure(job: AnyJob, device: DeviceInfo, plan: SamplingPlan) -> AnyResult:
        return with_reason(measured_result(job, device, plan), job, device)

    def concluded(results: Sequence[RunResult]) -> tuple[Mapping[str, object], str]:
        added, best = best_blocks(results) if settings.best else ({}, "")
        return added, "\n\n".join(filter(None, (reasons(results), best)))

    baseline = _named(settings.baseline, step).key if settings.baseline else on_cpu
    return Cells(
        command="bench",
        variants=variants,
        count=sweep.cells,
        jobs=sweep.jobs(),
        name=lambda result: _name(result, settings, requests[0]),
        baseline=baseline,
        requested=_request_json(settings, sweep),
        without=("border",) if len(settings.layouts) > 1 else ("border", "layout"),
        measure=measure if settings.explain else measured_work,
        conclude=concluded,
        recorded=lambda results: _recorded(results, sweep, baseline) if settings.recorded else (),
    )


def _requests(settings: BenchSettings) -> list[PictureRequest]:
    """Return what is measured: each mask, or the operation, or the chain."""
    picture, where = settings.picture, {"device": settings.measuring.device}
    if settings.chain is not None:
        return [of_chain(chain_named(settings.chain), **where)]
    if settings.operation is not None:
        parameters = Parameters(parameters_from(settings.set).items())
        operation = operation_named(settings.operation).key
        return [one_step(OperationStep(operation=operation, settings=parameters), **where)]
    masks = (
        mask if isinstance(mask, Mask) else random_mask(*mask, settings.measuring.seed)
        for mask in settings.masks
    )
    steps = (MaskStep(mask=mask, border=picture.border) for mask in masks)
    return [one_step(step, result_type=picture.result_type, **where) for step in steps]


def _masks(sweep: Sweep) -> list[Mask]:
    return [request.filter.mask for request in sweep.requests if request.filter is not None]


def _request_json(settings: BenchSettings, sweep: Sweep) -> dict[str, object]:
    """Return what is measured as plain data."""
    request, how = sweep.requests[0], settings.measuring
    if settings.chain is not None:
        return {"request": {"chain": entry_of(request.chain)}}
    if (step := request.operation) is not None:
        parameters = step.known.read(dict(step.settings))
        return {"request": {"operation": step.operation, "settings": parameters}}
    masks = []
    for setting, mask in zip(settings.masks, _masks(sweep), strict=True):
        weights = mask.weights.tolist() if mask is setting else "random"
        masks.append({"rows": mask.rows, "columns": mask.columns, "name": mask.name, "weights": weights})
    measured = {
        "variants": [variant.key for variant in sweep.variants],
        "sizes": [{"width": width, "height": height} for width, height in sweep.sizes],
        "masks": masks,
        "blocks": [asdict(block) for block in sweep.blocks],
        "layouts": [str(layout) for layout in sweep.layouts],
        "border": str(request.filter and request.filter.border),
        "device": how.device, "channels": sweep.channels, "dtype": sweep.dtype,
        "result_type": request.result_type, "seed": sweep.seed, "budget_s": how.budget,
    }  # fmt: skip
    return {"sweep": measured}


def _recorded(results: Sequence[RunResult], sweep: Sweep, baseline: str) -> list[RunResult]:
    """Return the recorded runs of these variants, and of the baseline, for each problem."""
    known = {mask.weights_digest: mask for mask in _masks(sweep)}
    problems = dict.fromkeys((run.problem, known[run.weights_digest or ""]) for run in results)
    # By the name of what answers: reading results loads every task.
    answers = [answer(RecordedRequest(*one), lambda step: None) for one in problems]
    for note in dict.fromkeys(one.note for one in answers if one.note):
        log(note)
    wanted = {baseline, *(variant.key for variant in sweep.variants)}
    # Several problems may have the same nearest one.
    return list({id(run): run for one in answers for run in one.runs if run.variant in wanted}.values())


def _name(result: Measurement[Any], settings: BenchSettings, request: PictureRequest) -> str:
    """Return what the progress calls a run."""
    if settings.chain is not None:
        what = request.chain.title or request.chain.text
    else:
        what = result.problem.operation_text if settings.operation else f"mask {mask_text(result)}"
    block = f" {result.block}" if result.block else ""
    layout = f" {result.layout}" if result.layout and len(settings.layouts) > 1 else ""
    return f"{result.problem.size_text}, {what}, {result.variant}{block}{layout}"


def _named(key: str, step: MaskStep | OperationStep | None) -> AnyVariant:
    """Return the variant of that key: of the step, or of chains where there are several."""
    if step is None:
        why_not = "that is no variant of chains: each step names its own"
        return named(key, CHAIN_VARIANTS, (), why_not)
    if step.kind != MaskStep.kind:
        known: AnyVariant = step.named(key)
        return known
    if key == AUTO:
        keys = ", ".join(candidate.key for candidate in VARIANTS)
        raise UnknownName("variant 'auto'", "a benchmark measures variants by name", f"Choose one of {keys}.")
    return variant(key_of_filter(key), takes_auto=False)


def best_blocks(results: Sequence[RunResult]) -> tuple[dict[str, object], str]:
    """Return the best blocks as plain data and as text."""
    fastest = fastest_blocks(results)
    if not fastest:
        with_block = [result for result in results if result.block is not None]
        why = "each kernel has a time with one block only. Name several with --blocks."
        if any(result.is_proven and result.device == SIMULATOR for result in with_block):
            why = "the simulator's times mean nothing. Choose a GPU with --device."
        elif not any(result.kernel_ms for result in with_block):
            why = "no kernel with blocks has a time. The table says why; a GPU is needed."
        return {"best_blocks": []}, f"No best block: {why}"
    rows, document = [], []
    for result in fastest:
        picture, mask = result.problem.picture_text, mask_text(result)
        words = found_words(result, results, variant(result.variant).default_block)
        rows.append([f"{result.variant}{layout_suffix(result)}", f"{picture}, mask {mask}", words])
        document.append({
            "variant": result.variant, "device": result.environment.device, "picture": picture,
            "mask": mask, "layout": result.layout,
            "block": asdict(result.block) if result.block else None, "kernel_median_ms": result.kernel_ms,
        })  # fmt: skip
    return {"best_blocks": document}, table(["variant", "problem", "best block"], rows)
