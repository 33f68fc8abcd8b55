"""`network`: the stages of the CNN report on held-out digits, verified and timed, layer by layer."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from engine.commands.arguments import Parser, several, whole
from engine.commands.measuring import add_measuring_options, check_measuring_options, measure_cells
from engine.commands.output import log, table
from engine.errors import DeviceFault, EngineError
from engine.host.executor import executor_for
from engine.results.measurement import NetworkResult
from engine.results.quantities import ms_cell
from engine.run.device_choice import device_for
from engine.run.network import StageRun, confusion, measured_stage, stage_job
from engine.run.network_job import NetworkJob
from engine.run.sampling import NO_SAMPLES, SamplingPlan
from engine.run.sweep import not_run
from engine.tasks.network.drawings import held_out
from engine.tasks.network.problem import MAX_BATCH, ForwardPass, refuse_too_large
from engine.tasks.network.results import Confusion
from engine.tasks.network.weights import Weights, read_weights, trained_weights
from engine.variants.network.contract import NetworkVariant
from engine.variants.registry import NETWORK_VARIANTS, network_variant

BASELINE = "network-serial"
_EXAMPLES = (
    "",
    "--stage network-cpu,network-fast --batch 1,100,10000 --out r.json",
    "--stage network-fast --batch 1 --device simulator",
)


def run(arguments: list[str]) -> int:
    """Measure every stage with every batch, print and write the results; return the exit status."""
    options = _parser().read(arguments)
    check_measuring_options(options, [options.weights] if options.weights else [], "file of weights")
    weights = trained_weights() if options.weights is None else read_weights(Path(options.weights))
    runs: list[StageRun] = []

    def measure(on_result: Callable[[Any], None]) -> tuple[Sequence[Any], DeviceFault | None]:
        return _measured(options, weights, runs, on_result)

    def conclude(results: Sequence[Any]) -> tuple[dict[str, Any], str]:
        return _conclusion(runs, weights)

    request = {
        "batches": list(options.batches),
        "stages": [stage.key for stage in options.stages],
        "weights": options.weights or "the program's own",
        "device": options.device,
        "seed": options.seed,
        "budget_s": options.budget,
    }
    return measure_cells(
        "network",
        options,
        len(options.batches) * len(options.stages),
        measure,
        lambda result: f"{result.problem.size_text}, {result.variant}",
        options.stages,
        baseline=BASELINE,
        asked={"request": request},
        conclude=conclude,
    )


def _measured(
    options: Any, weights: Weights, runs: list[StageRun], on_result: Callable[[Any], None]
) -> tuple[list[NetworkResult], DeviceFault | None]:
    fault: DeviceFault | None = None
    plan = SamplingPlan(budget_s=options.budget)
    for job in _jobs(options.batches, options.stages, weights, options.seed):
        try:
            if fault is not None and job.variant.device == "cuda":
                reason = f"the device was lost before ({fault.what}: {fault.why})"
                raise EngineError("Not measured", reason, fault.remedy)
            device = device_for(job.variant, options.device)
            job.refuse(device)
            executor = executor_for(device)
            found: StageRun = executor.submit(
                measured_stage, job, device.key, plan if device.times_mean_speed else NO_SAMPLES
            ).result()
        except DeviceFault as error:
            fault = error
            found = StageRun(not_run(job, options.device, error), error=error)
        except EngineError as error:
            found = StageRun(not_run(job, options.device, error), error=error)
        runs.append(found)
        on_result(found.result)
        if found.result.is_proven and found.error is not None:
            log(f"The layers of {found.result.variant} were not timed: {found.error}")
    return [found.result for found in runs], fault


def _jobs(
    batches: Sequence[int], stages: Sequence[NetworkVariant], weights: Weights, seed: int
) -> Iterator[NetworkJob]:
    for batch in batches:
        for stage in stages:
            yield stage_job(stage, batch, weights=weights, seed=seed)


def _conclusion(runs: Sequence[StageRun], weights: Weights) -> tuple[dict[str, Any], str]:
    """Return what is added to the document and to the printed table: layers, timelines, accuracy."""
    found = held_out_confusion(weights)
    layers = [
        {
            "batch": one.result.problem.batch,
            "stage": one.result.variant,
            "layers_ms": {layer.name: layer.ms for layer in one.layers},
            "timeline": [asdict(span) for span in one.timeline],
        }
        for one in runs
    ]
    accuracy = {
        "digits": found.digits,
        "accuracy": found.accuracy,
        "confusion": found.counts,
        "wrong": found.wrong,
    }
    printed = [_layer_table(one) for one in runs if one.layers]
    right = found.digits - len(found.wrong)
    printed.append(
        f"Held-out digits classified correctly: {right} of {found.digits} ({found.accuracy:.1%}), "
        f"by {_classifies().key} on the CPU, whatever stage ran."
    )
    return {"stages": layers, "held_out": accuracy}, "\n\n".join(printed)


def _classifies() -> NetworkVariant:
    """Return the stage that classifies the held-out digits: the fastest one on the CPU."""
    return NETWORK_VARIANTS.on("cpu")[-1]


def held_out_confusion(weights: Weights) -> Confusion:
    """Return how the network classifies the held-out digits, computed on the CPU."""
    from engine.device.devices import backend
    from engine.run.compute import compute

    return confusion(compute(stage_job(_classifies(), len(held_out()), weights=weights), backend("cpu")))


def _layer_table(one: StageRun) -> str:
    """Return the times of a stage by layer, and its timeline drawn where it works in chunks."""
    total = sum(layer.ms for layer in one.layers)
    rows = [(layer.name, ms_cell(layer.ms), f"{layer.ms / total:.0%}") for layer in one.layers if total]
    head = f"{one.result.variant}, {one.result.problem.size_text}"
    lines = [table((head, "ms", "share"), rows, right=(1, 2))]
    if one.timeline:
        lines.append(timeline_text(one))
    return "\n".join(lines)


def timeline_text(one: StageRun, width: int = 72, most: int = 12) -> str:
    """Draw when each chunk was copied (c) and computed (#), a line per chunk; the first `most` chunks."""
    spans = [span for span in one.timeline if span.chunk < most]
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


def _parser() -> Parser:
    parser = Parser(
        "network",
        "The forward pass of the CNN report: 1 x 28 x 28, convolution 5 x 5 x 32, average pool, convolution "
        "5 x 5 x 64, average pool, hidden 128, 10 scores; float32. Its stages compute the same; each is "
        "verified against float64 with a bound through all layers, warmed up and sampled, and then timed "
        "layer by layer. The drawings are handwritten digits that the training never saw. Speed-ups are "
        "against network-serial with the same batch.",
        _EXAMPLES,
    )
    parser.add_options(
        f"""
        --stage, --stages a,b  of {", ".join(stage.key for stage in NETWORK_VARIANTS)} (default: all)
        --batch, --batches 1,100  drawings at once, 1 to {MAX_BATCH:,} (default 100)
        --weights FILE            an .npz file with other weights of the same shapes
        --out FILE                file for the results, with every sample
        """,
        stage={
            "dest": "stages",
            "type": several("--stage", network_variant),
            "default": tuple(NETWORK_VARIANTS),
        },
        batch={"dest": "batches", "type": several("--batch", _batch), "default": [100]},
        weights={"default": None},
    )
    add_measuring_options(parser, "the drawings that are verified, and of which digit comes first")
    return parser


_whole_batch = whole("--batch", 1, MAX_BATCH)


def _batch(text: str) -> int:
    batch = _whole_batch(text)
    refuse_too_large(ForwardPass(batch))
    return batch
