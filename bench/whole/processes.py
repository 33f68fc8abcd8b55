"""Running whole processes alternately: time from start to exit, time of the processors, peak memory."""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, slots=True)
class Spent:
    """What one process took."""

    elapsed_s: float  # From before its start to after its exit
    cpu_s: float  # CPU time of all its threads: in total, and the system's part of it
    system_s: float
    peak_bytes: int | None  # Peak resident memory; None where the system does not say


class ProcessFailed(Exception):
    """A process ended with an error; the text is the end of what it said."""


def run_once(command: Sequence[str]) -> Spent:
    """Run a process; raise `ProcessFailed` where it cannot start or fails."""
    with tempfile.TemporaryFile() as said:
        begin = time.perf_counter()
        try:
            child = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=said, stderr=said)
        except OSError as error:
            raise ProcessFailed(str(error)) from error
        if sys.platform == "win32":
            child.wait()
            spent = Spent(time.perf_counter() - begin, 0.0, 0.0, None)
        else:
            # Popen.wait does not say what the process took.
            _, status, usage = os.wait4(child.pid, 0)
            elapsed_s = time.perf_counter() - begin
            child.returncode = os.waitstatus_to_exitcode(status)
            peak_bytes = usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024)
            cpu_s = usage.ru_utime + usage.ru_stime
            spent = Spent(elapsed_s, cpu_s, usage.ru_stime, _own_peak(peak_bytes))
        if child.returncode != 0:
            said.seek(0)
            lines = said.read().decode(errors="replace").strip().splitlines() or ["it said nothing"]
            raise ProcessFailed(f"{command[0]} ended with {child.returncode}: {lines[-1]}")
    return spent


def _own_peak(peak_bytes: int) -> int | None:
    """Return the peak of a child; None where it may be this process's, which the child begins with."""
    # Windows has none.
    import resource

    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    return peak_bytes if peak_bytes > own else None


def interleaved_runs(
    commands: Mapping[str, Callable[[], Sequence[str]]], rounds: int, *, counts_first: bool = False
) -> tuple[dict[str, list[Spent]], dict[str, str]]:
    """Run every command so many times, in rounds that begin with another one each time.

    Each of `commands` makes a command anew, with an empty folder for its results. A first run of each finds
    out whether it works; it is not counted, unless `counts_first`, because it brings files into the system's
    memory and code into caches. Returned is what the commands took that worked, and why the others did not.
    """
    spent: dict[str, list[Spent]] = {}
    failures: dict[str, str] = {}
    for key, make in commands.items():
        try:
            first_run = run_once(make())
        except ProcessFailed as failure:
            failures[key] = str(failure)
            print(f"  {key} does not take part: {failure}")
        else:
            spent[key] = [first_run] if counts_first else []
    keys = list(spent)
    for number in range(rounds - counts_first):
        first = number % max(1, len(keys))
        for key in keys[first:] + keys[:first]:
            spent[key].append(run_once(commands[key]()))
    return spent, failures
