"""What a device counts of the teaching kernels' requests, by Nsight Compute, beside what the program counts.

    python -m bench.ncu --json bench/results/ncu-DEVICE.json      needs a CUDA device, `ncu`, and its counters
    python -m bench.ncu --json FILE --limiters bench/results/bounds-gpu.json      needs no device

The second counts anew in PTX, and adds what limits each launch and the share of the executed instructions
that the counted issue slots are.

Every teaching kernel, with three masks and three blocks, is launched once under `ncu`: one process for each
kernel, 10 to 30 s. The file has the cells of a kernel as soon as they are there; the same command again does
the kernels that are missing, and `--seconds` ends a run before the next kernel. The clocks are left as they
are: what is counted does not depend on them, and of the device's limits each is a share of its own rate.
"""

import csv
import json
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np

from bench.markers import DocumentTable
from bench.options import parser_of
from bench.representative import filter_job, mask_for
from engine.device.devices import backend
from engine.device.launches import Pass
from engine.device.numba_cuda import driver
from engine.explain.counting import CountedAccesses, counted_run
from engine.explain.device_limits import DeviceLimits
from engine.explain.instructions import issue_slots
from engine.explain.launches import ABSENT_GPUS, DEFAULT, SCHEDULERS
from engine.explain.why import LEAST_SHARE, bound_launch
from engine.geometry.block import Block
from engine.run.measure import environment_of
from engine.work.filter_task import MaskJob
from engine.work.filtering.variants import MaskClass, Variant, variant

TEACHING = (
    "naive", "naive-uncoalesced", "constant", "tiled-input", "tiled", "cached", "cached-constant",
    "separable-l0", "separable-l1", "separable-l2", "implicit-gemm",
    "row-naive", "row-constant", "row-tiled", "row-cached", "row-tiled-constant", "row-cached-constant",
)  # fmt: skip
SIDE = 4096
MASK_SIDES = (3, 5, 9)
BLOCKS = (Block(32, 8), Block(16, 16), Block(8, 8))
# Those of kernels that take masks of one row, and of those whose block has to be larger than the mask.
ROW_BLOCKS = (Block(256, 1), Block(64, 1), Block(32, 4))
LARGE_BLOCKS = (Block(32, 32), Block(32, 16), Block(16, 16))

# What both count, by the name here; of sectors and wavefronts the issue is about.
LOAD, STORE = "l1tex__t_{}_pipe_lsu_mem_global_op_ld.sum", "l1tex__t_{}_pipe_lsu_mem_global_op_st.sum"
SHARED = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_{}.sum"
COMPARED = {
    "load_requests": LOAD.format("requests"),
    "load_sectors": LOAD.format("sectors"),
    "store_requests": STORE.format("requests"),
    "store_sectors": STORE.format("sectors"),
    "shared_load_wavefronts": SHARED.format("ld"),
    "shared_store_wavefronts": SHARED.format("st"),
}
SHARE = ".avg.pct_of_peak_sustained_elapsed"
# What else is kept: the time, instructions by what executes them, and how much of each limit is used.
UNITS = (
    "sm__throughput", "gpu__compute_memory_throughput", "gpu__dram_throughput", "l1tex__throughput",
    "lts__throughput", "lts__t_sectors", "sm__inst_executed_pipe_alu", "sm__inst_executed_pipe_fma",
    "sm__inst_executed_pipe_fp64", "sm__inst_executed_pipe_lsu", "l1tex__lsuin_requests",
    "l1tex__data_pipe_lsu_wavefronts",
)  # fmt: skip
ALSO = (
    "gpu__time_duration.sum", "sm__inst_executed.sum", "smsp__inst_executed.sum",
    *(f"smsp__inst_executed_op_{kind}.sum" for kind in ("ldc", "shared_ld", "global_ld")),
    *(f"sm__inst_executed_pipe_{pipe}.sum" for pipe in ("alu", "fma", "fp64", "lsu", "uniform", "xu")),
    "idc__requests.sum", "lts__t_sectors_op_read.sum", "lts__t_sectors_op_write.sum",
    "dram__bytes_read.sum", "dram__bytes_write.sum", "sm__warps_active.avg.pct_of_peak_sustained_active",
    "smsp__issue_active.avg.pct_of_peak_sustained_active", "launch__registers_per_thread",
    *(f"launch__occupancy_limit_{what}" for what in ("blocks", "registers", "shared_mem", "warps")),
    *(f"{unit}{SHARE}" for unit in UNITS),
)  # fmt: skip
# A difference that is to be explained.
TOLERANCE = 0.02
# A limit is near the one that is used most from that part on; one that is used more is used fully, percent.
NEAR, FULL = 0.8, 90.0
PAGE = Path("docs/bounds.md")


