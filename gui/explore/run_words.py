"""What the page says of its runs: the problem, the answer, what a run cost, how two differ."""

import math
from collections.abc import Sequence
from operator import itemgetter

from engine.device_info import RECORDED, SIMULATOR
from engine.geometry.border import Border
from engine.results.columns import device_text, layout_suffix, server_of
from engine.results.metrics import Compared, metric
from engine.results.text_forms import duration_text, rate_text, ratio_text
from engine.work.problem import Problem
from gui.explore.jobs import operation_of
from gui.explore.workspace import Workspace
from gui.runs.bars import CGMA

# Of the time or the ratio: less is no news.
_NOTED_SPREAD = 0.1
EARLIER = "for an earlier problem"
"""For runs whose picture, mask or parameters have changed since."""


def run_title(run: Compared, *, is_earlier: bool = False) -> str:
    """Return which run it is: Run 3: tiled, 16 × 16."""
    result = run.result
    block = f", {result.block}" if result.block else ""
    earlier = f", {EARLIER}" if is_earlier else ""
    recorded = f", {device_text(result)}" if result.device == RECORDED else ""
    where = f" on {server}" if (server := server_of(result)) else ""
    return f"Run {run.number}: {result.variant}{block}{layout_suffix(result)}{where}{earlier}{recorded}"


def no_run_sentence(engine_is_ready: bool, has_picture: bool) -> str:
    """Return what is missing before a kernel can be run, else what to press."""
    if not has_picture:
        return "No run yet: open a picture first (Ctrl+O)."
    if not engine_is_ready:
        return "No run yet: kernels run once the engine is up."
    return "No run yet: press Run (Ctrl+R) to measure and verify."


def border_words(workspace: Workspace) -> str:
    """Return the border as it is named everywhere: "zero border", "constant 16 border"."""
    settings = workspace.settings
    value = f" {settings.cval:g}" if settings.border is Border.CONSTANT else ""
    return f"{settings.border}{value} border"


def operation_words(workspace: Workspace) -> str:
    """Return the operation with its parameters: Hue shift, degrees 120."""
    chosen = (f"{name} {value}" for name, value in workspace.settings.parameters.items())
    return ", ".join((operation_of(workspace.operation).title, *chosen))


def problem_words(workspace: Workspace) -> str:
    """Return what is computed as it is set now: 512 × 512 RGB · Sharpen 3 × 3 · zero border."""
    picture = workspace.picture
    if picture is None:
        return "No picture"
    colours = {1: "grey", 3: "RGB", 4: "RGBA"}.get(picture.channels, f"{picture.channels} channels")
    depth = "" if picture.dtype == "uint8" else f" {picture.dtype}"
    parts = [f"{picture.width} × {picture.height} {colours}{depth}"]
    if workspace.is_chain:
        steps = len(workspace.state.steps)
        parts += [workspace.state.title or "Chain", f"{steps} step{'s' * (steps != 1)}"]
    elif workspace.is_filtering:
        parts += [workspace.step.mask_words, border_words(workspace)]
    else:
        parts.append(operation_words(workspace))
    return " · ".join(parts)


def runs_words(runs: Sequence[Compared]) -> str:
    """Return how many runs there are and whether they are proven: 19 runs, all verified."""
    if not runs:
        return "no run yet"
    kind = "simulated " if all(run.result.no_speed == "simulated" for run in runs) else ""
    proven = sum(run.result.is_proven for run in runs)
    refuted = sum(run.result.is_refuted for run in runs)
    verified = "all verified" if proven == len(runs) > 1 else "verified" if proven == len(runs) else ""
    is_timed = kind or any(run.result.kernel_ms is not None for run in runs)
    parts = (
        f"{len(runs):,} {kind}run{'s' * (len(runs) != 1)}",
        verified or f"{proven:,} verified",
        f"{refuted:,} failed" if refuted else "",
        "" if is_timed or not proven else "not timed",
    )
    return ", ".join(filter(None, parts))


