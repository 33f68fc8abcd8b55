"""Which device `auto` takes for a call: random whole calls on both, with arrays of the host."""

import statistics
import time
from collections.abc import Callable

import numpy as np

import engine
from engine.geometry.border import Border

WITHIN = 1.15
SIDES, MASK_SIDES = (16, 4096), (2, 31)
DTYPES = ("uint8", "uint16", "float32")
SECONDS, LEAST_CALLS = 0.25, 7


def judged(count: int, seed: int) -> str:
    """Measure so many random calls; return how often `auto` took the faster device, and where it did not."""
    random = np.random.default_rng(seed)
    ratios, lines, taken = [], [], {"cpu": 0, "cuda:0": 0}
    for _ in range(count):
        height, width = (int(side) for side in np.exp(random.uniform(*np.log(SIDES), 2)))
        channels = int(random.choice([1, 1, 3, 3, 4]))
        rows, columns = (int(side) for side in random.integers(*MASK_SIDES, 2, endpoint=True))
        dtype = DTYPES[random.integers(len(DTYPES))]
        image = (random.random((height, width, channels)) * 255).astype(dtype)
        mask = random.normal(size=(rows, columns))
        border = list(Border)[random.integers(len(Border))]
        result = "same" if random.random() < 0.5 else "float32"
        chosen = engine.plan(image, mask, border=border, result=result)
        calls = {
            device: _call(image, engine.plan(image, mask, border=border, result=result, device=device))
            for device in taken
        }
        times = _medians(calls)
        ratio = times[chosen.device.key] / min(times.values())
        ratios.append(ratio)
        taken[chosen.device.key] += 1
        if ratio > WITHIN:
            size = f"{height} × {width} × {channels} {dtype} to {result}, {rows} × {columns} {border}"
            measured = ", ".join(f"{device} {time_us:,.0f} us" for device, time_us in times.items())
            lines.append(f"{ratio:5.2f}  {size}: {measured}; {chosen.reason and chosen.reason.short}")
    within = sum(ratio <= WITHIN for ratio in ratios)
    share = f"{within} of {count} calls within {WITHIN} of the faster device"
    head = f"{share}, worst {max(ratios):.2f}; took {taken}"
    return "\n".join([head, *sorted(lines, reverse=True)])


def _call(image: np.ndarray, plan: engine.Plan) -> Callable[[], object]:
    return lambda: plan(image)


def _medians(calls: dict[str, Callable[[], object]]) -> dict[str, float]:
    samples: dict[str, list[float]] = {device: [] for device in calls}
    for call in calls.values():
        call()
    end = time.perf_counter() + SECONDS
    while len(samples["cpu"]) < LEAST_CALLS or (time.perf_counter() < end and len(samples["cpu"]) < 60):
        for device, call in calls.items():
            call()
            for _ in range(2):
                begin = time.perf_counter()
                call()
                samples[device].append(time.perf_counter() - begin)
    return {device: statistics.median(times) * 1e6 for device, times in samples.items()}