class Cell(NamedTuple):
    """A kernel with a mask and a block."""

    variant: str
    mask_side: int
    block: Block


def cells_of(key: str) -> Iterator[Cell]:
    """Yield what is launched of a kernel."""
    chosen = variant(key)
    of_rows = chosen.masks is MaskClass.ONE_ROW
    blocks = ROW_BLOCKS if of_rows else LARGE_BLOCKS if chosen.block_covers_input else BLOCKS
    for side in MASK_SIDES:
        for block in blocks:
            yield Cell(key, side, block)


def job_of(cell: Cell, samples: np.ndarray) -> MaskJob:
    """Return the job of a cell on a grey float32 picture, with the zero border."""
    chosen: Variant = variant(cell.variant)
    mask = mask_for(chosen, cell.mask_side, cell.mask_side)
    return filter_job(chosen, mask, samples, block=cell.block)


def launch(key: str, side: int) -> None:
    """Launch each cell of a kernel once, between the profiler's start and stop: what runs under `ncu`."""
    machine = backend("cuda:0")
    machine.activate()
    samples = np.random.default_rng(0).random((side, side, 1), np.float32)
    buffers = None
    for cell in cells_of(key):
        job = job_of(cell, samples)
        job.refuse(machine.info)
        if buffers is None:
            buffers = job.filled(machine)
        prepared = job.prepare()
        machine.run(prepared, buffers)
        driver.cuProfilerStart()
        machine.run(prepared, buffers)
        driver.cuProfilerStop()


def profiled(key: str, side: int, metrics: list[str], ncu: str) -> list[dict[str, float]]:
    """Return what `ncu` counts of each launch of a kernel, in order; `metrics` lose what it does not know."""
    while True:
        with tempfile.TemporaryDirectory() as folder:
            log = Path(folder, "log.csv")
            command = [
                ncu, "--clock-control", "none", "--profile-from-start", "off", "--csv", "--page", "raw",
                "--print-units", "base", "--log-file", str(log), "--metrics", ",".join(metrics),
                sys.executable, "-m", "bench.ncu", "--launch", key, "--side", str(side),
            ]  # fmt: skip
            ended = subprocess.run(command, capture_output=True, text=True)
            text = log.read_text(encoding="utf-8") if log.exists() else ""
        rows, unknown = list(read_rows(text)), not_known(text, metrics)
        if rows and not ended.returncode:
            return rows
        if not unknown:
            said = f"{text[-2000:]}{ended.stdout[-1000:]}{ended.stderr[-2000:]}"
            raise SystemExit(f"ncu of {key} has {len(rows)} launches, status {ended.returncode}:\n{said}")
        for one in unknown:
            print(f"ncu does not know {one}", flush=True)
            metrics.remove(one)


def not_known(text: str, metrics: list[str]) -> list[str]:
    """Return the metrics that `ncu` complains of."""
    said = "\n".join(line for line in text.splitlines() if line.startswith(("==ERROR==", "==WARNING==")))
    return [one for one in metrics if re.search(rf"(?<![\w.]){re.escape(one)}(?![\w.]*\w)", said)]


def read_rows(text: str) -> Iterator[dict[str, float]]:
    """Yield the numbers of each launch by the metric: after the names comes a row of units."""
    lines = [line for line in text.splitlines() if line.startswith('"')]
    for number, row in enumerate(csv.DictReader(lines)):
        if number:
            found = {name: _number(value) for name, value in row.items() if _is_kept(name or "")}
            yield {name: value for name, value in found.items() if value is not None}


def _is_kept(name: str) -> bool:
    """Return whether a metric is kept: sums and shares, and nothing about device and launch."""
    return name.startswith(("l1tex", "lts", "dram", "gpu__", "sm__", "smsp", "idc")) and name.endswith(
        (".sum", ".avg.pct_of_peak_sustained_elapsed")
    )


