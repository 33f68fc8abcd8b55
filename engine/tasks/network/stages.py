"""What is asked of the network beside a measured run: a stage by name, feature maps, time by layer.

Called on: the main thread of the engine's process, or of a script.
"""

import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.device.backend import Backend
from engine.device.devices import backend, device_named
from engine.device_info import AUTO, DeviceInfo
from engine.errors import DeviceFault, EngineError
from engine.results.progress import Checkpoint, Progress
from engine.run.device_choice import device_for
from engine.run.measure import measure
from engine.run.sampling import LONGEST_PARTS_S, NO_SAMPLES, SamplingPlan, sampled_parts
from engine.tasks.network.drawings import batch_of, held_out
from engine.tasks.network.messages import NetworkRun
from engine.tasks.network.problem import (
    CLASSES,
    ChunkSpan,
    Confusion,
    ForwardPass,
    LayerTime,
    refuse_too_large,
)
from engine.tasks.network.task import NetworkJob, network_job
from engine.tasks.network.variants import NETWORK_VARIANTS, NetworkVariant, network_variant
from engine.tasks.network.weights import Weights, trained_weights


def chosen_stage(key: str, device: str) -> tuple[NetworkVariant, DeviceInfo]:
    """Return the stage of that key, or for "auto" the last one of the kind of device, and its device.

    Raises UnknownName, DeviceUnavailable.
    """
    if key != AUTO:
        stage = network_variant(key)
        return stage, device_for(stage, device)
    machine = device_named(device)
    stages = NETWORK_VARIANTS.on(machine.kind) or NETWORK_VARIANTS.on("cpu")
    return stages[-1], device_for(stages[-1], device)


def stage_job(
    stage: NetworkVariant, batch: int, *, weights: Weights | None = None, seed: int = 0
) -> NetworkJob:
    """Return the job of a stage on held-out digits; a `BadValue` refuses what memory cannot hold."""
    used = weights or trained_weights()
    problem = ForwardPass(batch)
    refuse_too_large(problem)
    return network_job(stage, batch_of(problem, seed), used, seed=seed)


def measured_stage(
    job: NetworkJob, device: str, plan: SamplingPlan, checkpoint: Checkpoint = lambda step: None
) -> NetworkRun:
    """Verify, warm up and sample a stage in this process; then time each of its layers."""
    machine = backend(device)
    means_speed = machine.info.times_mean_speed
    outcome = measure(job, machine, plan if means_speed else NO_SAMPLES, checkpoint=checkpoint)
    result = outcome.result
    if outcome.values is None or not means_speed or result.kernel_ms is None:
        return NetworkRun(result)
    # A whole pass comes first, and the timing takes another one at least, however long.
    passes_s = 2.0 * result.kernel_ms / 1e3
    checkpoint(Progress("timing each layer", 0.97, LONGEST_PARTS_S + passes_s))
    try:
        layers, timeline = layer_times(job, machine)
    except DeviceFault:
        # The process that used the device must be ended, as in `measure`.
        raise
    except EngineError as error:
        return NetworkRun(result, not_timed=str(error))
    return NetworkRun(result, layers, timeline)


def layer_times(job: NetworkJob, machine: Backend) -> tuple[tuple[LayerTime, ...], tuple[ChunkSpan, ...]]:
    """Return the time of each step of a stage, and its timeline where it works in chunks."""
    prepared: Any = job.task.prepare(job)
    buffers = job.task.allocate(machine, job)
    job.task.upload(machine, job.operands, buffers)
    times = sampled_parts(machine, prepared, buffers)
    layers = tuple(LayerTime(name, ms) for name, ms in times.items())
    if not job.variant.pinned_drawings:
        return layers, ()
    return layers, tuple(ChunkSpan(*span) for span in prepared.spans(buffers.image, buffers.out))


def feature_maps(
    drawing: NDArray[np.float32], weights: Weights | None = None
) -> tuple[dict[str, NDArray[np.float32]], float]:
    """Return every layer's values of a drawing (28, 28), by the keys of `LAYERS`, and the time.

    The time, in ms by the host's clock, is that of the pass alone. Before the first one ever it is compiled,
    which takes 0.9 s.
    """
    stage = NETWORK_VARIANTS[0]
    used = weights or trained_weights()
    job = network_job(stage, np.ascontiguousarray(drawing[None], np.float32), used)
    job.refuse(device_named("cpu"))
    prepared: Any = job.task.prepare(job)
    scores = np.empty((1, CLASSES), np.float32)
    begin = time.perf_counter()
    prepared.launch((job.operands.maps,), scores)
    elapsed_ms = (time.perf_counter() - begin) * 1e3
    return {key: values.copy() for key, values in prepared.values.items()}, elapsed_ms


def confusion(scores: NDArray[np.float32]) -> Confusion:
    """Return how the highest scores of all held-out digits classify them, against what they are."""
    labels = held_out().labels
    predicted = scores.argmax(axis=1)
    counts = np.zeros((scores.shape[1],) * 2, np.int64)
    np.add.at(counts, (labels, predicted), 1)
    return Confusion(tuple(map(tuple, counts.tolist())), tuple(np.flatnonzero(predicted != labels).tolist()))
