"""The best measured block of a kernel: found among results, and kept as results from one start to the next.

`bench --best` adds the fastest run of each kernel to a results file in the settings folder; the window reads
it. One that is damaged, or that another program or version wrote, is ignored with a note.
"""

import math
import os
from collections.abc import Hashable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import platformdirs

from engine.errors import EngineError, FileReadError
from engine.files.atomic_write import atomic_write, write_errors
from engine.files.reading import Json, read_json
from engine.geometry.block import Block, Limits
from engine.geometry.block_rules import why_illegal
from engine.geometry.border import Border
from engine.results.compare import comparable
from engine.results.export import FORMAT, UNITS, VERSION
from engine.results.quantities import ms_text, ratio_text
from engine.results.text_forms import json_text
from engine.work.filtering.problem import Problem
from engine.work.filtering.results import RunResult

LARGEST_BYTES = 1 << 22
# The oldest are evicted.
_MOST_RUNS = 500


@dataclass(frozen=True, slots=True)
class BestBlock:
    """The block with the least median kernel time of a kernel on a problem, and that time."""

    device: str  # name
    variant: str  # key
    problem: Problem
    layout: str  # "pitched" or "packed"
    block: Block
    kernel_ms: float  # median

    def words(self, problem: Problem | None = None) -> str:
        """Return block and time: 32 × 4 (0.12 ms); with the picture's size if it is not that of `problem`."""
        mine = self.problem
        is_same = problem is None or (problem.width, problem.height) == (mine.width, mine.height)
        size = "" if is_same else f" at {mine.width} × {mine.height}"
        return f"{self.block} ({ms_text(self.kernel_ms)}{size})"

    @property
    def what(self) -> Hashable:
        """What it is the best block of."""
        return self.device, self.variant, self.problem, self.layout

    @classmethod
    def of(cls, result: RunResult) -> "BestBlock":
        """Return that of a run that has a block and a speed."""
        assert result.block is not None
        assert result.kernel_ms is not None
        device = result.environment.device
        return cls(device, result.variant, result.problem, result.layout, result.block, result.kernel_ms)


def same_kernel(result: RunResult) -> Hashable:
    """Return what runs share that differ in nothing but their blocks."""
    return comparable(result), result.variant, result.layout, result.environment.device


def fastest_blocks(results: Iterable[RunResult]) -> list[RunResult]:
    """Return the fastest run of each kernel, problem and layout of which several blocks have a speed."""
    groups: dict[Hashable, dict[Block, RunResult]] = {}
    for result in results:
        if result.block is not None and result.kernel_ms:
            group = groups.setdefault(same_kernel(result), {})
            before = group.get(result.block)
            if before is None or result.kernel_ms < (before.kernel_ms or math.inf):
                group[result.block] = result
    several = (group.values() for group in groups.values() if len(group) > 1)
    return [min(runs, key=lambda run: run.kernel_ms or math.inf) for runs in several]


def best_blocks_path() -> Path:
    """Return where they are kept on this system: beside the preferences of the window."""
    return Path(platformdirs.user_config_dir("haloscope", appauthor=False)) / "best-runs.json"


def load_best_blocks(path: Path) -> tuple[tuple[BestBlock, ...], str]:
    """Return what is kept in a file, oldest first, and a note for people where it cannot be used."""
    runs, note = _read(path)
    return tuple(best for best, _ in runs), note


def keep_best_blocks(path: Path, found: Sequence[RunResult]) -> str:
    """Add the best blocks of some runs to a file, and return the note of `load_best_blocks`.

    A newer run replaces that of the same device, kernel, problem and layout.

    Raises
    ------
    FileWriteError
        The file cannot be written there.
    """
    kept, note = _read(path)
    if note:
        with suppress(OSError):
            os.replace(path, path.with_name(f"{path.name}.bak"))
    replaced = {BestBlock.of(result).what for result in found}
    runs = [run for best, run in kept if best.what not in replaced]
    runs += [_without_samples(result) for result in found]
    document = {"format": FORMAT, "version": VERSION, "units": UNITS, "results": runs[-_MOST_RUNS:]}
    with write_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
    atomic_write(path, json_text(document).encode())
    return note


def best_block_for(
    known: Iterable[BestBlock], device: str, variant: str, problem: Problem, layout: str
) -> BestBlock | None:
    """Return the best measured block for a kernel on a device; None where none is alike.

    Mask shape, types, channels and layout have to be the same. The nearest size of picture counts; among
    equals the same border before another one, then the newest.
    """

    def kind(problem: Problem) -> Hashable:
        return problem.channels, problem.dtype, problem.result_dtype, problem.mask_shape

    def distance(one: BestBlock) -> tuple[float, bool]:
        sides = (one.problem.width, problem.width), (one.problem.height, problem.height)
        return sum(abs(math.log(a / b)) for a, b in sides), one.problem.border != problem.border

    wanted = device, variant, layout, kind(problem)
    alike = [one for one in known if (one.device, one.variant, one.layout, kind(one.problem)) == wanted]
    # `min` takes the first of equals, and the newest is the last.
    return min(reversed(alike), key=distance, default=None)


def found_words(result: RunResult, results: Iterable[RunResult], default: Block) -> str:
    """Return the best block of a kernel in words, and its gain over the default block if that has a time."""
    assert result.kernel_ms is not None
    words = f"{result.block} ({ms_text(result.kernel_ms)})"
    if result.block == default:
        return f"{words}, which is its default"
    same = (one for one in results if one.block == default and same_kernel(one) == same_kernel(result))
    times = [one.kernel_ms for one in same if one.kernel_ms]
    gain = f", {ratio_text(min(times) / result.kernel_ms)} as fast as its default {default}" if times else ""
    return words + gain


def _without_samples(result: RunResult) -> dict[str, object]:
    """Return a run as results files have it; of its times only the statistics of the kernel's."""
    assert result.timing is not None
    return result.as_json() | {"timing": {"kernel": result.timing.kernel.statistics}}


def _read(path: Path) -> tuple[list[tuple[BestBlock, dict[str, object]]], str]:
    """Return the best blocks in a file with their runs, and the note of `load_best_blocks`."""
    why = f"it is not of the format {FORMAT}, version {VERSION}, or damaged"
    try:
        if not os.path.isfile(path):
            return [], ""
        document = read_json(path, LARGEST_BYTES)
        if (document.get("format"), document.get("version")) == (FORMAT, VERSION):
            return [(_best_block(run), run) for run in document["results"]], ""
    except FileReadError as error:
        why = error.why
    except (EngineError, LookupError, TypeError, AttributeError, ValueError, ArithmeticError):
        pass
    remedy = "It is ignored. Run `bench --best` again: the old file is then kept with .bak at its end."
    return [], f"The best measured blocks in {path} cannot be used: {why}. {remedy}"


def _best_block(run: Json) -> BestBlock:
    """Return the best block that a run in a file has; what is damaged raises one of many errors."""
    described = {**run["problem"], "border": Border.named(run["problem"]["border"])}
    described |= {name: tuple(described[name]) for name in ("mask_shape", "anchor")}
    block, kernel_ms = Block(**run["block"]), float(run["timing"]["kernel"]["median_ms"])
    if why_illegal(block, Limits()) or not 0 < kernel_ms < math.inf:
        raise ValueError("no block or no time")
    device, variant, layout = (
        str(text) for text in (run["environment"]["device"], run["variant"], run["layout"])
    )
    return BestBlock(device, variant, Problem(**described), layout, block, kernel_ms)
