"""Answers how many held-out digits a stage classifies. Called on: the main thread of the host process."""

from engine.device.devices import backend
from engine.host.request import Run
from engine.results.progress import Checkpoint, Progress
from engine.run.compute import compute
from engine.tasks.network.drawings import held_out
from engine.tasks.network.messages import DigitsRequest
from engine.tasks.network.problem import Confusion
from engine.tasks.network.stages import chosen_stage, confusion, stage_job
from engine.tasks.network.weights import weights_from


def run(request: Run[DigitsRequest], report: Checkpoint) -> Confusion:
    """Classify every held-out digit with one stage."""
    stage, device = chosen_stage(request.job.stage, request.job.device)
    job = stage_job(stage, len(held_out()), weights=weights_from(request.job.weights))
    report(Progress("classifying the held-out digits", 0.0, job.task.expected_launch_s(job, device)))
    return confusion(compute(job, backend(device.key)))
