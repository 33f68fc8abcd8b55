"""Ways to share one launch of a CPU variant among threads, side by side: ours, Python's and Numba's.

python -m bench.threads [--sides 512 ...] [--masks 3 ...] [--busy 0 0.5] [--cores 2 16] --out FILE

Each way has a process of its own, and they take turns: launches for 20 ms, then the others'. Of each turn
the first launch is `woken` (from 0.1 s of idling), the median of the others its time; a ratio is that of
two turns of one round. Of the rounds the half counts in which `others`, the cores that other processes kept
busy, was least. With `--busy 0.5` half as many processes as there are cores compute all the time beside
them. `asleep` is the CPU time that a way uses between its turns. Linux only.
"""

import argparse
import json
import multiprocessing
import os
import platform
import time
from itertools import product
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np

from bench.options import parser_of
from bench.thread_ways import WAYS, serve

# GNU's OpenMP spins for some milliseconds after a launch: not into the next way's turn.
SETTLE_S, BURST_S, LEAST_LAUNCHES = 0.01, 0.02, 4
# What decides: docs/decisions/0007.
LEAST_SIDE, WANTED_RATIO = 512, 1.05


def main() -> None:
    """Measure and print."""
    options = _options()
    cases: list[dict[str, Any]] = []
    begin, available = time.perf_counter(), sorted(os.sched_getaffinity(0))
    for cores in options.cores or [len(available)]:
        # The child processes have the same cores.
        os.sched_setaffinity(0, available[:cores])
        ways = _started(options.ways)
        for share in options.busy:
            beside = [_spawned(_spin) for _ in range(round(share * cores))]
            for side, mask in product(options.sides, options.masks):
                case = {"cores": cores, "busy": len(beside), "side": side, "mask": mask}
                case |= {"variant": options.variant, "dtype": options.dtype}
                cases.append(case | _measured(ways, case, options.rounds))
                if options.out:
                    options.out.write_text(json.dumps(cases, indent=1) + "\n", encoding="utf-8")
            for process in beside:
                process.kill()
                process.join()
        for connection in ways.values():
            connection.send(None)
    print(_table(cases))
    print(f"{options.variant} {options.dtype}, {time.perf_counter() - begin:.0f} s, {_kernel()}")


def _kernel() -> str:
    """Return what the system says of itself, and of its scheduler: some pack threads on few cores."""
    try:
        words = Path("/proc/cmdline").read_text(encoding="utf-8").split()
    except OSError:
        words = []
    return " ".join([platform.platform(), *(word for word in words if word.startswith("sched"))])


def _options() -> argparse.Namespace:
    parser = parser_of(__doc__)
    parser.add_argument("--sides", type=int, nargs="+", default=[256, 512, 1024, 2048, 4096])
    parser.add_argument("--masks", type=int, nargs="+", default=[3, 7, 15])
    parser.add_argument("--busy", type=float, nargs="+", default=[0], help="of the cores, 0 to 1")
    parser.add_argument("--cores", type=int, nargs="+", help="how many of the cores; default: all")
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=list(WAYS))
    parser.add_argument("--variant", default="cpu-parallel")
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--out", type=Path)
    return parser.parse_args()


def _started(wanted: list[str]) -> dict[str, Connection]:
    """Return the connections to the processes of those ways that this machine has."""
    ways = {}
    for way in wanted:
        before = dict(os.environ)
        os.environ.update(WAYS[way])
        here, there = multiprocessing.get_context("spawn").Pipe()
        _spawned(serve, there, way)
        os.environ.clear()
        os.environ.update(before)
        if reason := here.recv():
            print(f"not measured: {way}: {reason}")
        else:
            ways[way] = here
    return ways


def _spawned(target: Any, *arguments: Any) -> Any:
    process = multiprocessing.get_context("spawn").Process(target=target, args=arguments, daemon=True)
    process.start()
    return process


def _spin() -> None:
    while True:
        pass


def _asked(connection: Connection, *what: Any) -> Any:
    connection.send(what)
    return connection.recv()


