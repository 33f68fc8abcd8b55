"""Answers what a kernel saves where one cost is missing: timed where a GPU is, else counted.

Called on: the main thread of the host, one at a time.
"""

from engine.device.devices import devices
from engine.device.launches import DeviceKind
from engine.device_info import AUTO
from engine.errors import DeviceUnavailable
from engine.explain.ablation.messages import Ablation, AblationJob
from engine.explain.ablation.running import ablated, counted_ablation
from engine.explain.architectures import DEFAULT
from engine.explain.launch.gpu_limits import ABSENT_GPUS
from engine.explain.subject import Subject
from engine.host.request import Run
from engine.results.progress import Checkpoint
from engine.run.device_choice import device_for
from engine.work.filtering.variants import VARIANTS, variant
from engine.work.resolved_job import resolved_job


def run(request: Run[AblationJob], report: Checkpoint) -> Ablation:
    """Time the job's kernel and its siblings; count their instructions where no GPU is."""
    asked = request.job
    chosen = variant(asked.variant, takes_auto=False)
    resolved = resolved_job(asked)
    problem, mask = resolved.problem, resolved.constant
    block = chosen.block_for(asked.block)
    try:
        # A kernel may be looked at while the CPU is chosen.
        device = device_for(chosen, AUTO if asked.device == DeviceKind.CPU else asked.device)
    except DeviceUnavailable:
        if any(one.is_usable_gpu for one in devices()):
            raise
        Subject(chosen, problem, mask, block, ABSENT_GPUS[DEFAULT]).refuse(VARIANTS)
        return counted_ablation(chosen, problem, mask, block, report)
    job = resolved.job_by(chosen, block)
    job.refuse(device)
    return ablated(job, device.key, request.budget_s, report)
