"""Requests to the network: a stage by name, measured, its layers timed; feature maps; digits classified.

Called on: the main thread of the host process, or of a script.
"""

import time
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.device.backend import Backend
from engine.device.devices import backend, device_named
from engine.device_info import AUTO, DeviceInfo
from engine.errors import BadValue, DeviceFault, EngineError
from engine.host import shared
from engine.host.request import Availability, Check, Preview, Run, VariantInfo
from engine.results.problem import Checkpoint, Progress
from engine.run.measure import LONGEST_PARTS_S, SamplingPlan, measure, sampled_parts
from engine.run.task import Job, compute, device_for
from engine.tasks.network import operands, task
from engine.tasks.network import problem as network


def chosen_stage(key: str, device: str) -> tuple[task.NetworkVariant, DeviceInfo]:
    """Return the stage of that key, or for "auto" the last one of the kind of device, and its device.

    Raises UnknownName, DeviceUnavailable.
    """
    if key != AUTO:
        stage = task.network_variant(key)
        return stage, device_for(stage, device)
    machine = device_named(device)
    stages = task.NETWORK_VARIANTS.on(machine.kind) or task.NETWORK_VARIANTS.on("cpu")
    return stages[-1], device_for(stages[-1], device)


def stage_job(
    stage: task.NetworkVariant, batch: int, *, weights: operands.Weights | None = None, seed: int = 0
) -> task.NetworkJob:
    """Return the job of a stage on held-out digits; a `BadValue` refuses what memory cannot hold."""
    problem = network.ForwardPass(batch)
    network.refuse_too_large(problem)
    drawings = operands.batch_of(problem, seed)
    return task.network_job(stage, drawings, weights or operands.trained_weights(), seed=seed)


def measured_stage(
    job: task.NetworkJob, device: str, plan: SamplingPlan, checkpoint: Checkpoint = lambda step: None
) -> network.NetworkRun:
    """Verify, warm up and sample a stage in this process; then time each of its layers."""
    machine = backend(device)
    result = measure(job, machine, plan, checkpoint=checkpoint).result
    if result.kernel_ms is None:
        return network.NetworkRun(result)
    # A whole pass comes first, and the timing takes another one at least, however long.
    passes_s = 2.0 * result.kernel_ms / 1e3
    checkpoint(Progress("timing each layer", 0.97, LONGEST_PARTS_S + passes_s))
    try:
        layers, timeline = layer_times(job, machine)
    except DeviceFault:
        # The process that used the device must be ended, as in `measure`.
        raise
    except EngineError as error:
        return network.NetworkRun(result, not_timed=str(error))
    return network.NetworkRun(result, layers, timeline)


def layer_times(
    job: task.NetworkJob, machine: Backend
) -> tuple[tuple[network.LayerTime, ...], tuple[network.ChunkSpan, ...]]:
    """Return the time of each step of a stage, and its timeline where it works in chunks."""
    prepared: Any = job.prepare()
    buffers = job.filled(machine)
    times = sampled_parts(machine, prepared, buffers)
    layers = tuple(network.LayerTime(name, ms) for name, ms in times.items())
    if not job.variant.pinned_drawings:
        return layers, ()
    return layers, tuple(network.ChunkSpan(*span) for span in prepared.spans(buffers.image, buffers.out))


def feature_maps(
    drawing: NDArray[np.float32], weights: operands.Weights | None = None
) -> tuple[dict[str, NDArray[np.float32]], float]:
    """Return every layer's values of a drawing (28, 28), by the keys of `LAYERS`, and the time.

    The time, in ms by the host's clock, is that of the pass alone. Before the first one ever it is compiled,
    which takes 0.9 s.
    """
    used, drawings = weights or operands.trained_weights(), np.ascontiguousarray(drawing[None], np.float32)
    job = task.network_job(task.NETWORK_VARIANTS[0], drawings, used)
    job.refuse(device_named("cpu"))
    prepared: Any = job.prepare()
    scores = np.empty((1, network.CLASSES), np.float32)
    begin = time.perf_counter()
    prepared.launch(job.operands, scores)
    elapsed_ms = (time.perf_counter() - begin) * 1e3
    return {key: values.copy() for key, values in prepared.values.items()}, elapsed_ms


