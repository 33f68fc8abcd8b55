"""The instructions that the teaching kernels execute, counted in PTX, beside what a device executed.

    python -m bench.executed        needs the CUDA compiler, no GPU; half a minute

What the device executed is in `bench/results/ncu-h200.json` (`bench.ncu`). The ratios are kept beside it, for
docs/bounds.md.
"""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from bench.markers import DocumentTable
from bench.ncu import TEACHING, cells_of, job_of
from bench.options import parser_of
from engine.explain.bounds import executed as executed_weights
from engine.explain.counting import counted_run
from engine.explain.instructions import issue_slots

RESULTS = Path("bench/results")
_ALL = "sm__inst_executed.sum"


def executed(key: str, is_chosen: Callable[[int], bool] = lambda number: True) -> Iterator[float]:
    """Yield for each launch of a kernel's chosen cells the counted issue slots over what was executed."""
    kept = json.loads((RESULTS / "ncu-h200.json").read_text(encoding="utf-8"))
    rows = iter([row["ncu"] for row in kept["rows"] if row["variant"] == key])
    samples = np.broadcast_to(np.float32(0.0), (kept["side"], kept["side"], 1))
    for number, cell in enumerate(cells_of(key)):
        job = job_of(cell, samples)
        steps = job.passes
        of_cell = [next(rows) for _ in steps]
        if is_chosen(number):
            for counted, row in zip(counted_run(job).passes, of_cell, strict=True):
                yield executed_weights(counted, issue_slots) / row[_ALL]


def tables(kept: dict[str, list[float]]) -> list[DocumentTable]:
    """Return the ratios of each kernel: the least, the median, the highest."""
    rows = ["| kernel | launches | least | median | most |", "|---|---|---|---|---|"]
    together = [one for found in kept.values() for one in found]
    for key, ratios in ({f"`{key}`": found for key, found in kept.items()} | {"all": together}).items():
        of_all = (min(ratios), np.median(ratios), max(ratios))
        rows.append(f"| {key} | {len(ratios)} | {' | '.join(f'{one:.2f}' for one in of_all)} |")
    return [DocumentTable(Path("docs/bounds.md"), "bounds:executed", rows)]


def main() -> None:
    """Compare and keep."""
    parser_of(__doc__).parse_args()
    found = {}
    for key in TEACHING:
        found[key] = [round(one, 4) for one in executed(key)]
        print(key, min(found[key]), max(found[key]), flush=True)
    lines = ",\n".join(f'"{key}": {json.dumps(ratios)}' for key, ratios in found.items())
    (RESULTS / "executed-h200.json").write_text(f"{{\n{lines}\n}}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
