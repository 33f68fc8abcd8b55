"""Measures our variants beside other libraries, verified first, and writes what came of it.

python -m bench.peers --device gpu [--quick] [--commit HASH] [--json FILE] [--history]
python -m bench.peers --device cpu [--threads N] [--peer-python PYTHON] ...
python -m bench.peers --read FILE     adds the line of a kept file to the history, nothing is measured

`--history` adds a line to bench/history.jsonl. Peers are optional (bench/requirements-peers.txt): one that is
not there is listed as not measured.
"""

import argparse
import datetime
import json
import sys
import time
from pathlib import Path
from typing import Any

from bench.markers import TABLES, DocumentTable
from bench.options import parser_of
from bench.peers.cells import Cell
from bench.peers.grid import Table, tables_of
from bench.peers.machine import describe, gpu_state
from bench.peers.measure import Plan, add_arguments, opened
from bench.peers.summary import append, line_of
from bench.peers.tables import document_lines, table_lines, untimed_lines
from engine.device.device_list import commit
from engine.errors import EngineError
from engine.files.atomic_write import atomic_write

RESULTS = Path("bench/results")

FULL, QUICK = Plan(), Plan(rounds=5, budget_s=0.4, cap_s=2.0)
_AXES = {"mask_side": "mask", "height": "picture", "channels": "channels", "batch": "pictures"}


def measured(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return what came of the whole run, as plain data."""
    begin = time.monotonic()
    names = arguments.tables.split(",") if arguments.tables else ()
    tables = [
        table
        for table in tables_of(arguments.device, quick=arguments.quick)
        if table.name in names or not names
    ]
    plan = QUICK if arguments.quick else FULL
    ours, only = (tuple(filter(None, text.split(","))) for text in (arguments.ours, arguments.only))
    with opened(arguments, plan, ours=ours, only=only) as measurement:
        for key, why in measurement.absent.items():
            print(f"{key}: not measured: {why}", flush=True)
        if not measurement.facts:
            raise EngineError("Nothing can be measured", f"no library can be used on the {arguments.device}")
        run = {
            "date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d"),
            "commit": arguments.commit or commit(),
            "device_kind": arguments.device,
            "grid": "quick" if arguments.quick else "full",
            "machine": describe(arguments.device, arguments.threads, measurement.facts),
            "libraries": measurement.facts,
            "absent": measurement.absent,
        }
        cells: dict[str, Any] = {}
        for table in tables:
            for cell in (cell for cell in table.cells if cell.key not in cells):
                if time.monotonic() - begin > arguments.deadline:
                    print(f"{cell.key}: left out: {arguments.deadline:.0f} s are over", flush=True)
                else:
                    cells |= measurement.cells([cell])
            if arguments.device == "gpu":
                run["machine"]["state after"] = gpu_state()
            run["took_s"] = round(time.monotonic() - begin)
            run["tables"] = [described(t, cells) for t in tables if any(c.key in cells for c in t.cells)]
            run["cells"] = cells
            # After each table: a run that is cut off keeps what it has.
            atomic_write(_path_of(arguments), as_text(run).encode())
    return run


def _path_of(arguments: argparse.Namespace) -> Path:
    path: Path = arguments.json or RESULTS / f"peers-{arguments.device}.json"
    return path


def described(table: Table, cells: dict[str, Any]) -> dict[str, Any]:
    """Return a table as plain data: its cells that were measured, and what each is called in it."""
    shown = [cell for cell in table.cells if cell.key in cells]
    return {
        "name": table.name,
        "title": table.title,
        "axis_title": _AXES[table.axis],
        "cells": [cell.key for cell in shown],
        "labels": [_label(table.axis, cell) for cell in shown],
    }


def _label(axis: str, cell: Cell) -> str:
    if axis == "mask_side":
        return f"{cell.mask_side} × {cell.mask_side}"
    return f"{cell.width} × {cell.height}" if axis == "height" else str(getattr(cell, axis))


def as_text(run: dict[str, Any]) -> str:
    """Return a run as JSON with a line per cell: whoever compares two files sees the cells."""
    head = json.dumps({key: value for key, value in run.items() if key != "cells"}, indent=1)
    cells = ",\n".join(f"  {json.dumps(key)}: {json.dumps(entry)}" for key, entry in run["cells"].items())
    return f'{head[:-2]},\n "cells": {{\n{cells}\n }}\n}}\n'


def document_tables(run: dict[str, Any]) -> list[DocumentTable]:
    """Return what docs/performance-tables.md says of a run."""
    kind = run["device_kind"]
    return [
        DocumentTable(TABLES, f"peers:{kind}", document_lines(run, f"pictures/peers-{kind}-gaussian.svg"))
    ]


def remember(run: dict[str, Any]) -> None:
    """Add a run to the history, if it has anything that a later one can be compared with."""
    line = line_of(run)
    if line["ratios"]:
        append(line)
    else:
        print("Nothing is added to the history: no cell has a time of ours and one of a peer.")


def main() -> int:
    parser = parser_of(__doc__)
    add_arguments(parser, device_required=False)
    parser.add_argument("--quick", action="store_true", help="a small grid, about two minutes")
    parser.add_argument(
        "--json", type=Path, help="where everything is kept; default bench/results/peers-DEVICE.json"
    )
    parser.add_argument("--history", action="store_true", help="add a line to bench/history.jsonl")
    parser.add_argument("--read", type=Path, metavar="FILE", help="only add the line of a kept file")
    parser.add_argument("--ours", default="", help="our variants, or 'all'")
    parser.add_argument("--only", default="", help="libraries, such as limit,haloscope,npp")
    parser.add_argument("--tables", default="", help="tables, such as main,grey")
    parser.add_argument(
        "--deadline", type=float, default=450.0, help="start no cell after so many seconds (450)"
    )
    arguments = parser.parse_args()
    if arguments.read:
        remember(json.loads(arguments.read.read_text(encoding="utf-8")))
        return 0
    if arguments.device is None:
        parser.error("give --device gpu or --device cpu, or --read FILE")
    try:
        run = measured(arguments)
    except EngineError as error:
        print(error, file=sys.stderr)
        return 3
    for table in run["tables"]:
        print("\n" + "\n".join(table_lines(run, table)))
    print("\n" + "\n".join(untimed_lines(list(run["cells"].values()))))
    print(f"\n{run['took_s']} s, kept in {_path_of(arguments)}")
    if arguments.history:
        remember(run)
    return 0


if __name__ == "__main__":
    sys.exit(main())
