"""The proof on a real device, written into docs/proof.md: the GPU tests, and compute-sanitizer's four tools.

python -m bench.proof [--out docs/proof.md] [--skip-tests]      needs a CUDA device and compute-sanitizer on
the PATH
"""

import datetime
import os
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as Tree
from dataclasses import dataclass
from pathlib import Path

from bench.markers import put_between
from bench.options import parser_of
from engine.device.device_list import commit
from engine.device.device_list import versions as libraries
from engine.device.devices import backend
from engine.run.measure import environment_of

TOOLS = {
    "memcheck": "no access outside an array, none misaligned, nothing leaked by a fault",
    "racecheck": "no two threads of a block access one shared cell without a barrier between them",
    "initcheck": "no global memory is read before it is written",
    "synccheck": "every thread of a block reaches every barrier",
}
TESTS = {
    "tests/gpu": "every variant, every case",
    "tests/gpu, times": "the tests that measure time, with nothing beside them",
}


@dataclass(frozen=True)
class Outcome:
    """What one check gave."""

    name: str
    sentence: str
    passed: bool


def versions(tested: str) -> list[tuple[str, str]]:
    """Return device and versions of this machine; `tested` is the commit where this tree has no history."""
    environment = environment_of(backend("cuda:0").info)
    sanitizer = subprocess.check_output(["compute-sanitizer", "--version"], text=True)
    number = re.search(r"[Vv]ersion\s+(\S+)", sanitizer)
    return [
        ("device", environment.device),
        ("driver API", environment.driver),
        ("compute-sanitizer", number.group(1) if number else sanitizer.strip().splitlines()[-1]),
        *libraries().items(),
        ("commit", tested or commit() or "not known"),
        ("date", datetime.date.today().isoformat()),
    ]


def run_tests() -> list[Outcome]:
    """Run tests/gpu, where a skip is a failure: what measures time alone, everything else side by side."""
    together = ["-n", str(min(8, os.cpu_count() or 1))]
    return [_tests("tests/gpu", ["-m", "not alone", *together]), _tests("tests/gpu, times", ["-m", "alone"])]


def _tests(name: str, options: list[str]) -> Outcome:
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        command = [sys.executable, "-m", "pytest", "tests/gpu", "-q", f"--junitxml={report}", *options]
        done = subprocess.run(command, env=os.environ | {"HALOSCOPE_GPU": "1"}, check=False)
        suite = Tree.parse(report).getroot().find("testsuite")
    assert suite is not None
    counts = {name: int(suite.get(name, "0")) for name in ("tests", "failures", "errors", "skipped")}
    sentence = "{tests:,} tests, {failures} failures, {errors} errors, {skipped} skipped".format(**counts)
    bad = counts["failures"] + counts["errors"] + counts["skipped"]
    return Outcome(name, sentence, done.returncode == 0 and not bad)


def run_sanitizer(tool: str) -> tuple[Outcome, list[str]]:
    """Run every kernel once under a tool; return the outcome and what was launched."""
    command = ["compute-sanitizer", "--tool", tool, "--error-exitcode", "9", sys.executable]
    command += ["-m", "bench.representative"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    text = done.stdout + done.stderr
    summary = re.findall(r"(ERROR SUMMARY: .*|RACECHECK SUMMARY: .*)", text)
    launched = [line for line in done.stdout.splitlines() if "verified" in line and not line.startswith("=")]
    is_clean = bool(summary) and all(re.search(r"\b0 (errors|hazards)", line) for line in summary)
    passed = done.returncode == 0 and is_clean
    if not passed:
        print(text[-4000:], file=sys.stderr)
    sentence = f"{'; '.join(summary) or f'ended with {done.returncode}'} ({len(launched)} launches)"
    return Outcome(tool, sentence, passed), launched


def document(outcomes: list[Outcome], launched: list[str], facts: list[tuple[str, str]]) -> list[str]:
    """Return the Markdown between the markers, line by line."""
    rows = [(o.name, (TESTS | TOOLS)[o.name], o.sentence, "yes" if o.passed else "NO") for o in outcomes]
    return [
        "| check | what it shows | outcome | passed |",
        "|---|---|---|---|",
        *(f"| `{name}` | {' | '.join(cells)} |" for name, *cells in rows),
        "",
        "| | |",
        "|---|---|",
        *(f"| {name} | {value} |" for name, value in facts),
        "",
        "Launched under each tool, every result compared with the float64 oracle:",
        "",
        *(f"- {line}" for line in launched),
    ]


def main() -> int:
    """Run everything and write."""
    parser = parser_of(__doc__)
    parser.add_argument("--out", type=Path, default=Path("docs/proof.md"))
    parser.add_argument("--skip-tests", action="store_true", help="only compute-sanitizer")
    parser.add_argument("--commit", default="", help="what is tested, for a tree without its history")
    arguments = parser.parse_args()
    outcomes = [] if arguments.skip_tests else run_tests()
    launched: list[str] = []
    for tool in TOOLS:
        outcome, launched = run_sanitizer(tool)
        outcomes.append(outcome)
        print(f"{tool}: {outcome.sentence}", flush=True)
    text = Path("docs/proof.md").read_text(encoding="utf-8")
    arguments.out.write_text(text, encoding="utf-8")
    put_between(arguments.out, "proof", document(outcomes, launched, versions(arguments.commit)))
    return 0 if all(outcome.passed for outcome in outcomes) else 1


if __name__ == "__main__":
    sys.exit(main())
