"""`network`: the stages of the CNN report on held-out digits, verified and timed, layer by layer."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from engine.commands.arguments import Settings, group, option, several, whole
from engine.commands.measuring import Cells, Measuring, measure_cells
from engine.commands.output import log, table
from engine.device_info import AUTO, DeviceInfo
from engine.results.text_forms import ms_cell
from engine.run.measure import SamplingPlan
from engine.tasks.network import problem
from engine.tasks.network.operands import weights_from
from engine.tasks.network.problem import MAX_BATCH, ForwardPass, NetworkResult, NetworkRun
from engine.tasks.network.stages import chosen_stage, classify, measured_stage, stage_job
from engine.tasks.network.task import NETWORK_VARIANTS, NetworkJob, NetworkVariant, network_variant

BASELINE = "network-serial"

_whole_batch = whole("--batch", 1, MAX_BATCH)


def _batch(text: str) -> int:
    batch = _whole_batch(text)
    problem.refuse_too_large(ForwardPass(batch))
    return batch


@dataclass(frozen=True, kw_only=True)
class NetworkOptions(Settings):
    """What `network` takes."""

    about = (
        "The forward pass of the CNN report: 1 × 28 × 28, convolution 5 × 5 × 32, average pool, convolution "
        "5 × 5 × 64, average pool, hidden 128, 10 scores; float32. Its stages compute the same; each is "
        "verified against float64 with a bound through all layers, warmed up and sampled, and then timed "
        "layer by layer. The drawings are handwritten digits that the training never saw. Speed-ups are "
        "against network-serial with the same batch."
    )
    examples = (
        "",
        "--stage network-cpu,network-fast --batch 1,100,10000 --out r.json",
        "--stage network-fast --batch 1 --device simulator",
    )

    stages: tuple[NetworkVariant, ...] = option(
        lambda: (
            f"--stage, --stages a,b  of {', '.join(stage.key for stage in NETWORK_VARIANTS)} (default: all)"
        ),
        (),
        several("--stage", network_variant),
    )
    batches: tuple[int, ...] = option(
        f"--batch, --batches 1,100  drawings at once, 1 to {MAX_BATCH:,} (default 100)",
        (100,),
        several("--batch", _batch),
    )
    weights: str | None = option("--weights FILE  an .npz file with other weights of the same shapes", None)
    measuring: Measuring = group(
        Measuring, seed_of="the drawings that are verified, and of which digit comes first"
    )


def run(settings: NetworkOptions) -> int:
    """Measure every stage with every batch, print and write the results; return the exit status."""
    how, file = settings.measuring, settings.weights or ""
    stages = settings.stages or tuple(NETWORK_VARIANTS)
    how.check([file] if file else [], "file of weights")
    weights = weights_from(file)
    timed: dict[int, NetworkRun] = {}  # by the identity of the result

    def measure_stage(job: NetworkJob, device: DeviceInfo, plan: SamplingPlan) -> NetworkResult:
        job.refuse(device)
        measured = measured_stage(job, device.key, plan)
        timed[id(measured.result)] = measured
        if measured.not_timed:
            log(f"The layers of {measured.result.variant} were not timed: {measured.not_timed}")
        return measured.result

    request = {
        "batches": list(settings.batches),
        "stages": [stage.key for stage in stages],
        "weights": file or "the program's own",
    }
    cells = Cells(
        command="network",
        variants=stages,
        count=len(settings.batches) * len(stages),
        jobs=(
            stage_job(stage, batch, weights=weights, seed=how.seed)
            for batch in settings.batches
            for stage in stages
        ),
        name=lambda result: f"{result.problem.size_text}, {result.variant}",
        baseline=BASELINE,
        requested={"request": request | how.document},
        measure=measure_stage,
        conclude=lambda results: _conclusion(
            # Of a stage that did not run there is the result alone.
            [timed.get(id(result), NetworkRun(result)) for result in results],
            file,
        ),
    )
    return measure_cells(cells, how, json=settings.json)


def _conclusion(runs: Sequence[NetworkRun], weights: str) -> tuple[Mapping[str, object], str]:
    """Return what is added to the document and to the printed table: layers, timelines, accuracy."""
    stage, _ = chosen_stage(AUTO, "cpu")
    classified = classify(problem.DigitsRequest(stage.key, "cpu", weights), lambda step: None)
    layers = [
        {
            "batch": one.result.problem.batch,
            "stage": one.result.variant,
            "layers_ms": {layer.name: layer.ms for layer in one.layers},
            "timeline": [asdict(span) for span in one.timeline],
        }
        for one in runs
    ]
    accuracy: dict[str, object] = {"digits": classified.digits, "accuracy": classified.accuracy}
    accuracy |= {"confusion": classified.counts, "wrong": classified.wrong}
    printed = [_layer_table(one) for one in runs if one.layers]
    right = classified.digits - len(classified.wrong)
    printed.append(
        f"Held-out digits classified correctly: {right} of {classified.digits} ({classified.accuracy:.1%}), "
        f"by {stage.key} on the CPU, whatever stage ran."
    )
    return {"stages": layers, "held_out": accuracy}, "\n\n".join(printed)


def _layer_table(one: NetworkRun) -> str:
    """Return the times of a stage by layer, and its timeline drawn where it works in chunks."""
    total = sum(layer.ms for layer in one.layers)
    rows = [(layer.name, ms_cell(layer.ms), f"{layer.ms / total:.0%}") for layer in one.layers if total]
    head = f"{one.result.variant}, {one.result.problem.size_text}"
    lines = [table((head, "ms", "share"), rows, right=(1, 2))]
    if one.timeline:
        lines.append(timeline_text(one))
    return "\n".join(lines)


def timeline_text(one: NetworkRun, width: int = 72) -> str:
    """Draw when each chunk was copied (c) and computed (#), a line per chunk; the first twelve chunks."""
    spans = [span for span in one.timeline if span.chunk < 12]
    end = max(span.end_ms for span in spans)
    lines = [f"chunk  stream  0 {'ms'.rjust(width - 2 - len(f'{end:.3f}'))} {end:.3f}"]
    for chunk in dict.fromkeys(span.chunk for span in spans):
        cells = [" "] * width
        own = [span for span in spans if span.chunk == chunk]
        for span in own:
            first = min(width - 1, int(span.begin_ms / end * width))
            last = max(first + 1, min(width, int(span.end_ms / end * width)))
            cells[first:last] = ["#" if span.step == "kernels" else "c"] * (last - first)
        lines.append(f"{chunk:5}  {own[0].stream:6}  {''.join(cells).rstrip()}")
    return "\n".join(lines)
