"""How long a person waits for a chain after an edit, beside a script of the same steps with OpenCV.

    python -m bench.chain [--out chain.json]

A preview, as the engine's process answers it: from the edited chain to what the window paints (float32
result, 8 bits for the screen, halved levels), for an edit of the last step and of the first. OpenCV does the
same steps, and converts to 8 bits, in this process with as many threads. All in one run, in turns.
"""

import json
import statistics
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from msgspec.structs import replace

from bench.options import parser_of
from engine.host import shared
from engine.host.protocol import PictureHandle
from engine.host.request import Preview
from engine.host.shared_picture import SharedSegment, screen_arrays
from engine.process import cores
from engine.work.answers import preview
from engine.work.chain_files import chain_named
from engine.work.messages import PictureJob
from engine.work.steps import Chain

SIZES = ((640, 480), (1920, 1080), (3840, 2160))
ROUNDS = 9


def handle_of(pixels: np.ndarray) -> PictureHandle:
    """Return a picture in shared memory, as an opened one is."""
    with SharedSegment() as segment:
        made, *levels = segment.create((pixels.shape, pixels.dtype.name), *screen_arrays(*pixels.shape[:2]))
        shared.attach(made)[...] = pixels
        screen = segment.rendered(made, tuple(levels), 255.0)
        return PictureHandle(made, None, screen, "random", "random")


def edited(chain: Chain, at: int, number: int) -> Chain:
    """Return the chain with another step; with another first one every step is computed anew."""
    step: Any = chain.steps[at]
    if hasattr(step, "weight"):
        return chain.replaced(step.id, replace(step, how="blend", weight=0.3 + number * 1e-3))
    return chain.replaced(step.id, replace(step, mask=step.mask.with_offset(number * 1e-3)))


def with_opencv(key: str) -> Callable[[np.ndarray], np.ndarray]:
    """Return the same steps with OpenCV, to 8 bits."""
    cv2: Any = import_module("cv2")
    cv2.setNumThreads(cores())
    if key == "unsharp":

        def unsharp(image: np.ndarray) -> np.ndarray:
            blur = cv2.GaussianBlur(image.astype(np.float32), (9, 9), 1.5, borderType=cv2.BORDER_REFLECT_101)
            return cv2.convertScaleAbs(cv2.addWeighted(image.astype(np.float32), 1.8, blur, -0.8, 0))

        return unsharp

    def sobel(image: np.ndarray) -> np.ndarray:
        x = cv2.Sobel(image, cv2.CV_32F, 1, 0, borderType=cv2.BORDER_REPLICATE)
        y = cv2.Sobel(image, cv2.CV_32F, 0, 1, borderType=cv2.BORDER_REPLICATE)
        return cv2.convertScaleAbs(cv2.magnitude(x, y))

    return sobel


def measured(key: str, width: int, height: int) -> dict[str, Any]:
    """Return medians in milliseconds of both edits and of OpenCV, and the ratios."""
    chain = chain_named(key)
    pixels = np.random.default_rng(0).integers(0, 256, (height, width, 3), np.uint8)
    picture, script = handle_of(pixels), with_opencv(key)
    times: dict[str, list[float]] = {"last": [], "first": [], "opencv": []}
    shown: list[str] = []
    for number in range(ROUNDS + 1):
        for name, at in (("last", -1), ("first", 0)):
            job = PictureJob(chain=edited(chain, at, number + 1), picture=picture, device="cpu")
            begin = time.perf_counter()
            found = preview(Preview(job), lambda step: None)
            times[name].append((time.perf_counter() - begin) * 1e3)
            assert found.values is not None
            shown.append(found.values.name)
            # The window keeps the newest one.
            if len(shown) > 1:
                shared.recycle(shown.pop(0))
        begin = time.perf_counter()
        script(pixels)
        times["opencv"].append((time.perf_counter() - begin) * 1e3)
    shared.unlink(*shown, picture.in_memory.name)
    ms = {name: statistics.median(each[1:]) for name, each in times.items()}
    ratios = {name: ms[name] / ms["opencv"] for name in ("last", "first")}
    return {"chain": key, "size": f"{width}x{height} RGB", "ms": ms, "of_opencv": ratios}


def main() -> None:
    """Print a line for each chain and size."""
    parser = parser_of(__doc__)
    parser.add_argument("--out", type=Path)
    out = parser.parse_args().out
    rows = [measured(key, *size) for key in ("sobel-magnitude", "unsharp") for size in SIZES]
    print(f"{cores()} cores; edit to pixels, ms (times that of OpenCV's script)")
    for row in rows:
        ms, ratio = row["ms"], row["of_opencv"]
        print(
            f"{row['chain']}, {row['size']}: last step {ms['last']:.1f} ({ratio['last']:.2f}), "
            f"first step {ms['first']:.1f} ({ratio['first']:.2f}), OpenCV {ms['opencv']:.1f}"
        )
    if out is not None:
        out.write_text(json.dumps({"cores": cores(), "rows": rows}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
