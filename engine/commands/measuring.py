"""What `bench` and `matmul` have in common: progress, the answer with its files, the exit status."""

import argparse
from collections.abc import Callable, Sequence
from typing import Any

from engine.commands import BAD_INPUT, DONE, NOT_VERIFIED
from engine.commands.interrupt import report_interrupt
from engine.commands.output import say, say_json, tell
from engine.commands.results_table import results_table
from engine.commands.written import write_each
from engine.device.devices import devices
from engine.device.versions import commit, versions
from engine.errors import BadValue, DeviceFault, FileWriteError
from engine.results.columns import KERNEL
from engine.results.compare import Compared, compared
from engine.results.export import machine_document, results_csv, results_document
from engine.results.measurement import Measurement
from engine.results.metrics import metric
from engine.results.strict_json import json_text

Run = Measurement[Any]
Measure = Callable[[Callable[[Run], None]], tuple[Sequence[Run], DeviceFault | None]]


def measure_cells(
    command: str,
    options: argparse.Namespace,
    cells: int,
    measure: Measure,
    name: Callable[[Any], str],
    look_for_devices: Callable[[], None],
    *,
    baseline: str,
    asked: dict[str, Any],
    without: Sequence[str] = ("border",),
) -> int:
    """Measure every cell, print and write the results; return the exit status.

    Parameters
    ----------
    command : str
    options : Namespace
        With `out`, `csv` and `json`.
    cells : int
        How many there are.
    measure : callable
        Called with what to call after each cell; returns the results, and the fault if a device was lost on
        the way.
    name : callable of Measurement
        What the progress calls a run.
    look_for_devices : callable
        Raises where a device that is needed is not there.
    baseline : str
        Key of the variant that speed-ups are against.
    asked : dict
        What was asked for, for the JSON document.
    without : sequence of str
        Columns that the printed table leaves out.

    Raises
    ------
    DeviceFault
        A device was lost; what was measured is written.
    EngineError
        Nothing could be measured: for want of a device where that is so, else with the first reason.
    """
    done = 0

    def on_result(result: Run) -> None:
        nonlocal done
        done += 1
        word = result.proof if result.kernel_ms is None else metric(KERNEL).words(Compared(result))
        tell(f"[{done}/{cells}] {name(result)}: {word}")

    files = [path for path in (options.out, options.csv) if path]
    with report_interrupt(files, lambda: f"{done} of {cells} cells done"):
        results, fault = measure(on_result)
        not_written = _answer(options, results, baseline, asked, without)
    for error in not_written:
        tell(str(error))
    if fault is not None:
        raise fault
    if any(result.verification and not result.verification.passed for result in results):
        return NOT_VERIFIED
    if not any(result.is_proven for result in results):
        look_for_devices()
        reason = f"nothing could be measured: {results[0].status}"
        raise BadValue(command, reason, "The results hold every reason.")
    return BAD_INPUT if not_written else DONE


def _answer(
    options: argparse.Namespace,
    results: Sequence[Run],
    baseline: str,
    asked: dict[str, Any],
    without: Sequence[str],
) -> list[FileWriteError]:
    """Write and print the results; return why files cannot be written."""
    runs = compared(results, baseline)
    machine = machine_document(devices(), versions(), commit())
    document = results_document(runs, baseline, machine, **asked)
    texts = {options.out: lambda: json_text(document)} if options.out else {}
    if options.csv:
        texts[options.csv] = lambda: results_csv(runs, baseline)
    not_written = write_each(texts)
    if options.json:
        say_json(document)
    else:
        say(results_table(runs, baseline, without))
    return not_written
