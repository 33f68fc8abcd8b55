"""Whole calls beside other libraries: arrays go in, arrays come out, and everything between counts.

python -m bench.calls [--device cpu|gpu|arrays] [--quick] [--json FILE]

    cpu     host arrays, our CPU variants beside OpenCV with the same result type
    gpu     host arrays, our GPU variants beside CuPy and torch, each with its copies
    arrays  device arrays, results stay on the device, beside CuPy and torch

Every library filters the same arrays in turn, a call each, and each call makes its result. The figure is the
median of a library's calls; `calls_of` says how many.
"""

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

import engine
from bench.options import parser_of

Call = Callable[[], object]
SIDES = (16, 64, 128, 256, 512, 1024, 2048, 4096)
MASKS = (3, 5, 7, 9, 11, 13, 15)
QUICK = {"cpu": ((16, 3), (64, 3), (512, 3), (1024, 5)), "gpu": ((64, 5), (1024, 9), (4096, 5))}
SECONDS_PER_CELL, MOST_CALLS, LEAST_CALLS = 0.6, 400, 7


def main(arguments: list[str]) -> int:
    """Measure and print; return the exit status."""
    parser = parser_of(__doc__)
    parser.add_argument("--device", choices=("cpu", "gpu", "arrays"), default="cpu")
    parser.add_argument("--quick", action="store_true", help="a few cells")
    parser.add_argument("--json", type=Path, help="also write the figures to a file")
    options = parser.parse_args(arguments)
    cells = []
    for side, mask, dtype, channels in cells_of(options):
        times = measured(side, mask, dtype, channels, options.device)
        cells.append({"side": side, "mask": mask, "dtype": dtype, "channels": channels, "us": times})
        print(line_of(cells[-1]), flush=True)
    if options.json:
        options.json.write_text(json.dumps(cells, indent=1), encoding="utf-8")
    print(summary(cells, options.device))
    return 0


def cells_of(options: argparse.Namespace) -> Iterable[tuple[int, int, str, int]]:
    """Yield side, mask side, sample type and channels of each cell."""
    kind = "cpu" if options.device == "cpu" else "gpu"
    pairs = QUICK[kind] if options.quick else [(side, mask) for side in SIDES for mask in MASKS]
    for side, mask in pairs:
        for dtype in ("uint8", "float32"):
            for channels in (1, 3):
                yield side, mask, dtype, channels


def measured(side: int, mask: int, dtype: str, channels: int, device: str) -> dict[str, float]:
    """Return the median time of a call of each library, us."""
    random = np.random.default_rng(side + mask)
    shape = (side, side) if channels == 1 else (side, side, channels)
    image = (random.random(shape) * 255).astype(dtype)
    weights = random.uniform(0.5, 1.5, (mask, mask)).astype(np.float32) / mask**2
    calls = {"cpu": cpu_calls, "gpu": gpu_calls, "arrays": array_calls}[device](image, weights)
    for call in calls.values():
        call()
        call()
    samples: dict[str, list[float]] = {name: [] for name in calls}
    end = time.perf_counter() + SECONDS_PER_CELL
    while len(samples["ours"]) < LEAST_CALLS or (
        time.perf_counter() < end and len(samples["ours"]) < MOST_CALLS
    ):
        for name, call in calls.items():
            begin = time.perf_counter()
            call()
            samples[name].append(time.perf_counter() - begin)
    return {name: statistics.median(times) * 1e6 for name, times in samples.items()}


def cpu_calls(image: np.ndarray, weights: np.ndarray) -> dict[str, Call]:
    """Return the calls of the CPU; results are of the picture's own type, as OpenCV's are."""
    import cv2

    return {
        "ours": lambda: engine.correlate(image, weights, device="cpu", result="same"),
        "opencv": lambda: cv2.filter2D(image, -1, weights, borderType=cv2.BORDER_CONSTANT),
        "copy": image.copy,
    }