def _number(text: str | None) -> float | None:
    try:
        return float((text or "").replace(",", ""))
    except ValueError:
        return None


def counted(one: CountedAccesses) -> dict[str, float]:
    """Return what the program counts of a launch, by the names of `COMPARED`; and what else it does."""
    named = (*COMPARED, "shared_load_requests", "constant_requests")
    found: dict[str, float] = {}
    for name in named:
        kind, _, what = name.rpartition("_")
        memory = {"load": "global_loads", "store": "global_stores", "constant": "constant_loads"}
        found[name] = getattr(one.of(memory.get(kind, f"{kind}s")), what)
    return found | {"launch_sectors": one.launch_sectors, "barriers": one.barriers}


def launches_of(
    key: str, side: int, is_chosen: Callable[[int], bool] = lambda number: True
) -> Iterator[tuple[Cell, Pass, CountedAccesses | None]]:
    """Yield each launch of each cell of a kernel, with what the program counts of it in the chosen cells."""
    samples = np.broadcast_to(np.float32(0.0), (side, side, 1))
    for number, cell in enumerate(cells_of(key)):
        job = job_of(cell, samples)
        steps = job.passes
        found = counted_run(job).passes if is_chosen(number) else [None] * len(steps)
        yield from ((cell, step, one) for step, one in zip(steps, found, strict=True))


def measured(key: str, side: int, metrics: list[str], ncu: str) -> list[dict[str, Any]]:
    """Return the rows of a kernel: one for each launch of each cell."""
    launches, found = list(launches_of(key, side)), profiled(key, side, metrics, ncu)
    if len(found) != len(launches):
        raise SystemExit(f"{key}: {len(launches)} launches, and ncu has {len(found)}")
    return [
        {"variant": cell.variant, "mask": cell.mask_side, "block": str(cell.block), "pass": one.name}
        | compared(one, numbers)
        for (cell, _, one), numbers in zip(launches, found, strict=True)
        if one
    ]


def compared(one: CountedAccesses, numbers: dict[str, float]) -> dict[str, Any]:
    """Return what a row keeps of a launch: what is counted, what `ncu` counts, and their ratios."""
    own = counted(one)
    about: dict[str, Any] = {"counted": own, "is_exact": one.is_exact, "ncu": numbers}
    return about | {"ratios": ratios(own, numbers)}


def executed(key: str, is_chosen: Callable[[int], bool]) -> Iterator[float]:
    """Yield for each launch of a kernel's chosen cells the counted issue slots over what was executed."""
    kept = json.loads(Path("bench/results/ncu-h200.json").read_text(encoding="utf-8"))
    rows = (row["ncu"] for row in kept["rows"] if row["variant"] == key)
    for (_, _, one), numbers in zip(launches_of(key, kept["side"], is_chosen), rows, strict=True):
        if one:
            yield executed_share(one, numbers)


def executed_share(one: CountedAccesses, numbers: dict[str, float]) -> float:
    """Return the issue slots that are counted of a launch, as a part of the instructions that it executed."""
    return one.weighed(issue_slots) / numbers["sm__inst_executed.sum"]


def ratios(ours: dict[str, float], theirs: dict[str, float]) -> dict[str, float | None]:
    """Return ours by theirs; 1 where both are 0, None where one alone is, or `ncu` has none."""
    made: dict[str, float | None] = {}
    for name, metric in COMPARED.items():
        own, other = ours[name], theirs.get(metric)
        if other is None or (other == 0) != (own == 0):
            made[name] = None
        else:
            made[name] = round(own / other, 4) if other else 1.0
    return made


def is_alike(ratio: float | None) -> bool:
    """Return whether a ratio needs no explanation."""
    return ratio is not None and abs(ratio - 1) <= TOLERANCE