def best_words(runs: Sequence[Compared]) -> str:
    """Return the fastest of the newest runs of each kernel, with its speed-up, or its time without one."""
    timed = [run for run in runs if run.result.kernel_ms is not None]
    timed = [*{(run.result.variant, run.result.block, run.result.device): run for run in timed}.values()]
    if not timed:
        return _most_per_load(runs)
    best = min(timed, key=lambda run: run.result.kernel_ms or 0.0)
    name = _name_among(best, timed)
    is_own = best.speed_up is None or best.baseline is best.result
    number = duration_text(best.result.kernel_ms or 0.0) if is_own else ratio_text(best.speed_up)
    # How far times spread, of both where one is divided by the other.
    results = best.result, None if is_own else best.baseline
    spreads = [one.timing.kernel for one in results if one is not None and one.timing is not None]
    half = sum((one.p80_ms - one.p20_ms) / (2 * one.median_ms) for one in spreads if one.median_ms)
    number += f" ± {100 * half:.0f} %" if half >= _NOTED_SPREAD else ""
    return f"best {name} {number}" if len(timed) > 1 else f"{name} {number}"


def _name_among(run: Compared, runs: Sequence[Compared]) -> str:
    """Return the variant of a run, with its block where the variant ran with several."""
    blocks = {one.result.block for one in runs if one.result.variant == run.result.variant}
    return f"{run.result.variant} ({run.result.block})" if len(blocks) > 1 else run.result.variant


def _most_per_load(runs: Sequence[Compared]) -> str:
    """Return what of simulated runs says most of a speed: how much is done with what is loaded."""
    count = metric(CGMA)
    counted = [run for run in runs if count.value(run) is not None]
    if not counted:
        return ""
    best = max(counted, key=lambda run: count.value(run) or 0.0)
    most = ", the most" if len(counted) > 1 else ""
    return f"{_name_among(best, runs)}: {count.text(best)} operations per global load{most}"


def compared_words(first: Compared, second: Compared) -> str:
    """Say which of two runs is faster, by how much, and whether their intervals overlap."""
    times = []
    for run in (first, second):
        name, timing = f"{run.number} ({run.result.variant})", run.result.timing
        if run.result.kernel_ms is None or timing is None:
            return f"Run {name} has no time to compare."
        times.append((timing.kernel.median_ms, timing.kernel, name))
    (quick_ms, quick, fast), (slow_ms, lame, slow) = sorted(times, key=itemgetter(0))
    ratio = slow_ms / quick_ms if quick_ms else math.inf
    by = f"{ratio_text(ratio)} as fast as run {slow}: {duration_text(quick_ms)} against "
    how = "overlap, so this may be chance" if quick.p80_ms >= lame.p20_ms else "do not overlap"
    return f"Run {fast} is {by}{duration_text(slow_ms)}. Their intervals (p20 to p80) {how}."


def costs_words(run: Compared) -> str:
    """Return what a run cost: first run +266 ms compile · each run 13.9 ms."""
    timing = run.result.timing if run.result.kernel_ms is not None else None
    if timing is None:
        is_simulated = run.result.device == SIMULATOR and not run.result.failure
        return "Simulated runs are not timed" if is_simulated else run.result.status
    once = [(timing.compile_ms, "compile"), (timing.allocate_ms, "allocate")]
    # What is below a thousandth of the other part is nothing that a person waits for.
    least = max(ms for ms, _ in once) / 1000
    first = ", ".join(f"+{duration_text(ms)} {name}" for ms, name in once if ms > least)
    spreads = {"copy in": timing.host_to_device, "kernel": timing.kernel, "copy out": timing.device_to_host}
    parts = [(name, spread.median_ms) for name, spread in spreads.items() if spread is not None]
    total = duration_text(sum(ms for _, ms in parts))
    each = f" ({', '.join(f'{name} {duration_text(ms)}' for name, ms in parts)})" if len(parts) > 1 else ""
    return " · ".join(filter(None, (f"First run {first}" if first else "", f"each run {total}{each}")))


def work_words(run: Compared) -> str:
    """Return the model of a run in one line, "" without one; all kinds of loads are in it and add up."""
    work, values = run.result.work, run.result.problem.values
    if work is None:
        return ""
    # What global loads read beside the image.
    others = "mask" if run.result.task == Problem.task else "other"
    others = "intermediate" if work.global_stores > values else others
    loads = [
        (work.picture_loads, "image load"),
        (work.global_loads - work.picture_loads, f"{others} load"),
        (work.shared_loads, "shared load"),
        (work.constant_loads, "constant load"),
    ]
    parts = ", ".join(_several(rate_text(count / values), name) for count, name in loads if count)
    cgma = _several(metric("model_cgma_flop_per_load").text(run), "operation")
    return f"{cgma} per global load (CGMA); per output value: {parts}"


def _several(number: str, name: str) -> str:
    return f"{number} {name}{'s' if number != '1' else ''}"
