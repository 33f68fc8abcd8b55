"""`engine.filter_dask` beside one call of `engine.correlate`, and beside SciPy and dask-image in chunks.

python -m bench.dask [--side 8192] [--mask gaussian:5] [--rounds 5] [--processes]

Pictures of uint8 and float32 in memory, results float32, border mirror, Dask's threads: one per core. All are
measured in turns, medians. `kept`: the chunks of the result stay apart in memory (`persist`); `joined`: they
are made one array (`compute`), as `correlate` returns. `halos`: Dask's part alone, each chunk copied together
with its halo of 2. Ratios are to `correlate` with all cores. With --processes also a LocalCluster of a
process per core, whose chunks are made and summed up where they are; 512 whole rows are the cells of 2048 x
2048.
"""

import statistics
import sys
import time
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import dask
import dask.array as da
import numpy as np
from distributed import Client, LocalCluster
from scipy import ndimage

import engine
from bench.options import parser_of
from engine.cores import cores
from engine.mask.resolve import resolve_mask
from engine.work.pictures import random_picture

CHUNKS = (1024, 2048, 4096)
Call = Callable[[], object]


def in_scipy(picture: Any, weights: np.ndarray) -> Any:
    """Return the lazy result of SciPy's correlation, chunk by chunk."""
    return da.map_overlap(
        lambda chunk: ndimage.correlate(chunk, weights, np.float32, mode="mirror"),
        picture, depth=tuple(side // 2 for side in weights.shape), boundary="reflect", dtype=np.float32,
    )  # fmt: skip


def in_dask_image(picture: Any, weights: np.ndarray) -> Any:
    """Return that of dask-image."""
    return import_module("dask_image.ndfilters").correlate(
        picture.astype(np.float32), weights.astype(np.float32), mode="mirror"
    )


def calls(picture: np.ndarray, mask: engine.Mask) -> dict[str, Call]:
    """Return what is measured, by its name."""
    how = {"border": "mirror", "device": "cpu"}
    found: dict[str, Call] = {
        "correlate": lambda: engine.correlate(picture, mask, **how),
        "correlate, new memory": lambda: engine.correlate(
            picture, mask, **how, out=np.empty(picture.shape, np.float32)
        ),
    }
    for side in CHUNKS:
        chunked = da.from_array(picture, chunks=side)
        ours = engine.filter_dask(chunked, mask, **how)
        found[f"filter_dask {side} kept"] = ours.persist
        found[f"filter_dask {side} joined"] = ours.compute
        found[f"halos {side} kept"] = da.overlap.overlap(chunked, 2, "none").persist
        found[f"SciPy {side} kept"] = in_scipy(chunked, mask.weights).persist
        if find_spec("dask_image"):
            found[f"dask-image {side} kept"] = in_dask_image(chunked, mask.weights).persist
    return found


def medians(found: dict[str, Call], rounds: int) -> dict[str, float]:
    """Return the median seconds of each call, measured in turns after one that is not counted."""
    times: dict[str, list[float]] = {name: [] for name in found}
    for number in range(rounds + 1):
        for name, call in found.items():
            begin = time.perf_counter()
            result = call()
            taken = time.perf_counter() - begin
            del result
            if number:
                times[name].append(taken)
    return {name: statistics.median(kept) for name, kept in times.items()}


def show(title: str, found: dict[str, float], baseline: str) -> None:
    """Print times and ratios."""
    print(title)
    for name, taken in found.items():
        print(f"  {name:<28}{taken * 1e3:>9.0f} ms{found[baseline] / taken:>7.2f}")


def over_processes(side: int, mask: engine.Mask, rounds: int) -> None:
    """Measure whole chunks made, filtered and summed up in a LocalCluster, beside the same without filter."""
    with LocalCluster(cores(), threads_per_worker=1, dashboard_address=":0") as cluster, Client(cluster):
        found: dict[str, Call] = {}
        for chunk in (*CHUNKS, (512, -1)):
            made = da.ones((side, side), dtype=np.float32, chunks=chunk)
            found[f"ones {chunk}"] = made.sum().compute
            found[f"filtered {chunk}"] = engine.filter_dask(made, mask, device="cpu").sum().compute
        show(f"LocalCluster of {cores()} processes", medians(found, rounds), f"ones {CHUNKS[0]}")


def main() -> None:
    """Measure and print."""
    parser = parser_of(__doc__)
    parser.add_argument("--side", type=int, default=8192)
    parser.add_argument("--mask", default="gaussian:5")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--processes", action="store_true")
    asked = parser.parse_args()
    mask = resolve_mask(asked.mask)
    print(f"Dask {dask.__version__}, {cores()} cores, {asked.side} x {asked.side}, Python {sys.version[:6]}")
    with dask.config.set(scheduler="threads", num_workers=cores()):
        for dtype in ("uint8", "float32"):
            picture = random_picture((asked.side, asked.side, 1), dtype, 1)[:, :, 0]
            show(dtype, medians(calls(picture, mask), asked.rounds), "correlate")
    if asked.processes:
        over_processes(asked.side, mask, asked.rounds)


if __name__ == "__main__":
    main()
