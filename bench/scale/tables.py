"""The tables and the figure of docs/scale.md."""

import statistics
from pathlib import Path
from typing import Any

from bench.answers import DocumentFigure
from bench.markers import PICTURES, DocumentTable
from bench.peers.plot import BESIDE, COLOURS, drawn
from bench.scale.projection import (
    GBIT,
    GPU_CORES,
    KINDS,
    MASKS,
    NETWORKS,
    SCHEDULER_S,
    SIDES,
    TERAPIXEL,
    WORKERS,
    gpu_kernel_ns,
    least_side,
    task_s,
    worker_ns,
)
from engine.course.files import MARKERS, as_svg

# The share of the cores that others may have while a point is measured.
AT_REST = 0.1
SCALE = Path("docs/scale.md")
TITLES = {"cpu": "CPU core", "gpu": f"GPU with {GPU_CORES} cores"}
LIMITS = {"storage": "network", "scheduler": "scheduler", "decode": "decode", "encode": "encode"}
LIMITS["kernel"] = "kernel"
SECONDS_PER_HOUR = 3600
# Prices of `python -m bench.scale`, which the reader changes there.
CPU_HOUR, GPU_HOUR = 0.04, 3.0


def tables(kept: dict[str, Any]) -> list[DocumentTable]:
    """Return every table of the document."""
    found = {
        "rates": rate_lines(kept),
        "errors": error_lines(kept),
        "needs": need_lines(kept),
        "limits": limit_lines(kept),
        "chunks": chunk_lines(kept),
        "sides": side_lines(kept),
        "costs": cost_lines(kept, CPU_HOUR, GPU_HOUR),
    }
    return [DocumentTable(SCALE, f"scale:{name}", lines) for name, lines in found.items()]


def rate_lines(kept: dict[str, Any]) -> list[str]:
    """Return what a core and the disk do."""
    core, disk, task = kept["rates"]["core"], kept["rates"]["disk"], kept["task"]
    rows = [
        f"{kept['machine']}; load {kept['load'][0]} before and {kept['load'][1]} after. "
        "CPU time of one core.",
        "",
        "| what | ns a pixel | megapixels a second | bytes a pixel |",
        "|---|---:|---:|---:|",
    ]
    names = {"jpg": "JPEG, 8-bit grey", "png": "PNG, 8-bit grey", "tif": "TIFF, 8-bit grey"}
    names["zarr"] = "Zarr chunk, float32, zstd"
    for stage in ("decode", "encode"):
        for key, title in names.items():
            ns = core[stage][key]
            rows.append(f"| {stage}: {title} | {ns:.2f} | {1e3 / ns:,.0f} | {core['bytes'][key]:.2f} |")
    for mask in MASKS:
        ns = core["kernel"][str(mask)]
        rows.append(
            f"| filter: any mask of {mask} × {mask}, float32, `auto` | {ns:.2f} | {1e3 / ns:,.0f} | |"
        )
    for mask in MASKS:
        ns = kept["gpu_call_ns"][str(mask)]
        rows.append(
            f"| the same {mask} × {mask} on a GPU (H100), with both copies | {ns:.3f} | {1e3 / ns:,.0f} | |"
        )
    for mask, ns in gpu_kernel_ns().items():
        title = f"the same {mask} × {mask}, the kernel of a GPU alone (H200)"
        rows.append(f"| {title} | {ns:.4f} | {1e3 / ns:,.0f} | |")
    rows += [
        "",
        f"A Zarr chunk costs {1e3 * core['chunk_s']:.1f} ms besides its pixels. The disk reads "
        f"{disk['read'] / 1e9:.1f} GB/s and writes {disk['write'] / 1e9:.1f} GB/s. A task that does "
        f"nothing takes {1e3 * task['scheduler_s']:.2f} ms of the process of scheduler and client, and one "
        f"worker {1e3 * task['worker_s']:.2f} ms, in which it waits for the next one too.",
    ]
    return rows


