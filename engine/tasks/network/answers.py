"""Answers what the page on the network asks. Called on: the main thread of the host process."""

from functools import partial

import numpy as np

from engine.device.devices import backend
from engine.errors import BadValue
from engine.host import shared
from engine.host.messages import VariantInfo
from engine.host.protocol import Availability
from engine.host.request import Check, Preview, Run
from engine.results.progress import Checkpoint, Progress
from engine.run.compute import compute
from engine.run.device_choice import device_for
from engine.run.sampling import SamplingPlan
from engine.tasks.network.drawings import as_drawings, held_out, probabilities
from engine.tasks.network.messages import (
    DigitsRequest,
    DrawingRequest,
    LayerMaps,
    NetworkFacts,
    NetworkRequest,
    NetworkRun,
    Recognised,
    StageRequest,
)
from engine.tasks.network.problem import LAYERS, Confusion, ForwardPass, refuse_too_large
from engine.tasks.network.stages import chosen_stage, confusion, feature_maps, measured_stage, stage_job
from engine.tasks.network.task import NETWORK
from engine.tasks.network.variants import NETWORK_VARIANTS, NetworkVariant
from engine.tasks.network.weights import trained_weights, weights_from

SIDE = 28


def describe(request: NetworkRequest, report: Checkpoint) -> NetworkFacts:
    """Return layers and stages, and in shared memory the filters and the held-out digits."""
    weights, digits = weights_from(request.weights), held_out()
    of_layers = weights.convolution_1, weights.convolution_2, weights.hidden, weights.output
    arrays: list[np.ndarray] = [*of_layers, digits.pixels]
    made = shared.create(*((array.shape, array.dtype.name) for array in arrays))
    for target, array in zip(made, arrays, strict=True):
        shared.attach(target)[...] = array
    stages = tuple(map(VariantInfo.of, NETWORK_VARIANTS))
    first, second, hidden, output, pixels = made
    labels = tuple(digits.labels.tolist())
    return NetworkFacts(LAYERS, stages, first, second, hidden, output, pixels, labels)


def preview(request: Preview[DrawingRequest], report: Checkpoint) -> Recognised:
    """Pass one drawing through the network on the CPU, with every layer's values."""
    if len(request.job.ink) != SIDE * SIDE:
        why = f"it has {len(request.job.ink):,} bytes, and the network takes {SIDE} × {SIDE}"
        raise BadValue("The drawing", why, "Scale it to 28 × 28.")
    report(Progress("passing the drawing through the network", 0.0, 5.0))
    ink = np.frombuffer(request.job.ink, np.uint8).reshape(SIDE, SIDE)
    values, elapsed_ms = feature_maps(as_drawings(ink)[0], weights_from(request.job.weights))
    chances = probabilities(values["output"][None])[0]
    made = shared.create(*((layer.shape, "float32") for layer in LAYERS))
    for layer, target in zip(LAYERS, made, strict=True):
        shared.attach(target)[...] = values[layer.key]
    maps = tuple(LayerMaps(layer, target) for layer, target in zip(LAYERS, made, strict=True))
    return Recognised(maps, tuple(chances.tolist()), int(chances.argmax()), elapsed_ms)


def run(request: Run[StageRequest], report: Checkpoint) -> NetworkRun:
    """Measure a stage on held-out digits; a stage that cannot be run is a result with its reason."""
    stage, device = chosen_stage(request.job.stage, request.job.device)
    report(Progress("making the batch", 0.0, 2.0))
    job = stage_job(
        stage, request.job.batch, weights=weights_from(request.job.weights), seed=request.job.seed
    )
    return measured_stage(job, device.key, SamplingPlan(budget_s=request.budget_s), report)


def check(request: Check[StageRequest], report: Checkpoint) -> tuple[Availability, ...]:
    """Return for every stage whether it can compute a batch on the device, and why not."""

    def refuse(stage: NetworkVariant) -> None:
        problem = ForwardPass(request.job.batch)
        refuse_too_large(problem)
        device = device_for(stage, request.job.device)
        NETWORK.refuse(stage, problem, trained_weights(), stage.default_block, device)

    return tuple(Availability.of(stage.key, partial(refuse, stage)) for stage in NETWORK_VARIANTS)


def classify(request: DigitsRequest, report: Checkpoint) -> Confusion:
    """Classify every held-out digit with one stage."""
    stage, device = chosen_stage(request.stage, request.device)
    job = stage_job(stage, len(held_out()), weights=weights_from(request.weights))
    report(Progress("classifying the held-out digits", 0.0, job.task.expected_launch_s(job, device)))
    return confusion(compute(job, backend(device.key)))
