"""The kernel that the window asks about: a job that is not run, and the device that it is explained on."""

from engine.device.device_list import cpu_info
from engine.device.devices import devices
from engine.device.launches import DeviceKind
from engine.device_info import DeviceInfo
from engine.explain.gpus import Architecture, gpu_for
from engine.geometry.block import Refusal, UnsupportedVariant
from engine.run.task import AnyJob
from engine.work.filtering.variants import variant
from engine.work.messages import PictureJob
from engine.work.resolved_job import resolved_job


def asked_job(asked: PictureJob, architecture: Architecture | None = None) -> tuple[AnyJob, DeviceInfo]:
    """Return the job of a filter by the variant that it names, and its device; a GPU need not be here."""
    chosen = variant(asked.variant, takes_auto=False)
    job = resolved_job(asked).job_by(chosen, chosen.block_for(asked.block))
    if chosen.device is DeviceKind.CPU:
        return job, cpu_info()
    named = [device for device in devices() if device.key == asked.device]
    return job, gpu_for(named or devices(), architecture)


def kernel_job(asked: PictureJob, architecture: Architecture | None = None) -> tuple[AnyJob, DeviceInfo]:
    """Return the same of a CUDA kernel of ours; UnsupportedVariant says why it has no launch there."""
    job, device = asked_job(asked, architecture)
    if not job.variant.has_kernels:
        why = "has no kernels of ours"
        if job.variant.device is DeviceKind.CPU:
            why = "runs on the CPU, which has no launches and no blocks of threads"
        raise UnsupportedVariant(job.variant.key, Refusal("no-kernels", f"{job.variant.title} {why}"))
    job.refuse_problem(device)
    return job, device