def error_lines(kept: dict[str, Any]) -> list[str]:
    """Return each measured point beside its simulation, and the errors where the machine was at rest."""
    rows = [
        "| tasks | workers | measured s | simulated s | error | cores that others had |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    errors: dict[bool, list[float]] = {True: [], False: []}
    for point in kept["points"]:
        error = 100 * (point["simulated_s"] / point["elapsed_s"] - 1)
        errors[point["others"] <= AT_REST].append(abs(error))
        rows.append(
            f"| {point['tasks']} × {_what(point)} | {point['workers']} | {point['elapsed_s']:.2f} | "
            f"{point['simulated_s']:.2f} | {error:+.0f} % | {100 * point['others']:.0f} % |"
        )
    return [*rows, "", *(_errors_text(is_at_rest, found) for is_at_rest, found in errors.items() if found)]


def _errors_text(is_at_rest: bool, errors: list[float]) -> str:
    middle, largest = statistics.median(errors), max(errors)
    count = f"{len(errors)} point{'s' if len(errors) != 1 else ''}"
    if is_at_rest:
        return (
            f"The simulation errs by {middle:.0f} % in the median and {largest:.0f} % at most at the {count} "
            f"for which others had at most {100 * AT_REST:.0f} % of the cores."
        )
    return (
        f"At the {count} for which others had more, it errs by {middle:.0f} % in the median and "
        f"{largest:.0f} % at most: that is their work, and these points say little of the simulation."
    )


def _what(point: dict[str, Any]) -> str:
    if point["what"] == "nothing":
        return "nothing"
    if point["what"] == "disk":
        return f"read {point['bytes'] >> 20} MB from the disk"
    return f"chunk of {point['side']}, mask {point['mask']} × {point['mask']}"


def _chosen(kept: dict[str, Any], kind: str, mask: int, workers: int) -> int:
    """Return the side that is simulated for a number of workers: the least that hides the scheduler."""
    wanted = max(1024, least_side(kept, kind, mask, workers))
    return next((side for side in SIDES if side >= wanted), SIDES[-1])


def _entry(kept: dict[str, Any], **key: object) -> dict[str, Any]:
    entry: dict[str, Any] = next(
        entry for entry in kept["projected"] if all(entry[name] == value for name, value in key.items())
    )
    return entry


def need_lines(kept: dict[str, Any]) -> list[str]:
    """Return what one worker reads and writes, and how many of them each network feeds."""
    networks = " / ".join(map(str, NETWORKS))
    rows = [
        f"| worker | mask | megapixels a second | Gbit/s | workers that {networks} Gbit/s feed |",
        "|---|---|---:|---:|---:|",
    ]
    for kind in KINDS:
        for mask in MASKS:
            pixels_per_s = 4096**2 / task_s(kept, kind, mask, 4096)
            gbit = 2 * kept["rates"]["core"]["bytes"]["zarr"] * pixels_per_s / GBIT
            fed = " / ".join(f"{network / gbit:.2g}" for network in NETWORKS)
            rate = f"{pixels_per_s / 1e6:,.0f} | {gbit:.1f}"
            rows.append(f"| {TITLES[kind]} | {mask} × {mask} | {rate} | {fed} |")
    return rows


def limit_lines(kept: dict[str, Any]) -> list[str]:
    """Return what limits each number of workers, by the rate of the storage."""
    rows = [
        "| worker | mask | workers | chunk | " + " | ".join(f"{rate} Gbit/s" for rate in NETWORKS) + " |",
        "|---|---|---:|---:|" + "---|" * len(NETWORKS),
    ]
    for kind in KINDS:
        for mask in MASKS:
            for workers in WORKERS:
                side = _chosen(kept, kind, mask, workers)
                cells = []
                for network in NETWORKS:
                    entry = _entry(kept, kind=kind, mask=mask, workers=workers, network=network, side=side)
                    cells.append(f"{_rate(entry['pixels_per_s'])}, {LIMITS[entry['limit']]}")
                rows.append(
                    f"| {TITLES[kind]} | {mask} × {mask} | {workers:,} | {side:,} | {' | '.join(cells)} |"
                )
    return rows


def _workers(count: int) -> str:
    return f"{count:,} worker{'s' if count > 1 else ''}"


def _rate(pixels_per_s: float) -> str:
    return f"{pixels_per_s / 1e9:.2g} Gpx/s" if pixels_per_s >= 1e9 else f"{pixels_per_s / 1e6:.0f} Mpx/s"


def chunk_lines(kept: dict[str, Any]) -> list[str]:
    """Return the least side of a chunk for each number of workers."""
    rows = [
        f"{kept['tasks_per_chunk']:.1f} tasks a chunk of {1e6 * SCHEDULER_S:.0f} us each; float32. In "
        "brackets the MB of a chunk in memory.",
        "",
        "| worker | mask | " + " | ".join(map(_workers, WORKERS)) + " |",
        "|---|---|" + "---:|" * len(WORKERS),
    ]
    for kind in KINDS:
        for mask in MASKS:
            sides = [least_side(kept, kind, mask, workers) for workers in WORKERS]
            cells = " | ".join(f"{side:,} ({4 * side**2 / 1e6:,.0f})" for side in sides)
            rows.append(f"| {TITLES[kind]} | {mask} × {mask} | {cells} |")
    return rows


def side_lines(kept: dict[str, Any]) -> list[str]:
    """Return what chunks of each side give at 15 x 15 on CPU cores, with the fastest network."""
    rows = [
        "| chunk | " + " | ".join(map(_workers, WORKERS)) + " |",
        "|---:|" + "---|" * len(WORKERS),
    ]
    for side in SIDES:
        found = [
            _entry(kept, kind="cpu", mask=15, workers=workers, network=NETWORKS[-1], side=side)
            for workers in WORKERS
        ]
        cells = " | ".join(f"{_rate(entry['pixels_per_s'])}, {LIMITS[entry['limit']]}" for entry in found)
        rows.append(f"| {side:,} | {cells} |")
    return rows


def cost_lines(kept: dict[str, Any], cpu_hour: float, gpu_hour: float) -> list[str]:
    """Return hours and price of a terapixel, without a network that limits, at these prices."""
    rows = [
        f"Assumed: {cpu_hour:g} a core and hour, {gpu_hour:g} a GPU and hour, which has {GPU_CORES} cores of "
        "its own at the price of such cores; any currency.",
        "",
        "| mask | worker | filtering alone: hours | price | with decoding and encoding: hours | price |",
        "|---|---|---:|---:|---:|---:|",
    ]
    price = {"cpu": cpu_hour, "gpu": gpu_hour + GPU_CORES * cpu_hour}
    for mask in MASKS:
        for kind in KINDS:
            parts = worker_ns(kept, kind, mask)
            whole = sum(parts.values())
            if kind == "gpu":
                whole = max(parts["kernel"], parts["decode"] + parts["encode"])
            cells = []
            for ns in (parts["kernel"], whole):
                hours = ns * 1e-9 * TERAPIXEL / SECONDS_PER_HOUR
                cells.append(f"{hours:.2g} | {hours * price[kind]:.2g}")
            rows.append(f"| {mask} × {mask} | {TITLES[kind]} | {' | '.join(cells)} |")
        hours = gpu_kernel_ns()[str(mask)] * 1e-9 * TERAPIXEL / SECONDS_PER_HOUR
        cost = f"{hours:.2g} | {hours * price['gpu']:.2g}"
        rows.append(f"| {mask} × {mask} | GPU, the pictures stay in its memory | {cost} | | |")
    return rows


def figure(kept: dict[str, Any]) -> DocumentFigure:
    """Return the pixels per second against the number of workers, for chunks of several sides."""
    lines = [("cpu", side) for side in (512, 2048, 8192)] + [("gpu", 8192)]
    title = "Any mask of 15 × 15, float32, Zarr; storage of 100 Gbit/s; simulated"

    def draw() -> bytes:
        with drawn(title) as (drawing, axes):
            for index, (kind, side) in enumerate(lines):
                found = [
                    _entry(kept, kind=kind, mask=15, workers=workers, network=100, side=side)
                    for workers in WORKERS
                ]
                axes.plot(
                    WORKERS,
                    [entry["pixels_per_s"] / 1e6 for entry in found],
                    color=COLOURS[index],
                    marker=MARKERS[index],
                    markersize=5,
                    label=f"{'CPU cores' if kind == 'cpu' else 'GPUs'}, chunks of {side}",
                )
            points = [point for point in kept["points"] if point.get("mask") == 15]
            axes.plot(
                [point["workers"] for point in points],
                [1e-6 * point["tasks"] * point["side"] ** 2 / point["elapsed_s"] for point in points],
                color="#20252c",
                linestyle="",
                marker="x",
                label="measured here, 1 and 2 cores",
            )
            axes.set(xlabel="workers", ylabel="megapixels a second", xscale="log", yscale="log")
            axes.set_xticks(WORKERS, [f"{count:,}" for count in WORKERS])
            axes.minorticks_off()
            axes.yaxis.set_major_formatter(lambda value, _: f"{value:,g}")
            axes.legend(**BESIDE)
            return as_svg(drawing, title)

    return DocumentFigure(PICTURES / "scale.svg", draw)
