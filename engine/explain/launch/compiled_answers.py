"""Answers what a launch takes of a GPU, with the kernel compiled for it; the GPU need not be here.

Called on: the main thread of the host, when nothing else runs.
"""

from engine.explain.launch.answers import Resources, advice, known_resources, remember
from engine.explain.launch.gpu_limits import Gpu
from engine.explain.launch.kernel_resources import kernel_resources
from engine.explain.launch.messages import CompiledLaunchRequest, LaunchAdvice
from engine.explain.subject import Subject
from engine.host.request import Describe
from engine.results.progress import Checkpoint, Progress
from engine.work.filtering.problem import Problem

_COMPILING = Progress("compiling", 0.0, 1.0)


def describe(request: Describe[CompiledLaunchRequest], report: Checkpoint) -> LaunchAdvice:
    """Return the launches of a job with their registers, or why there are none."""

    def resources_for(subject: Subject[Problem], gpu: Gpu) -> Resources:
        found = known_resources(subject, gpu)
        if found is None:
            found = kernel_resources(
                subject.variant,
                subject.problem,
                subject.constant,
                subject.block,
                gpu.architecture,
                # One that is not wanted any more ends between two kernels.
                lambda: report(_COMPILING),
            )
            remember(subject, gpu, found)
        return found

    return advice(request.job, resources_for)
