"""The results of a page as a file: CSV or JSON, in the form that the command line writes too."""

from pathlib import Path

from engine.errors import EngineError
from engine.files.atomic_write import atomic_write
from engine.results.export import machine_document, results_csv, results_document
from engine.results.strict_json import json_text
from gui.engine_link.engine_state import EngineState
from gui.page.messages import Message, Messages, Severity
from gui.widgets.runs_model import RunsModel


def save_runs(path: Path, results: RunsModel, state: EngineState, messages: Messages) -> None:
    """Write all runs, not what was only counted: as JSON if the name ends in .json, else as CSV."""
    rows = results.tried()
    if path.suffix.lower() == ".json":
        # Failed runs know no versions; those of any other run are the engine's.
        known = [row.result.environment for row in rows if row.result.environment.versions]
        versions, commit = (known[-1].versions, known[-1].commit) if known else ({}, "")
        machine = machine_document(state.devices, versions, commit)
        text = json_text(results_document(rows, results.baseline, machine))
    else:
        text = results_csv(rows, results.baseline)
    try:
        atomic_write(path, text.encode())
    except EngineError as error:
        messages.show_error("results", error)
    else:
        count = f"{len(rows)} result{'s' if len(rows) != 1 else ''}"
        messages.show(Message("results", Severity.INFO, f"{count} saved as {path}"))
