"""One picture and a folder on 1, 2, ... GPUs of this machine (`--device cuda:all`), end to end.

    python -m bench.several_gpus --json FILE      needs CUDA devices; some minutes

Each number of GPUs is a process of its own that sees only so many (CUDA_VISIBLE_DEVICES). One picture of
16384 x 16384 float32 goes from the host's memory and back, page-locked and ordinary; its bits are compared
with those of the first GPU. The folder is `batch` from files to files, which needs cores for decoding too,
and the same pictures from memory to memory, which does not.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import engine
from bench.options import parser_of
from engine.device.device_list import DriverError, gpu_count
from engine.device.devices import all_gpus

MASKS = ("gaussian:5:1", "gaussian:15:3")
# Not separable: a direct sum of all cells.
DENSE = np.random.default_rng(1).random((15, 15)).round(3)
TITLES = {
    "pinned": "one picture, page-locked memory",
    "ordinary": "one picture, ordinary memory",
    "pictures": "pictures of 12 megapixels, 8-bit RGB, memory to memory",
    "folder": "`batch` of the same as TIFF files, no proof",
}


def median_ms(action: Callable[[], object], repeats: int) -> float:
    """Return the median of so many times after a first one that is not counted."""
    action()
    times = []
    for _ in range(repeats):
        begin_s = time.perf_counter()
        action()
        times.append(1e3 * (time.perf_counter() - begin_s))
    return statistics.median(times)


def one_picture(mask: Any, side: int, repeats: int) -> dict[str, float]:
    """Return the times of a large picture in page-locked and in ordinary memory; the bits are compared."""
    pinned, out = engine.pinned_array((side, side)), engine.pinned_array((side, side))
    pinned[...] = np.random.default_rng(2).random((side, side), np.float32)
    ordinary, ordinary_out = np.array(pinned), np.empty_like(out)

    def stream(picture: np.ndarray, result: np.ndarray) -> Any:
        return engine.filter_stream(picture, mask, out=result, device="cuda:all")

    found = {
        "pinned": median_ms(lambda: stream(pinned, out), repeats),
        "ordinary": median_ms(lambda: stream(ordinary, ordinary_out), repeats),
    }
    key = stream(pinned, out).timeline.variant
    whole = engine.correlate(pinned, mask, device=all_gpus()[0].key, variant=key)
    assert np.array_equal(whole.view(np.uint32), out.view(np.uint32)), "other bits"
    return found


def many_pictures(mask: Any, photos: list[np.ndarray], pictures: int, repeats: int) -> float:
    """Return the time of so many pictures from page-locked memory to page-locked memory."""
    pinned = [engine.pinned_array(photo.shape, np.uint8) for photo in photos]
    for locked, photo in zip(pinned, photos, strict=True):
        locked[...] = photo
    # Results go to the same memory in turn, with enough of it that none is still needed.
    results = [engine.pinned_array(photos[0].shape, np.uint8) for _ in range(8 + 2 * 4 * len(all_gpus()))]

    def batch() -> None:
        sent = (pinned[n % len(pinned)] for n in range(pictures))
        free = (results[n % len(results)] for n in range(pictures))
        engine.filter_stream(
            sent, mask, out=free, receive=lambda number, values: None, result="same", device="cuda:all"
        )

    return median_ms(batch, repeats)


def folder(photos: list[np.ndarray], pictures: int, repeats: int) -> float:
    """Return the time of the command from files to files."""
    with tempfile.TemporaryDirectory() as home:
        source = Path(home) / "photos"
        source.mkdir()
        for number in range(pictures):
            engine.save_image(photos[number % len(photos)], source / f"{number:03}.tif")
        command = [sys.executable, "main.py", "batch", str(source), "--out", f"{home}/out", "--overwrite"]
        command += ["--no-verify", "--mask", MASKS[0], "--device", "cuda:all", "--result-type", "same"]
        return median_ms(lambda: subprocess.run(command, check=True, capture_output=True), repeats)


def measured(side: int, pictures: int, repeats: int) -> dict[str, Any]:
    """Return the times on the GPUs that this process sees, by mask and by what was done."""
    photos = [np.random.default_rng(n).integers(0, 255, (3000, 4000, 3), np.uint8) for n in range(8)]
    masks: dict[str, Any] = {mask: mask for mask in MASKS} | {"15 x 15, any": DENSE}
    found = {}
    for name, mask in masks.items():
        found[name] = one_picture(mask, side, repeats)
        found[name]["pictures"] = many_pictures(mask, photos, pictures, repeats)
    found[MASKS[0]]["folder"] = folder(photos, pictures, min(repeats, 2))
    return {"gpus": [gpu.title for gpu in all_gpus()], "ms": found}


def lines_of(kept: dict[str, Any]) -> list[str]:
    """Return the table: what was done, on how many GPUs, and how many times as fast as on one."""
    counts = list(kept["runs"])
    lines = [
        f"{kept['cores']} cores; ms, medians; in brackets how many times as fast as on one GPU.",
        f"{len(kept['runs'][counts[-1]]['gpus'])} x {kept['runs'][counts[-1]]['gpus'][0]}; one picture of "
        f"{kept['side']} x {kept['side']} float32; {kept['pictures']} pictures.",
        "",
        "| what | mask | " + " | ".join(f"{count} GPU{'s' * (count != '1')}" for count in counts) + " |",
        "|---|---|" + "---:|" * len(counts),
    ]
    first = kept["runs"][counts[0]]["ms"]
    for mask, rows in first.items():
        for what, base in rows.items():
            found = [kept["runs"][count]["ms"][mask][what] for count in counts]
            cells = " | ".join(f"{ms:,.1f} ({base / ms:.2f})" for ms in found)
            lines.append(f"| {TITLES[what]} | {mask} | {cells} |")
    return lines


def main() -> None:
    """Measure in a process for each number of GPUs, print the table, and keep the times."""
    options = parser_of(__doc__)
    options.add_argument("--gpus", default="", help="such as 1,2,4; default: 1, 2, 4, ... and all")
    options.add_argument("--side", type=int, default=16384)
    options.add_argument("--pictures", type=int, default=64)
    options.add_argument("--repeats", type=int, default=5)
    options.add_argument("--json", help="file to write the times to")
    options.add_argument("--here", action="store_true", help="measure in this process, print JSON")
    asked = options.parse_args()
    if asked.here:
        print(json.dumps(measured(asked.side, asked.pictures, asked.repeats)))
        return
    try:
        total = gpu_count()
    except DriverError as error:
        raise SystemExit(f"This needs CUDA devices: {error}.") from error
    counts = [int(count) for count in asked.gpus.split(",") if count] or sorted(
        {total, *(1 << power for power in range(total.bit_length()) if 1 << power <= total)}
    )
    kept: dict[str, Any] = {"cores": os.cpu_count(), "side": asked.side, "pictures": asked.pictures}
    kept["runs"] = {}
    for count in counts:
        if not 1 <= count <= total:
            raise SystemExit(f"--gpus {count}: this machine has {total}")
        again = [sys.executable, "-m", "bench.several_gpus", "--here", "--side", str(asked.side)]
        again += ["--pictures", str(asked.pictures), "--repeats", str(asked.repeats)]
        visible = {"CUDA_VISIBLE_DEVICES": ",".join(map(str, range(count)))}
        done = subprocess.run(again, check=True, stdout=subprocess.PIPE, text=True, env=os.environ | visible)
        kept["runs"][str(count)] = json.loads(done.stdout)
        print(f"{count} done", file=sys.stderr, flush=True)
    print("\n".join(lines_of(kept)))
    if asked.json:
        Path(asked.json).write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