def confusion(scores: NDArray[np.float32]) -> network.Confusion:
    """Return how the highest scores of all held-out digits classify them, against what they are."""
    labels = operands.held_out().labels
    predicted = scores.argmax(axis=1)
    counts = np.zeros((scores.shape[1],) * 2, np.int64)
    np.add.at(counts, (labels, predicted), 1)
    wrong = tuple(np.flatnonzero(predicted != labels).tolist())
    return network.Confusion(tuple(map(tuple, counts.tolist())), wrong)


def describe(request: network.NetworkRequest, report: Checkpoint) -> network.NetworkFacts:
    """Return layers and stages, and in shared memory the filters and the held-out digits."""
    weights, digits = operands.weights_from(request.weights), operands.held_out()
    arrays: list[np.ndarray] = [*(getattr(weights, name) for name in operands.SHAPES), digits.pixels]
    made = shared.create(*((array.shape, array.dtype.name) for array in arrays))
    for target, array in zip(made, arrays, strict=True):
        shared.attach(target)[...] = array
    stages = tuple(map(VariantInfo.of, task.NETWORK_VARIANTS))
    first, second, hidden, output, pixels = made
    labels = tuple(digits.labels.tolist())
    return network.NetworkFacts(network.LAYERS, stages, first, second, hidden, output, pixels, labels)


def preview(request: Preview[network.DrawingRequest], report: Checkpoint) -> network.Recognised:
    """Pass one drawing through the network on the CPU, with every layer's values."""
    if len(request.job.ink) != network.SIDE * network.SIDE:
        why = f"it has {len(request.job.ink):,} bytes, and the network takes {network.SIDE} × {network.SIDE}"
        raise BadValue("The drawing", why, "Scale it to 28 × 28.")
    report(Progress("passing the drawing through the network", 0.0, 5.0))
    ink = np.frombuffer(request.job.ink, np.uint8).reshape(network.SIDE, network.SIDE)
    values, elapsed_ms = feature_maps(
        operands.as_drawings(ink)[0], operands.weights_from(request.job.weights)
    )
    chances = operands.probabilities(values["output"][None])[0]
    made = shared.create(*((layer.shape, "float32") for layer in network.LAYERS))
    for layer, target in zip(network.LAYERS, made, strict=True):
        shared.attach(target)[...] = values[layer.key]
    maps = tuple(network.LayerMaps(layer, target) for layer, target in zip(network.LAYERS, made, strict=True))
    return network.Recognised(maps, tuple(chances.tolist()), int(chances.argmax()), elapsed_ms)


def run(request: Run[network.StageRequest], report: Checkpoint) -> network.NetworkRun:
    """Measure a stage on held-out digits; a stage that cannot be run is a result with its reason."""
    stage, device = chosen_stage(request.job.stage, request.job.device)
    report(Progress("making the batch", 0.0, 2.0))
    job = stage_job(
        stage, request.job.batch, weights=operands.weights_from(request.job.weights), seed=request.job.seed
    )
    return measured_stage(job, device.key, SamplingPlan(budget_s=request.budget_s), report)


def check(request: Check[network.StageRequest], report: Checkpoint) -> tuple[Availability, ...]:
    """Return for every stage whether it can compute a batch on the device, and why not."""

    def refuse(stage: task.NetworkVariant) -> None:
        problem = network.ForwardPass(request.job.batch)
        network.refuse_too_large(problem)
        job = Job(task.NETWORK, stage, stage.default_block, problem, None, operands.trained_weights())
        job.refuse_problem(device_for(stage, request.job.device))

    return tuple(Availability.of(stage.key, partial(refuse, stage)) for stage in task.NETWORK_VARIANTS)


def classify(request: network.DigitsRequest, report: Checkpoint) -> network.Confusion:
    """Classify every held-out digit with one stage."""
    stage, device = chosen_stage(request.stage, request.device)
    job = stage_job(stage, len(operands.held_out()), weights=operands.weights_from(request.weights))
    report(Progress("classifying the held-out digits", 0.0, job.task.expected_launch_s(job, device)))
    return confusion(compute(job, backend(device.key)))