def summary(rows: list[dict[str, Any]]) -> list[str]:
    """Return a line for each kernel: the range of each ratio, and how many launches are alike in all."""
    lines = [
        f"{'ours / ncu':20}" + "".join(f"{name.removesuffix('s'):>24}" for name in COMPARED) + "   alike"
    ]
    for key, own in by_kernel(rows).items():
        texts = []
        for found in ([row["ratios"][name] for row in own] for name in COMPARED):
            numbers = [one for one in found if one is not None]
            missing = "?" * (len(numbers) < len(found))
            texts.append(f"{f'{min(numbers):.3f}-{max(numbers):.3f}' if numbers else ''}{missing}")
        lines.append(
            f"{key:20}" + "".join(f"{text:>24}" for text in texts) + f"   {alike(own)} of {len(own)}"
        )
    return [*lines, f"within {TOLERANCE:.0%} in everything: {alike(rows)} of {len(rows)} launches"]


def alike(rows: list[dict[str, Any]]) -> int:
    """Return how many launches need no explanation."""
    return sum(all(map(is_alike, row["ratios"].values())) for row in rows)


def by_kernel(rows: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """Return the rows by the keys of the variants."""
    found: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        found.setdefault(row["variant"], []).append(row)
    return found


def with_limiters(data: dict[str, Any], limits: DeviceLimits) -> dict[str, Any]:
    """Return the rows counted anew, with what limits each launch: what `ncu` and what its bounds name."""
    rows, made = iter(data["rows"]), []
    for key in by_kernel(data["rows"]):
        for _, step, one in launches_of(key, data["side"]):
            assert one is not None
            row = next(rows)
            tallest = max(
                bound_launch(step.launch, one, ABSENT_GPUS[DEFAULT], limits), key=lambda bound: bound.ms
            )
            share = tallest.ms / (row["ncu"]["gpu__time_duration.sum"] / 1e6)
            ours = {"limiter": tallest.key, "share": round(share, 3)}
            slots = round(executed_share(one, row["ncu"]), 4)
            added = {"bounds": ours, "shares": shares(row["ncu"]), "executed": slots}
            made.append(row | compared(one, row["ncu"]) | added)
    return data | {"rows": made}


def shares(numbers: dict[str, float]) -> dict[str, float]:
    """Return the share of each limit that `ncu` says is used, in percent, by the key of our bound of it."""
    loads = numbers["sm__inst_executed_pipe_lsu.sum"] / numbers[f"sm__inst_executed_pipe_lsu{SHARE}"]
    # One instruction for memory, or four of any kind, per clock and multiprocessor.
    issued = numbers["sm__inst_executed.sum"] / (SCHEDULERS * loads)
    units = {
        "integers": "sm__inst_executed_pipe_alu", "multiply-adds": "sm__inst_executed_pipe_fma",
        "l1": "l1tex__throughput", "l2": "lts__throughput", "copy": "gpu__dram_throughput",
    }  # fmt: skip
    return {"instructions": round(issued, 1)} | {
        key: round(numbers[f"{unit}{SHARE}"], 1) for key, unit in units.items()
    }


def contradicts(row: dict[str, Any]) -> bool:
    """Return whether the sentence of a launch names a limit that `ncu` says is used far less than another.

    Starting blocks is no unit of the device that `ncu` has a share of: then it must use none of them fully.
    """
    ours, used = row["bounds"], row["shares"]
    if ours["share"] < LEAST_SHARE:
        return False
    if ours["limiter"] not in used:
        return bool(max(used.values()) > FULL)
    return bool(used[ours["limiter"]] < NEAR * max(used.values()))


def tables(data: dict[str, Any]) -> list[DocumentTable]:
    """Return the table of what limits the launches."""
    lines = [
        f"{len(data['rows'])} launches, {data['side']} × {data['side']}, {data['device']}:",
        "",
        "| Kernel | launches | `ncu` names | the bounds name | of the time | not explained | contradict |",
        "|---|---:|---|---|---:|---:|---:|",
    ]
    for key, own in by_kernel(data["rows"]).items():
        theirs = Counter(max(row["shares"], key=row["shares"].get) for row in own)
        explained = [row for row in own if row["bounds"]["share"] >= LEAST_SHARE]
        ours = Counter(row["bounds"]["limiter"] for row in explained)
        counts = (", ".join(f"{one} {count}" for one, count in of.most_common()) for of in (theirs, ours))
        found = sorted(row["bounds"]["share"] for row in own)
        cells = [
            f"`{key}`", str(len(own)), *counts, f"{found[0]:.2f} to {found[-1]:.2f}",
            str(len(own) - len(explained)), str(sum(map(contradicts, own))),
        ]  # fmt: skip
        lines.append(f"| {' | '.join(cells)} |")
    return [DocumentTable(PAGE, "limiters", lines), _executed_table(data), _ratio_table(data)]


def _executed_table(data: dict[str, Any]) -> DocumentTable:
    """Return the table of the share of the executed instructions: the least, the median, the highest."""
    rows = ["| kernel | launches | least | median | most |", "|---|---|---|---|---|"]
    for key, own in (by_kernel(data["rows"]) | {"": data["rows"]}).items():
        found = [row["executed"] for row in own]
        of_all = " | ".join(f"{one:.2f}" for one in (min(found), np.median(found), max(found)))
        rows.append(f"| {f'`{key}`' if key else 'all'} | {len(found)} | {of_all} |")
    return DocumentTable(PAGE, "bounds:executed", rows)


def _ratio_table(data: dict[str, Any]) -> DocumentTable:
    """Return the table of what is counted over what the device counted, the least and the most."""
    titles = ("load requests", "load sectors", "store sectors", "shared load wavefronts")
    names = ("load_requests", "load_sectors", "store_sectors", "shared_load_wavefronts")
    lines = [f"| Kernel | launches | {' | '.join(titles)} |", "|---|---:|---|---|---|---|"]
    for key, own in by_kernel(data["rows"]).items():
        columns = ([row["ratios"][name] for row in own] for name in names)
        texts = (f"{min(found):.3f} to {max(found):.3f}" for found in columns)
        lines.append(f"| `{key}` | {len(own)} | {' | '.join(texts)} |")
    return DocumentTable(Path("docs/counted-accesses.md"), "counts:ncu", lines)


def _kept(path: Path, side: int) -> dict[str, Any]:
    if path.exists():
        kept: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        if kept["side"] == side:
            return kept
    environment = environment_of(backend("cuda:0").info)
    return {"device": environment.device, "driver": environment.driver, "side": side, "rows": []}


def _save(path: Path, data: dict[str, Any]) -> None:
    """Write one line for each launch."""
    rows = ",\n".join(json.dumps(row) for row in data["rows"])
    about = json.dumps({name: value for name, value in data.items() if name != "rows"})
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f'{about[:-1]}, "rows": [\n{rows}\n]}}\n', encoding="utf-8")


