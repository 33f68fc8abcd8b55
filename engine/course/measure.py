"""A paper's tables for this machine: measures what they need, verified first.

Called on: the main thread of the engine's process, or of a script.
"""

from collections.abc import Sequence
from dataclasses import replace

from engine.course.bench import Bench
from engine.course.messages import MeasuredPaper
from engine.course.paper import CourseTable
from engine.course.runs import JobRun, Measured, Quantity, Results, Run
from engine.course.tables import tables_module, tables_of, transactions_per_request
from engine.device.devices import device_named
from engine.errors import BadValue
from engine.results.progress import Checkpoint, Progress, go_on
from engine.run.sampling import SamplingPlan

MAX_SIDE = 16_384
BUDGET_S = 0.3
# A cell of the serial loops on a large picture takes seconds; three samples of it are enough.
PATIENCE_S = 5.0

# Allowance for preparing a cell: the random picture of 16,384 x 16,384 takes 1.3 s.
PREPARING_S = 3.0


def measured_paper(
    paper_key: str,
    device: str = "auto",
    *,
    sizes: Sequence[int] | None = None,
    budget_s: float = BUDGET_S,
    checkpoint: Checkpoint = go_on,
) -> MeasuredPaper:
    """Measure what a paper's tables need and return them with the results.

    Parameters
    ----------
    paper_key : str
    device : str
        For the CUDA variants: "auto" or the key of a device. Without one that works their cells say why.
    sizes : sequence of int, optional
        Sides of pictures and matrices instead of the paper's own.
    budget_s : float
        Time to spend on the samples of one cell, seconds.
    checkpoint : Checkpoint
        Called before each step of each run, with what is measured.

    Returns
    -------
    MeasuredPaper
        The tables in the paper's order. What failed, or failed its verification, is a reason in its cells.

    Raises
    ------
    UnknownName
        There is no such paper.
    DeviceUnavailable
        The device of that key is not there.
    BadValue
        The simulator, whose times are not speeds, or a size that is out of range.
    DeviceFault
        The process is lost for CUDA.
    """
    wanted = _checked_sizes(sizes)
    check_device(device)
    runs = tuple(dict.fromkeys(tables_module(paper_key).runs(wanted)))
    bench = Bench(device, SamplingPlan(budget_s=budget_s, fewest=3, fewest_copies=3, patience_s=PATIENCE_S))
    done = _measured(runs, bench, checkpoint)
    checkpoint(Progress("the tables", 1.0, PREPARING_S))

    def transactions(run: JobRun) -> Quantity:
        return transactions_per_request(
            run, lambda step: checkpoint(Progress("the tables", 1.0, step.expected_s))
        )

    results = Results(done, transactions)
    tables = tables_of(paper_key, results, wanted)
    tables = tables if wanted is None else _with_note(paper_key, tables, wanted)
    return MeasuredPaper(tables, tuple(bench.results))


def check_device(device: str) -> None:
    """Raise DeviceUnavailable for a device that is not there, BadValue for the simulator."""
    if device != "auto" and not device_named(device).times_mean_speed:
        why = "its times mean nothing, and the tables are about times"
        raise BadValue("The simulator", why, "Choose auto, cpu or cuda:0.")


def _checked_sizes(sizes: Sequence[int] | None) -> tuple[int, ...] | None:
    if sizes is None:
        return None
    bad = [f"size {size}" for size in sizes if not 1 <= size <= MAX_SIDE] if sizes else ["no size"]
    if bad:
        raise BadValue(bad[0], f"a side has 1 to {MAX_SIDE:,} pixels", "Choose sizes within these.")
    return tuple(dict.fromkeys(sizes))


def _measured(runs: tuple[Run, ...], bench: Bench, checkpoint: Checkpoint) -> dict[Run, Measured]:
    done: dict[Run, Measured] = {}
    for number, run in enumerate(runs):

        def within(step: Progress, run: Run = run, number: int = number) -> None:
            checkpoint(Progress(run.label, (number + step.fraction) / len(runs), step.expected_s))

        within(Progress("", 0.0, PREPARING_S))
        done[run] = bench.take(run, within)
    return done


def _with_note(
    paper_key: str, tables: tuple[CourseTable, ...], wanted: tuple[int, ...]
) -> tuple[CourseTable, ...]:
    """Note the sizes in each table that has other rows than with the paper's own sizes."""
    note = f"Measured for the sizes {', '.join(map(str, wanted))} only, not for the paper's own."
    nothing = Results({})
    in_full, restricted = tables_of(paper_key, nothing), tables_of(paper_key, nothing, wanted)
    return tuple(
        table if whole.rows == part.rows else replace(table, notes=(*table.notes, note))
        for table, whole, part in zip(tables, in_full, restricted, strict=True)
    )
