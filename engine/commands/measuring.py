"""What `bench` and `matmul` have in common: options, progress, the table, the files, the exit status."""

import argparse
import os
from collections.abc import Callable, Sequence
from typing import Any

from engine.commands import BAD_INPUT, DONE, NOT_VERIFIED
from engine.commands.arguments import Parser, number, whole
from engine.commands.output import log, print_answer, print_json, report_interrupt, table
from engine.device.devices import device_named, devices
from engine.device.versions import commit, versions
from engine.device_info import AUTO
from engine.errors import BadValue, DeviceFault, FileWriteError
from engine.files.atomic_write import atomic_write
from engine.files.output_checks import check_other_file, check_place
from engine.results.columns import KERNEL, Column, Fact, columns_of
from engine.results.compare import Compared, compared
from engine.results.export import machine_document, results_csv, results_document
from engine.results.measurement import Measurement
from engine.results.metrics import metric
from engine.results.quantities import MISSING
from engine.results.strict_json import json_text
from engine.run.device_choice import device_for
from engine.variants.contract import AnyVariant

Run = Measurement[Any]
Measure = Callable[[Callable[[Run], None]], tuple[Sequence[Run], DeviceFault | None]]

BUDGET_S = 0.5
# In the order of the loops that measure: what, then how.
_FIRST = ("run", "picture", "mask", "product", "batch", "variant", "block", "tile", "layout", "device")
_LAST = ("baseline_run", "proof")


def add_measuring_options(parser: Parser, seed_of: str) -> None:
    """Add the options that say where and how long to measure."""
    parser.add_options(
        f"""
        --csv FILE        file for a table for spreadsheets
        --device KEY      for the CUDA variants (`devices` lists them; default auto)
        --seed N          of {seed_of} (default 0)
        --budget SECONDS  for the samples of each cell (default {BUDGET_S})
        """,
        device={"default": AUTO},
        seed={"type": whole("--seed", 0, 2**32 - 1), "default": 0},
        budget={"type": number("--budget", 0.0, 3600.0), "default": BUDGET_S},
    )


def check_measuring_options(options: argparse.Namespace, sources: Sequence[str] = (), what: str = "") -> None:
    """Refuse a device that is not there, and files that cannot be written or would replace one of `sources`.

    `sources` are files that are read, or words that are not files; `what` says in the error what they are.
    With the device auto, what cannot run is a result with its reason.
    """
    if options.device != AUTO:
        device_named(options.device)
    for path in (options.out, options.csv):
        if path:
            check_place(path)
            for source in sources:
                check_other_file(path, source, "Give the results another name.", what=what)
    if options.out and options.csv and os.path.realpath(options.csv) == os.path.realpath(options.out):
        raise BadValue("--out and --csv", "they name the same file", "Give each a name of its own.")


def measure_cells(
    command: str,
    options: argparse.Namespace,
    cells: int,
    measure: Measure,
    name: Callable[[Any], str],
    variants: Sequence[AnyVariant[Any, Any]],
    *,
    baseline: str,
    asked: dict[str, Any],
    without: Sequence[str] = ("border",),
    conclude: Callable[[Sequence[Any]], tuple[dict[str, Any], str]] | None = None,
) -> int:
    """Measure every cell, print and write the results; return the exit status.

    `measure` takes a function to call after each cell, and returns the results and the fault if a device was
    lost: it is raised again when all that was measured is written. Where nothing could be measured, the
    missing device of one of the `variants` is an error, else the first reason. `name` is what the progress
    calls per run, `baseline` the key of the variant that speed-ups are against; `asked` goes into the JSON
    document, and `without` has the keys of columns that the printed table leaves out. `conclude` makes of the
    results what is added to the document, and to the table as text.
    """
    done = 0

    def on_result(result: Run) -> None:
        nonlocal done
        done += 1
        word = result.proof if result.kernel_ms is None else metric(KERNEL).words(Compared(result))
        log(f"[{done}/{cells}] {name(result)}: {word}")

    files = [path for path in (options.out, options.csv) if path]
    with report_interrupt(files, lambda: f"{done} of {cells} cells done"):
        results, fault = measure(on_result)
        runs = compared(results, baseline)
        machine = machine_document(devices(), versions(), commit())
        added, conclusion = conclude(results) if conclude else ({}, "")
        document = results_document(runs, baseline, machine, **asked, **added)
        errors = _write(options.out, lambda: json_text(document))
        errors += _write(options.csv, lambda: results_csv(runs, baseline))
        if options.json:
            print_json(document)
        else:
            print_answer("\n\n".join(filter(None, (results_table(runs, baseline, without), conclusion))))
    for error in errors:
        log(str(error))
    if fault is not None:
        raise fault
    if any(result.verification and not result.verification.passed for result in results):
        return NOT_VERIFIED
    if not any(result.is_proven for result in results):
        for variant in variants:
            device_for(variant, options.device)
        reason = f"nothing could be measured: {results[0].status}"
        raise BadValue(command, reason, "The results hold every reason.")
    return BAD_INPUT if errors else DONE


def _write(path: str | None, text: Callable[[], str]) -> list[FileWriteError]:
    """Write a file, if any, and return why it cannot be written: a full disk must not lose the rest."""
    try:
        if path:
            atomic_write(path, text().encode())
    except FileWriteError as error:
        return [error]
    return []


def results_table(runs: Sequence[Compared], baseline: str, without: Sequence[str] = ("border",)) -> str:
    """Return runs of one task as a table, with every reason why there is no proof once below it.

    `baseline` is the key of a variant, `without` has the keys of columns that are left out.
    """
    columns = [
        column
        for column in columns_of(runs[0].result.task)
        if column.key not in without and (column.shown or column.key in (*_FIRST, *_LAST))
    ]
    columns.sort(key=lambda column: _order(column.key))
    reasons = list(dict.fromkeys(run.result.status for run in runs if not run.result.is_proven))
    rows = []
    for run in runs:
        note = "" if run.result.is_proven else f" ({reasons.index(run.result.status) + 1})"
        texts = {column.key: column.text(run) for column in columns} | {"proof": run.result.proof + note}
        rows.append(["-" if text == MISSING else text for text in texts.values()])
    right = [number for number, column in enumerate(columns) if column.is_number]
    lines = [table([_header(column, baseline) for column in columns], rows, right)]
    return "\n".join(lines + [f"({number}) {reason}" for number, reason in enumerate(reasons, start=1)])


def _order(key: str) -> int:
    if key in _FIRST:
        return _FIRST.index(key) - len(_FIRST)
    return _LAST.index(key) + 1 if key in _LAST else 0


def _header(column: Column, baseline: str) -> str:
    if column.key == "speed_up":
        return f"speed-up vs {baseline}"
    if isinstance(column, Fact):
        return column.header.lower().replace(", px", "")
    title, unit = column.title, column.unit
    return title if unit in title else f"{title} {unit}"
