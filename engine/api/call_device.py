"""Which device a call with arrays of the host takes: whole calls are compared, copies included."""

from functools import cache

import numpy as np

from engine.device.call_rates import CallRates, kept_rates, measured_rates, median_us
from engine.device.cuda_presence import has_driver
from engine.device.device_list import cpu_info, listed_devices
from engine.device.devices import backend, device_named
from engine.device.per_process import OncePerProcess
from engine.device_info import AUTO, DeviceInfo
from engine.errors import DeviceUnavailable, EngineError
from engine.mask.mask import Mask
from engine.reason import Reason
from engine.work.filter_task import FILTERING
from engine.work.filtering.auto.calls import CPU_CALL_US, LEAST_GPU_CALL_US, call_costs, cpu_call_us
from engine.work.request import one_step
from engine.work.resolve import Resolved
from engine.work.steps import MaskStep


def faster_device(resolved: Resolved) -> tuple[DeviceInfo, Reason | None]:
    """Return the device that the request of a mask names, or that with the faster whole call.

    Also what was compared; nothing where the device was named, or there is only one.
    """
    asked, cpu, problem, mask = resolved.asked, cpu_info(), resolved.problem, resolved.constant
    if asked.device != AUTO or asked.variant != AUTO:
        return resolved.device, None
    if not has_driver() or cpu_call_us(problem, mask, cpu) < LEAST_GPU_CALL_US:
        return cpu, None
    gpu = _first_gpu()
    rates = None if gpu is None else _rates(gpu.key)
    if gpu is None or rates is None:
        return cpu, None
    cpu_us = cpu_call_us(problem, mask, cpu, rates.cpu_slowness)
    copies_us = rates.copies_us(problem.copied_bytes)
    costs = call_costs(cpu_us, problem, mask, gpu, copies_us)
    if costs.gpu_us >= costs.cpu_us:
        return cpu, costs.reason
    try:
        return device_named(gpu.key), costs.reason
    except DeviceUnavailable:
        return cpu, None


@cache
def _first_gpu() -> DeviceInfo | None:
    """Return the first GPU that the driver lists, which is not started for that."""
    return next((device for device in listed_devices() if device.is_usable_gpu), None)


@OncePerProcess
def _rates(key: str) -> CallRates | None:
    """Return the rates of a GPU; where they are measured first, that starts it, which takes a second.

    None where they cannot be: every call takes the CPU.
    """
    gpu = next(device for device in listed_devices() if device.key == key)
    kept = kept_rates(gpu)
    if kept is not None:
        return kept
    try:
        return measured_rates(backend(key), _cpu_slowness())
    except EngineError:
        # It cannot be started, or has no memory left.
        return None


def _cpu_slowness() -> float:
    """Return how long a core takes for a small picture, as a multiple of the estimate."""
    picture, mask = np.ones((128, 128, 1), np.float32), Mask(np.arange(1.0, 122.0).reshape(11, 11))
    resolved = Resolved(one_step(MaskStep(mask=mask, variant="cpu-parallel"), device="cpu"), picture)
    prepared, out = FILTERING.prepare(resolved.job()), np.empty_like(picture)
    measured_us = median_us(lambda: prepared.launch(picture, out))
    estimated_us = cpu_call_us(resolved.problem, mask, resolved.device) - CPU_CALL_US
    return measured_us / estimated_us