def main() -> None:
    """Profile the kernels that the file does not have yet, and print the table."""
    parser = parser_of(__doc__)
    parser.add_argument("--json", type=Path, default=Path("bench/results/ncu.json"), help="the file")
    parser.add_argument("--side", type=int, default=SIDE, help="of the picture, pixels")
    parser.add_argument("--variants", nargs="+", default=TEACHING, choices=TEACHING, metavar="KEY")
    parser.add_argument("--seconds", type=float, default=420.0, help="no further kernel after that")
    parser.add_argument("--ncu", default="ncu", help="the program")
    parser.add_argument("--launch", metavar="KEY", help="only launch the cells of a kernel: for ncu itself")
    parser.add_argument("--limiters", type=Path, help="only count anew, with the limits by these bounds")
    options = parser.parse_args()
    if options.limiters:
        found = json.loads(options.limiters.read_text(encoding="utf-8"))["runs"][0]["limits"]
        limits = msgspec.convert(found, DeviceLimits)
        _save(options.json, with_limiters(_kept(options.json, options.side), limits))
        return
    if options.launch:
        launch(options.launch, options.side)
        return
    begun, data = time.monotonic(), _kept(options.json, options.side)
    metrics = [*COMPARED.values(), *ALSO]
    done = {row["variant"] for row in data["rows"]}
    left = [key for key in options.variants if key not in done]
    while left and time.monotonic() - begun < options.seconds:
        key, one = left.pop(0), time.monotonic()
        data["rows"] += measured(key, options.side, metrics, options.ncu)
        _save(options.json, data)
        print(f"{key}: {time.monotonic() - one:.1f} s", flush=True)
    print("\n".join(summary(data["rows"])))
    if left:
        print(f"not yet: {', '.join(left)}: run the same command again")


if __name__ == "__main__":
    main()
