"""Which device a call with arrays of the host takes: whole calls are compared, measured copies included."""

import json
import time
from bisect import bisect_right
from collections.abc import Callable
from functools import cache, partial
from typing import NamedTuple

import numpy as np

from engine.compiled.code_store import code_store
from engine.device.device_list import cpu_info, has_driver, listed_devices
from engine.device.devices import backend, device_named
from engine.device_info import AUTO, DeviceInfo
from engine.errors import DeviceUnavailable, EngineError, Reason
from engine.geometry.block import Layout
from engine.mask.mask import Mask
from engine.process import OncePerProcess
from engine.work.filtering import planner
from engine.work.resolve import Resolved
from engine.work.steps import MaskStep, one_step

# Sides of the square float32 pictures that are copied there and back: 32 KB to 128 MB in all.
SIDES = (64, 256, 512, 1024, 2048, 4096)
ROUNDS = 9
_KIND = "rates"


def faster_device(resolved: Resolved) -> tuple[DeviceInfo, Reason | None]:
    """Return the device that a request names, or that with the faster whole call, and what was compared."""
    request, cpu, problem, mask = resolved.request, cpu_info(), resolved.problem, resolved.constant
    if request.device != AUTO or request.variant != AUTO:
        return resolved.device, None
    if not has_driver() or planner.cpu_call_us(problem, mask, cpu) < planner.LEAST_GPU_CALL_US:
        return cpu, None
    gpu = _first_gpu()
    rates = None if gpu is None else _rates(gpu.key)
    if gpu is None or rates is None:
        return cpu, None
    cpu_us = planner.cpu_call_us(problem, mask, cpu, rates.cpu_slowness)
    copies_us = rates.copies_us(problem.copied_bytes)
    gpu_us = copies_us + planner.LAUNCH_US + planner.kernel_us(problem, mask, gpu)
    reason = planner.why_faster(cpu_us, gpu_us, copies_us)
    if gpu_us >= cpu_us:
        return cpu, reason
    try:
        return device_named(gpu.key), reason
    except DeviceUnavailable:
        return cpu, None


@cache
def _first_gpu() -> DeviceInfo | None:
    """Return the first GPU that the driver lists, which is not started for that."""
    return next((device for device in listed_devices() if device.is_usable_gpu), None)


class CallRates(NamedTuple):
    """Times of a GPU's calls whose kernel does next to nothing, by the bytes copied both ways together."""

    copied_bytes: tuple[float, ...]
    times_us: tuple[float, ...]
    cpu_slowness: float  # how long the CPU's cores take, as a multiple of those that estimates were fitted to

    def copies_us(self, copied_bytes: float) -> float:
        """Return the time of a call beside its kernel, us: between two known ones a straight line."""
        sizes, times = self.copied_bytes, self.times_us
        after = min(max(bisect_right(sizes, copied_bytes), 1), len(sizes) - 1)
        low, high = sizes[after - 1], sizes[after]
        share = (copied_bytes - low) / (high - low)
        return max(times[0], times[after - 1] + share * (times[after] - times[after - 1]))


@OncePerProcess
def _rates(key: str) -> CallRates | None:
    """Return the rates of a GPU, kept since they were measured in this machine.

    To measure them starts the GPU, which takes a second, and takes 0.3 s. None where they cannot be: every
    call takes the CPU.
    """
    gpu = next(device for device in listed_devices() if device.key == key)
    facts = gpu.title, gpu.facts.get("driver API", ""), *cpu_info().facts.values()
    name = json.dumps(facts, allow_nan=False)
    if kept := code_store().load(_KIND, name):
        sizes, times, slowness = json.loads(kept)
        return CallRates(tuple(sizes), tuple(times), slowness)
    try:
        machine = backend(key)
        times = []
        for side in SIDES:
            picture, out = (np.ones((side, side, 1), np.float32) for _ in range(2))
            call = machine.caller(_Nothing(), picture, np.float32, Layout.PITCHED)
            times.append(median_us(partial(call, picture, out)))
        rates = CallRates(tuple(8.0 * side * side for side in SIDES), tuple(times), _cpu_slowness())
    except EngineError:
        # It cannot be started, or has no memory left.
        return None
    code_store().save(_KIND, name, json.dumps(rates, allow_nan=False).encode())
    return rates


def median_us(call: Callable[[], object]) -> float:
    """Return the median time of some calls, us."""
    times_s = []
    for _ in range(2 + ROUNDS):
        begin = time.perf_counter()
        call()
        times_s.append(time.perf_counter() - begin)
    return sorted(times_s[2:])[ROUNDS // 2] * 1e6


class _Nothing:
    """Stands for a variant: it fills one sample of the result, which takes the host as long as a launch."""

    def launch(self, image: object, out: object, stream: object = None) -> None:
        """Enqueue it."""
        # The CPU reads kept rates without the driver.
        from engine.device.cuda_memory import enqueue_fill

        enqueue_fill(out, 0, 4, stream)


def _cpu_slowness() -> float:
    """Return how long a core takes for a small picture, as a multiple of the estimate."""
    picture, mask = np.ones((128, 128, 1), np.float32), Mask(np.arange(1.0, 122.0).reshape(11, 11))
    resolved = Resolved(one_step(MaskStep(mask=mask, variant="cpu-parallel"), device="cpu"), picture)
    prepared, out = resolved.job().prepare(), np.empty_like(picture)
    measured_us = median_us(lambda: prepared.launch(picture, out))
    estimated_us = planner.cpu_call_us(resolved.problem, mask, resolved.device) - planner.CPU_CALL_US
    return measured_us / estimated_us
