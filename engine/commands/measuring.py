"""What `bench`, `matmul` and `network` share: options, progress, the table, the files, the exit status."""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from engine.commands import BAD_INPUT, DONE, status_of
from engine.commands.arguments import number, option, whole
from engine.commands.output import log, print_one, report_interrupt, table
from engine.device.device_list import commit, versions
from engine.device.devices import device_named, devices
from engine.device_info import AUTO
from engine.errors import BadValue, FileWriteError
from engine.files.atomic_write import atomic_write, check_other_file, check_place
from engine.results import columns
from engine.results.columns import KERNEL, Column, Fact
from engine.results.measurement import AnyResult
from engine.results.metrics import Compared, compared, metric
from engine.results.text_forms import MISSING, json_text
from engine.run.measure import Measure, measured_result, sweep
from engine.run.task import AnyJob, device_for
from engine.run.variant import AnyVariant

BUDGET_S = 0.5
_LAST = ("baseline_run", "proof")


@dataclass(frozen=True, kw_only=True)
class Measuring:
    """Where and how long to measure, and the files for the results."""

    out: str | None = option("--out FILE  file for the results, with every sample", None)
    csv: str | None = option("--csv FILE  file for a table for spreadsheets", None)
    device: str = option("--device KEY  for the CUDA variants (`devices` lists them; default auto)", AUTO)
    seed: int = option("--seed N  of {seed_of} (default 0)", 0, whole("--seed", 0, 2**32 - 1))
    budget: float = option(
        f"--budget SECONDS  for the samples of each cell (default {BUDGET_S})",
        BUDGET_S,
        number("--budget", 0.0, 3600.0),
    )

    @property
    def document(self) -> dict[str, object]:
        """These, but for the files, for JSON."""
        return {"device": self.device, "seed": self.seed, "budget_s": self.budget}

    @property
    def files(self) -> list[str]:
        """The files that are written."""
        return [path for path in (self.out, self.csv) if path]

    def check(self, sources: Sequence[str] = (), what: str = "") -> None:
        """Refuse a device that is not there, and files that cannot be written or would replace a source.

        `sources` are files that are read, or words that are not files; `what` says in the error what they
        are. With the device auto, what cannot run is a result with its reason.
        """
        if self.device != AUTO:
            device_named(self.device)
        for path in self.files:
            check_place(path)
            for source in sources:
                check_other_file(path, source, "Give the results another name.", what=what)
        if len({*map(os.path.realpath, self.files)}) < len(self.files):
            raise BadValue("--out and --csv", "they name the same file", "Give each a name of its own.")


@dataclass(frozen=True, kw_only=True)
class Cells:
    """What a command measures.

    Where nothing could be measured, the missing device of one of the `variants` is an error, else the first
    reason. `conclude` makes of the results what is added to the document, and to the table as text.
    """

    command: str
    variants: Sequence[AnyVariant]
    count: int
    jobs: Iterable[AnyJob]
    name: Callable[[Any], str]  # what the progress calls a run
    baseline: str  # key of the variant that speed-ups are against
    requested: Mapping[str, object]  # goes into the document
    without: Sequence[str] = ("border",)  # keys of columns that the printed table leaves out
    measure: Measure = measured_result  # measures one of the jobs
    conclude: Callable[[Sequence[Any]], tuple[Mapping[str, object], str]] | None = None
    # Recorded runs for the problems of the results: they stand below these.
    recorded: Callable[[Sequence[Any]], Sequence[AnyResult]] = lambda results: ()


def measure_cells(cells: Cells, how: Measuring, *, json: bool) -> int:
    """Measure, print and write every cell; return the exit status. A device's loss is raised after that."""
    done = 0

    def on_result(result: AnyResult) -> None:
        nonlocal done
        done += 1
        word = result.proof if result.kernel_ms is None else metric(KERNEL).words(Compared(result))
        log(f"[{done}/{cells.count}] {cells.name(result)}: {word}")

    with report_interrupt(how.files, lambda: f"{done} of {cells.count} cells done"):
        results, fault = sweep(cells.jobs, how.device, how.budget, on_result, cells.measure)
        runs = compared([*results, *cells.recorded(results)], cells.baseline)
        machine = columns.machine_document(devices(), versions(), commit())
        added, conclusion = cells.conclude(results) if cells.conclude else ({}, "")
        document = columns.results_document(runs, cells.baseline, machine, **cells.requested, **added)
        errors: list[FileWriteError] = []
        csv = partial(columns.results_csv, runs, cells.baseline)
        for path, text in {how.out: partial(json_text, document), how.csv: csv}.items():
            try:
                if path:
                    atomic_write(path, text().encode())
            except FileWriteError as error:
                # A full disk must not lose the rest.
                errors.append(error)
        parts = results_table(runs, cells.baseline, cells.without), conclusion
        print_one(json, document, "\n\n".join(filter(None, parts)))
    for unwritten in errors:
        log(str(unwritten))
    if fault is not None:
        raise fault
    if status := status_of(result.verification for result in results):
        return status
    if not any(result.is_proven for result in results):
        for variant in cells.variants:
            device_for(variant, how.device)
        reason = f"nothing could be measured: {results[0].status}"
        raise BadValue(cells.command, reason, "The results hold every reason.")
    return BAD_INPUT if errors else DONE


def results_table(runs: Sequence[Compared], baseline: str, without: Sequence[str] = ("border",)) -> str:
    """Return runs of one task as a table, with every reason why there is no proof once below it.

    `baseline` is the key of a variant, `without` has the keys of columns that are left out.
    """
    always = {"run", "step_times", *_LAST}
    shown = [
        column
        for column in columns.columns_of(runs[0].result.problem)
        if column.key not in without and (column.shown or column.key in always)
    ]
    # The run, what it computed, how; then its numbers and its proof.
    order = {"run": 0} | dict.fromkeys(_LAST, 4)
    facts = {column.key: 1 if column.of_problem else 2 for column in shown if isinstance(column, Fact)}
    shown.sort(key=lambda column: order.get(column.key, facts.get(column.key, 3)))
    reasons = list(dict.fromkeys(run.result.status for run in runs if not run.result.is_proven))
    rows = []
    for run in runs:
        note = "" if run.result.is_proven else f" ({reasons.index(run.result.status) + 1})"
        texts = {column.key: column.text(run) for column in shown} | {"proof": run.result.proof + note}
        rows.append(["-" if text == MISSING else text for text in texts.values()])
    right = [number for number, column in enumerate(shown) if column.is_number]
    lines = [table([_header(column, baseline) for column in shown], rows, right)]
    return "\n".join(lines + [f"({number}) {reason}" for number, reason in enumerate(reasons, start=1)])


def _header(column: Column, baseline: str) -> str:
    if column.key == "speed_up":
        return f"speed-up vs {baseline}"
    if isinstance(column, Fact):
        return column.header.lower().replace(", px", "")
    title, unit = column.title, column.unit
    return title if unit in title else f"{title} {unit}"
