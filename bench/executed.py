"""The least that the teaching kernels execute, by the bounds, beside what a device executed.

    python -m bench.executed        needs the CUDA compiler and nvdisasm, no GPU; two minutes

What the device executed is in `bench/results/ncu-h200.json` (`bench.ncu`). The ratios are kept beside it, for
docs/bounds.md.
"""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from bench.markers import DocumentTable
from bench.ncu import TEACHING, cells_of, job_of
from bench.options import parser_of
from engine.explain.architectures import DEFAULT
from engine.explain.bounds.gpu_bounds import executed_code
from engine.explain.bounds.issued import integers, issues, multiply_adds
from engine.explain.code.listing import Form
from engine.explain.counts.counting import counted_run

RESULTS = Path("bench/results")
_ALL, _ALU, _FMA = (f"sm__inst_executed{pipe}.sum" for pipe in ("", "_pipe_alu", "_pipe_fma"))


class Executed(NamedTuple):
    """The least of a launch over what was executed."""

    instructions: float
    integers: float  # those that need the lanes for whole numbers; 0 where PTX does not say
    multiply_adds: float  # those that need the lanes that multiply and add


def executed(
    key: str, form: Form, is_asked: Callable[[int], bool] = lambda number: True
) -> Iterator[Executed]:
    """Yield the ratios of each counted launch of a kernel, of the cells whose numbers are asked for."""
    kept = json.loads((RESULTS / "ncu-h200.json").read_text(encoding="utf-8"))
    rows = iter([row["ncu"] for row in kept["rows"] if row["variant"] == key])
    samples = np.broadcast_to(np.float32(0.0), (kept["side"], kept["side"], 1))
    for number, cell in enumerate(cells_of(key)):
        job = job_of(cell, samples)
        steps = job.variant.passes(job.problem, job.task.constant(job.operands), job.block)
        of_cell = [next(rows) for _ in steps]
        if not is_asked(number):
            continue
        for step, counted, row in zip(steps, counted_run(job).passes, of_cell, strict=True):
            code = executed_code(step, counted, DEFAULT, form)
            of_integers = integers(form, DEFAULT)
            yield Executed(
                code.least(issues(form)) / row[_ALL],
                code.least(of_integers) / row[_ALU] if of_integers else 0.0,
                code.least(multiply_adds(form)) / row[_FMA],
            )


def tables(kept: dict[str, Any]) -> list[DocumentTable]:
    """Return the ratios of each kernel: the least, the median, the highest."""
    rows = [
        "| kernel | launches | instructions by SASS | by PTX | integer instructions | multiply-adds |",
        "|---|---|---|---|---|---|",
    ]
    columns = ("sass", "ptx", "integers", "multiply_adds")
    by_key = {f"`{key}`": found for key, found in kept.items()}
    together = {name: [one for found in kept.values() for one in found[name]] for name in columns}
    for key, found in (by_key | {"all": together}).items():
        texts = (
            " / ".join(f"{one:.2f}" for one in (min(ratios), np.median(ratios), max(ratios)))
            for ratios in map(found.__getitem__, columns)
        )
        rows.append(f"| {key} | {len(found['sass'])} | {' | '.join(texts)} |")
    return [DocumentTable(Path("docs/bounds.md"), "bounds:executed", rows)]


def main() -> None:
    """Compare and keep."""
    parser_of(__doc__).parse_args()
    found = {}
    for key in TEACHING:
        sass, ptx = list(executed(key, Form.SASS)), list(executed(key, Form.PTX))
        ratios = {
            "sass": [one.instructions for one in sass],
            "ptx": [one.instructions for one in ptx],
            "integers": [one.integers for one in sass],
            "multiply_adds": [one.multiply_adds for one in sass],
        }
        found[key] = {name: [round(one, 4) for one in values] for name, values in ratios.items()}
        print(key, min(ratios["sass"]), max(ratios["sass"]), flush=True)
    lines = ",\n".join(f'"{key}": {json.dumps(ratios)}' for key, ratios in found.items())
    (RESULTS / "executed-h200.json").write_text(f"{{\n{lines}\n}}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
