"""Says whether we fell behind our peers: measures a few ratios anew and compares them with the last run.

python -m bench.check --device gpu|cpu [--threads N] [--peer-python PYTHON]

Checked are kernels, as `bench.peers` measures them, whole processes, as `bench.whole` does, and on the CPU
calls, as `bench.calls` does. Only ratios within one run are compared, never times of another day. A ratio
that is more than a tenth below the recorded one of the same device is measured once more, alone; if it stays
there the exit status is 1. It is 2 where nothing can be compared: no run of this device is recorded, or none
of its peers is here.
"""

import argparse
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from bench.calls import __main__ as calls
from bench.options import parser_of
from bench.peers.cells import Cell
from bench.peers.grid import check_cells
from bench.peers.machine import describe
from bench.peers.measure import Plan, add_arguments, opened
from bench.peers.summary import (
    COPY,
    HISTORY,
    OURS_AUTO,
    Fall,
    Ratios,
    compared,
    falls,
    last_of,
    peers_of,
    ratios_of,
)
from bench.whole import session as whole
from bench.whole.tables import ratios_of as whole_ratios

PLAN = Plan(rounds=11, budget_s=0.5, cap_s=1.0)


Measure = Callable[[list[Cell], set[str]], dict[str, dict[str, Any]]]
"""Returns the entries of these cells and contenders: `Measurement.cells`, or a test's."""


@dataclass(frozen=True)
class Outcome:
    """What the check found."""

    falls: list[Fall]  # That were there in both measurements
    forgiven: list[Fall]  # That were gone the second time: noise
    broken: list[str]  # Cells where `auto` has no time any more, and why
    compared: int
    measured: Ratios  # Ratios, the better one where one was measured twice


def checked(recorded: Ratios, cells: tuple[Cell, ...], measure: Measure) -> Outcome:
    """Compare recorded ratios with new ones."""
    cells = tuple(cell for cell in cells if cell.key in recorded)
    methods = {OURS_AUTO, COPY, *(peer for cell in cells for peer in recorded[cell.key])}
    found = measure(list(cells), methods)
    broken = [
        f"{key}: {entry['contenders'].get(OURS_AUTO, {}).get('reason') or 'it does not take part'}"
        for key, entry in found.items()
        if peers_of(entry) and "median_ms" not in entry["contenders"].get(OURS_AUTO, {})
    ]

    def anew(again: set[str]) -> Ratios:
        return ratios_of(measure([cell for cell in cells if cell.key in again], methods))

    return _outcome(recorded, ratios_of(found), anew, broken)


def checked_whole(recorded: Ratios, measure: Callable[[set[str]], Ratios]) -> Outcome:
    """Compare recorded ratios of whole processes or calls with new ones, which `measure` returns for some."""
    return _outcome(recorded, measure(set(recorded)), measure, [])


def _outcome(
    recorded: Ratios, measured: Ratios, anew: Callable[[set[str]], Ratios], broken: list[str]
) -> Outcome:
    """Return the outcome, after what fell is measured `anew`, once."""
    first = falls(recorded, measured)
    again = {fall.cell for fall in first}
    second = anew(again) if again else {}
    best = {
        key: {peer: max(ratio, second.get(key, {}).get(peer, ratio)) for peer, ratio in peers.items()}
        for key, peers in measured.items()
    }
    still = falls(recorded, best)
    gone = [fall for fall in first if (fall.cell, fall.peer) not in {(one.cell, one.peer) for one in still}]
    return Outcome(still, gone, broken, compared(recorded, best), best)


def report(outcome: Outcome, recorded: Ratios) -> list[str]:
    """Return a table of everything that was compared."""
    fallen = {(fall.cell, fall.peer) for fall in outcome.falls}
    noise = {(fall.cell, fall.peer) for fall in outcome.forgiven}
    lines = [f"{'cell':56} {'peer':26} {'recorded':>8} {'now':>8}"]
    for cell, peers in outcome.measured.items():
        for peer, now in peers.items():
            before = recorded.get(cell, {}).get(peer)
            if before is None:
                continue
            said = "better when repeated" if (cell, peer) in noise else ""
            said = "fell by more than a tenth" if (cell, peer) in fallen else said
            lines.append(f"{cell:56} {peer:26} {before:8.2f} {now:8.2f}  {said}".rstrip())
    return lines + [f"`auto` has no time: {text}" for text in outcome.broken]


def main() -> int:
    parser = parser_of(__doc__)
    add_arguments(parser)
    arguments = parser.parse_args()
    found = [_kernels(arguments), _processes(arguments), _calls(arguments)]
    compared_ratios = 0
    for outcome, recorded, line in (one for one in found if one is not None):
        print(f"\nBeside the run of {line['date']}, {line['commit'] or 'unknown'}, on {line['device']}:")
        print("\n".join(report(outcome, recorded)))
        compared_ratios += outcome.compared
    outcomes = [one[0] for one in found if one is not None]
    if any(outcome.falls or outcome.broken for outcome in outcomes):
        return 1
    if compared_ratios == 0:
        print("Nothing could be compared: no recorded peer has a time here.")
        return 2
    print(f"{compared_ratios} ratios, none fell by more than a tenth.")
    return 0


_Checked = tuple[Outcome, Ratios, dict[str, Any]]


def _kernels(arguments: argparse.Namespace) -> _Checked | None:
    """Check what `bench.peers` measures; None where no run is recorded."""
    with opened(arguments, PLAN) as measurement:
        machine = describe(arguments.device, arguments.threads, measurement.facts)
        return _against(
            _recorded(machine, HISTORY, "bench.peers"),
            lambda ratios: checked(ratios, check_cells(arguments.device), measurement.cells),
        )


def _processes(arguments: argparse.Namespace) -> _Checked | None:
    """Check what `bench.whole` measures; None where no run is recorded."""
    device = "cpu" if arguments.device == "cpu" else "auto"
    settings = whole.Settings(device=device, peer_python=arguments.peer_python)
    return _against(
        _recorded(whole.about(device)["machine"], whole.HISTORY, "bench.whole"),
        lambda ratios: checked_whole(ratios, lambda rows: whole_ratios(whole.measured(settings, rows))),
    )


def _calls(arguments: argparse.Namespace) -> _Checked | None:
    """Check what `bench.calls` measures on the CPU; None on a GPU, and where no run is recorded."""
    if arguments.device != "cpu" or find_spec("cv2") is None:
        return None
    return _against(
        _recorded(whole.about("cpu")["machine"], calls.HISTORY, "bench.calls --quick"),
        lambda ratios: checked_whole(ratios, calls.quick_ratios),
    )


def _against(line: dict[str, Any] | None, check: Callable[[Ratios], Outcome]) -> _Checked | None:
    return line and (check(line["ratios"]), line["ratios"], line)


def _recorded(machine: dict[str, Any], history: Path, command: str) -> dict[str, Any] | None:
    line = last_of(machine["device"], machine["threads"], history)
    if line is None:
        print(f"No run is recorded on {machine['device']}: python -m {command} --history records one.")
    return line


if __name__ == "__main__":
    sys.exit(main())