def gpu_calls(image: np.ndarray, weights: np.ndarray) -> dict[str, Call]:
    """Return the calls of the GPU with arrays of the host; every library's results are float32."""
    import cupy
    import cupyx.scipy.ndimage
    import torch

    volume = weights if image.ndim == 2 else weights[:, :, np.newaxis]
    kernel = torch.from_numpy(weights)[None, None].cuda()

    def by_cupy() -> object:
        on_device = cupy.asarray(image).astype(cupy.float32)
        return cupyx.scipy.ndimage.correlate(on_device, cupy.asarray(volume), mode="constant").get()

    def by_torch() -> object:
        return torch_filtered(torch.from_numpy(image).cuda(), kernel).cpu().numpy()

    return {
        "ours": lambda: engine.correlate(image, weights, device="cuda:0"),
        "auto": lambda: engine.correlate(image, weights),
        "our cpu": lambda: engine.correlate(image, weights, device="cpu"),
        "cupy": by_cupy,
        "torch": by_torch,
    }


def array_calls(image: np.ndarray, weights: np.ndarray) -> dict[str, Call]:
    """Return the calls of the GPU with arrays that are there; each waits for its result."""
    import cupy
    import cupyx.scipy.ndimage
    import torch

    volume = cupy.asarray(weights if image.ndim == 2 else weights[:, :, np.newaxis])
    of_cupy, of_torch = cupy.asarray(image), torch.from_numpy(image).cuda()
    as_floats = of_cupy.astype(cupy.float32)
    kernel = torch.from_numpy(weights)[None, None].cuda()

    def waited(call: Call, wait: Callable[[], None]) -> Call:
        def whole() -> None:
            call()
            wait()

        return whole

    wait_cupy, wait_torch = cupy.cuda.get_current_stream().synchronize, torch.cuda.synchronize
    planned = engine.plan(of_cupy, weights)
    return {
        "ours": waited(lambda: engine.correlate(of_cupy, weights), wait_cupy),
        "our plan": waited(lambda: planned(of_cupy), wait_cupy),
        "ours, torch": waited(lambda: engine.correlate(of_torch, weights), wait_torch),
        "cupy": waited(lambda: cupyx.scipy.ndimage.correlate(as_floats, volume, mode="constant"), wait_cupy),
        "torch": waited(lambda: torch_filtered(of_torch, kernel), wait_torch),
    }


def torch_filtered(image: Any, kernel: Any) -> Any:
    """Return a tensor (H, W) or (H, W, C) filtered with zeros beyond its edges, float32."""
    import torch

    planes = image.float()[None, None] if image.ndim == 2 else image.float().permute(2, 0, 1)[:, None]
    found = torch.nn.functional.conv2d(planes, kernel, padding=kernel.shape[-1] // 2)
    return found[0, 0] if image.ndim == 2 else found[:, 0].permute(1, 2, 0).contiguous()


def line_of(cell: dict[str, Any]) -> str:
    """Return a cell in words."""
    times = "  ".join(f"{name} {time:9,.1f}" for name, time in cell["us"].items())
    size = f"{cell['side']} × {cell['side']}" + (" RGB" if cell["channels"] == 3 else "")
    return f"{size:15} {cell['dtype']:8} {cell['mask']:2} × {cell['mask']:<2}  {times}  us"


def summary(cells: list[dict[str, Any]], device: str) -> str:
    """Return in how many cells our call is within the limits that `docs/performance.md` names."""
    missed = []
    for cell in cells:
        times = cell["us"]
        if device == "cpu":
            limit = max(1.2 * times["opencv"], times["opencv"] + 20)
            if cell["side"] <= 64:
                limit = 25.0
            elif cell["side"] >= 1024:
                is_copy = cell["dtype"] == "float32" and cell["mask"] == 3
                limit = 1.2 * times["copy"] if is_copy else times["opencv"]
        else:
            limit = min(times["cupy"], times["torch"])
        if times["ours"] > limit:
            missed.append(f"{line_of(cell)}, limit {limit:,.1f}")
    return "\n".join([f"{len(cells) - len(missed)} of {len(cells)} cells within their limits", *missed])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