def _measured(ways: dict[str, Connection], case: dict[str, Any], rounds: int) -> dict[str, Any]:
    """Return what each way took: rounds of a turn each, in any order."""
    what = (case["variant"], case["dtype"], case["side"], case["mask"])
    digests = {way: _asked(connection, "case", *what) for way, connection in ways.items()}
    if len(set(digests.values())) != 1:
        raise SystemExit(f"The results differ: {digests}")
    names, measured = list(ways), []
    order = np.random.default_rng(rounds)
    for _ in range(rounds):
        turns, begin, busy = {}, time.perf_counter(), _busy_s()
        for way in order.permutation(names).tolist():
            turns[way] = _asked(ways[way], "turn", SETTLE_S, BURST_S, LEAST_LAUNCHES)
        own = sum(turn["cpu"] for turn in turns.values())
        measured.append(((_busy_s() - busy - own) / (time.perf_counter() - begin), turns))
    # Whoever else is at work on the machine: the quieter half of the rounds counts.
    measured.sort(key=lambda one: one[0])
    kept = measured[: (rounds + 1) // 2]
    base = [turns[names[0]] for _, turns in kept]
    found = {way: _summary([turns[way] for _, turns in kept], base) for way in names}
    return {"others_cores": kept[-1][0], "ways": found}


def _busy_s() -> float:
    """Return how many seconds the machine's cores have worked; 0 where the system does not say."""
    try:
        fields = [int(field) for field in Path("/proc/stat").read_text().split("\n")[0].split()[1:8]]
    except OSError:
        return 0.0
    return (sum(fields) - fields[3] - fields[4]) / os.sysconf("SC_CLK_TCK")


def _summary(turns: list[dict[str, Any]], base: list[dict[str, Any]]) -> dict[str, float]:
    def medians(of: list[dict[str, Any]]) -> np.ndarray:
        return np.array([np.median(turn["samples"]) for turn in of])

    def woken(of: list[dict[str, Any]]) -> np.ndarray:
        return np.array([turn["woken"] for turn in of])

    every, of_base = (np.concatenate([turn["samples"] for turn in of]) for of in (turns, base))
    ratios = medians(turns) / medians(base)
    p20, p80 = np.percentile(every, [20, 80])
    return {
        "median_ms": float(np.median(every)) * 1e3,
        "p20_ms": float(p20) * 1e3,
        "p80_ms": float(p80) * 1e3,
        "minimum_ms": float(every.min()) * 1e3,
        "samples": len(every),
        "ratio": float(np.median(ratios)),
        "ratio_p20": float(np.percentile(ratios, 20)),
        "ratio_p80": float(np.percentile(ratios, 80)),
        "ratio_of_p20": float(p20 / np.percentile(of_base, 20)),
        "ratio_of_minima": float(every.min() / of_base.min()),
        "woken_ms": float(np.median(woken(turns))) * 1e3,
        "woken_ratio": float(np.median(woken(turns) / woken(base))),
        "idle_cpu_ms": float(np.median([turn["idle_cpu"] for turn in turns])) * 1e3,
    }


def _table(cases: list[dict[str, Any]]) -> str:
    """Return the table, the first way in ms and the others' times over its own; then what comes of it."""
    first, *others = cases[0]["ways"]
    lines = [
        f"ms; ratios to {first}: median (p20-p80 of the rounds), w: woken from idle",
        f"| cores | busy | others | side | mask | {first} | woken | " + " | ".join(others) + " |",
        "|" + "---|" * (7 + len(others)),
    ]
    for case in cases:
        own = case["ways"][first]
        cells = [str(case[name]) for name in ("cores", "busy", "side", "mask")]
        cells.insert(2, f"{case['others_cores']:.1f}")
        cells += [f"{own['median_ms']:.3f}", f"{own['woken_ms']:.3f}"]
        for way in others:
            of = case["ways"][way]
            spread = f"({of['ratio_p20']:.2f}-{of['ratio_p80']:.2f})"
            cells.append(f"{of['ratio']:.2f} {spread} w {of['woken_ratio']:.2f}")
        lines.append("| " + " | ".join(cells) + " |")
    for place in dict.fromkeys((case["cores"], case["busy"]) for case in cases):
        here = [case["ways"] for case in cases if (case["cores"], case["busy"]) == place]
        large = [
            case["ways"]
            for case in cases
            if (case["cores"], case["busy"]) == place and case["side"] >= LEAST_SIDE
        ]
        lines.append(f"\n{place[0]} cores, {place[1]} busy: ratio <= {WANTED_RATIO} from {LEAST_SIDE} on:")
        for way in (first, *others):
            ratios = [ways[way]["ratio"] for ways in large]
            used_ms = np.median([ways[way]["idle_cpu_ms"] for ways in here])
            close = sum(ratio <= WANTED_RATIO for ratio in ratios)
            lines.append(
                f"  {way:10} {close:2} of {len(ratios)}, the worst {max(ratios, default=0):.2f};"
                f" CPU ms used after a turn, asleep: {used_ms:.2f}"
            )
    return "\n".join(lines)


if __name__ == "__main__":
    main()
