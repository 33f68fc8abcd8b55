"""What a GPU's call with arrays of the host costs beside its kernel: measured once per machine, and kept."""

import json
import time
from bisect import bisect_right
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from engine.compiled.code_store import code_store
from engine.device.backend import Backend
from engine.device.device_list import cpu_info
from engine.device_info import DeviceInfo
from engine.geometry.layout import Layout

# Sides of the square float32 pictures that are copied there and back: 32 KB to 128 MB in all.
SIDES = (64, 256, 512, 1024, 2048, 4096)
ROUNDS = 9
_KIND = "rates"


class CallRates(NamedTuple):
    """Times of calls whose kernel does next to nothing, by the bytes that are copied both ways together."""

    copied_bytes: tuple[float, ...]
    times_us: tuple[float, ...]
    cpu_slowness: float
    """How long the CPU's cores take, as a multiple of those that estimates were fitted to."""

    def copies_us(self, copied_bytes: float) -> float:
        """Return the time of a call beside its kernel, us: between two known ones a straight line."""
        sizes, times = self.copied_bytes, self.times_us
        after = min(max(bisect_right(sizes, copied_bytes), 1), len(sizes) - 1)
        low, high = sizes[after - 1], sizes[after]
        share = (copied_bytes - low) / (high - low)
        return max(times[0], times[after - 1] + share * (times[after] - times[after - 1]))


def kept_rates(gpu: DeviceInfo) -> CallRates | None:
    """Return the rates of a GPU in this machine; None where they have not been measured."""
    kept = code_store().load(_KIND, _key(gpu))
    if kept is None:
        return None
    sizes, times, slowness = json.loads(kept)
    return CallRates(tuple(sizes), tuple(times), slowness)


def measured_rates(machine: Backend, cpu_slowness: float) -> CallRates:
    """Measure the rates of a GPU, which takes 0.3 s, and keep them with that of the CPU."""
    times = [_call_us(machine, side) for side in SIDES]
    rates = CallRates(tuple(8.0 * side * side for side in SIDES), tuple(times), cpu_slowness)
    code_store().save(_KIND, _key(machine.info), json.dumps(rates, allow_nan=False).encode())
    return rates


def _call_us(machine: Backend, side: int) -> float:
    picture = np.ones((side, side, 1), np.float32)
    out = np.empty_like(picture)
    call = machine.caller(_Nothing(), picture, np.float32, Layout.PITCHED)
    return median_us(lambda: call(picture, out))


def median_us(call: Callable[[], object]) -> float:
    """Return the median time of some calls, us."""
    found = []
    for _ in range(2 + ROUNDS):
        begin = time.perf_counter()
        call()
        found.append(time.perf_counter() - begin)
    return sorted(found[2:])[ROUNDS // 2] * 1e6


class _Nothing:
    """Stands for a variant: it fills one sample of the result, which takes the host as long as a launch."""

    def launch(self, image: object, out: object, stream: object = None) -> None:
        """Enqueue it."""
        # The CPU reads kept rates without the driver.
        from engine.device.cuda_copies import enqueue_fill

        enqueue_fill(out, 0, 4, stream)


def _key(gpu: DeviceInfo) -> str:
    facts = gpu.title, gpu.facts.get("driver API", ""), *cpu_info().facts.values()
    return json.dumps(facts, allow_nan=False)
