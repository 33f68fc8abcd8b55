"""The best measured block of a kernel, found among results and kept per device from one start to the next.

The file lies in the person's settings folder: `bench --best` writes it, the window reads it. One that is
damaged, or that another program or version wrote, is ignored with a note.
"""

import math
import os
from collections.abc import Hashable, Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import platformdirs

from engine.errors import MaskError
from engine.files.atomic_write import atomic_write, write_errors
from engine.geometry.block import Block, Limits
from engine.mask.json_form import read_object
from engine.results.compare import comparable
from engine.results.quantities import ms_text, ratio_text
from engine.results.strict_json import json_text
from engine.tasks.filtering.problem import Problem
from engine.tasks.filtering.results import RunResult

FORMAT = "haloscope-best-blocks"
VERSION = 1
LARGEST_BYTES = 1 << 20
# Per device; the oldest are evicted.
_MOST_ENTRIES = 500
_LONGEST_TEXT = 200
_LONGEST_MS = 1e9


@dataclass(frozen=True, slots=True)
class BestBlock:
    """The block with the least median kernel time of a kernel on a problem, and that time."""

    variant: str  # key
    width: int  # of the picture, pixels
    height: int
    channels: int
    dtype: str
    result_dtype: str
    mask_rows: int
    mask_columns: int
    border: str
    layout: str  # "pitched" or "packed"
    block: Block
    kernel_ms: float  # median

    def words(self, problem: Problem | None = None) -> str:
        """Return block and time: 32 x 4 (0.12 ms); with the picture's size if it is not that of `problem`."""
        is_same = problem is None or (problem.width, problem.height) == (self.width, self.height)
        size = "" if is_same else f" at {self.width} × {self.height}"
        return f"{self.block} ({ms_text(self.kernel_ms)}{size})"

    @property
    def what(self) -> Hashable:
        """What it is the best block of."""
        return tuple(getattr(self, field.name) for field in fields(self)[:-2])

    @classmethod
    def of(cls, result: RunResult) -> "BestBlock":
        """Return the entry of a run that has a block and a speed."""
        problem = result.problem
        assert result.block is not None
        assert result.kernel_ms is not None
        return cls(
            variant=result.variant,
            width=problem.width,
            height=problem.height,
            channels=problem.channels,
            dtype=problem.dtype,
            result_dtype=problem.result_dtype,
            mask_rows=problem.mask_shape[0],
            mask_columns=problem.mask_shape[1],
            border=str(problem.border),
            layout=result.layout,
            block=result.block,
            kernel_ms=result.kernel_ms,
        )


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


Known = dict[str, tuple[BestBlock, ...]]
"""The best blocks by the name of the device, oldest first."""


def best_blocks_path() -> Path:
    """Return where they are kept on this system: beside the preferences of the window."""
    return Path(platformdirs.user_config_dir("haloscope", appauthor=False)) / "best-blocks.json"


def load_best_blocks(path: Path) -> tuple[Known, str]:
    """Return what is kept in a file, and a note for people where it cannot be used; nothing is raised."""
    try:
        if not path.is_file():
            return {}, ""
        with path.open("rb") as file:
            data = file.read(LARGEST_BYTES + 1)
        if len(data) > LARGEST_BYTES:
            raise ValueError(f"it has more than {LARGEST_BYTES:,} bytes")
        return _known(read_object(data.decode())), ""
    except UnicodeDecodeError:
        why = "it is not text in UTF-8"
    except MaskError as error:  # the reader of mask files; what it says of JSON holds for every file
        why = error.why
    except (OSError, ValueError) as error:
        why = str(getattr(error, "strerror", "") or error)
    why = why[:1].lower() + why[1:]
    remedy = "It is ignored. Run `bench --best` again: the old file is then kept with .bak at its end."
    return {}, f"The best measured blocks in {path} cannot be used: {why}. {remedy}"


def keep_best_blocks(path: Path, found: Sequence[RunResult]) -> str:
    """Add the best blocks of some runs to a file, and return the note of `load_best_blocks`.

    A newer entry replaces that of the same kernel, problem and layout.

    Raises
    ------
    FileWriteError
        The file cannot be written there.
    """
    known, note = load_best_blocks(path)
    if note:
        with suppress(OSError):
            os.replace(path, path.with_name(f"{path.name}.bak"))
    for result in found:
        new = BestBlock.of(result)
        others = (one for one in known.get(result.environment.device, ()) if one.what != new.what)
        known[result.environment.device] = (*others, new)[-_MOST_ENTRIES:]
    devices = {device: [_as_json(one) for one in entries] for device, entries in known.items()}
    document = {"format": FORMAT, "version": VERSION, "devices": devices}
    with write_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
    atomic_write(path, json_text(document).encode())
    return note


def best_block_for(
    known: Iterable[BestBlock], variant: str, problem: Problem, layout: str
) -> BestBlock | None:
    """Return the best measured block for a kernel, of those of a device; None where none is alike.

    Mask shape, types, channels and layout have to be the same. The nearest size of picture
    counts; among equals the same border before another one, then the newest.
    """
    alike = [
        one
        for one in known
        if (one.variant, one.layout, one.channels) == (variant, layout, problem.channels)
        and (one.dtype, one.result_dtype) == (problem.dtype, problem.result_dtype)
        and (one.mask_rows, one.mask_columns) == problem.mask_shape
    ]

    def distance(one: BestBlock) -> tuple[float, bool]:
        sides = ((one.width, problem.width), (one.height, problem.height))
        return sum(abs(math.log(a / b)) for a, b in sides), one.border != str(problem.border)

    # `min` takes the first of equals, and the newest is the last.
    return min(reversed(alike), key=distance, default=None)


def found_words(result: RunResult, results: Iterable[RunResult], default: Block) -> str:
    """Return the best block of a kernel in words, and its gain over the default block if that has a time."""
    assert result.kernel_ms is not None
    words = f"{result.block} ({ms_text(result.kernel_ms)})"
    if result.block == default:
        return f"{words}, which is its default"
    own = (one for one in results if one.block == default and same_kernel(one) == same_kernel(result))
    times = [one.kernel_ms for one in own if one.kernel_ms]
    gain = f", {ratio_text(min(times) / result.kernel_ms)} as fast as its default {default}" if times else ""
    return words + gain


def _as_json(one: BestBlock) -> dict[str, Any]:
    return asdict(one) | {"block": [one.block.x, one.block.y]}


def _known(document: dict[str, Any]) -> Known:
    """Return what a document holds; a ValueError says what is wrong with it."""
    if document.get("format") != FORMAT:
        raise ValueError(f'its "format" is not "{FORMAT}"')
    if document.get("version") != VERSION:
        raise ValueError(f"its version is {document.get('version')!r}, and this program reads {VERSION}")
    devices = document.get("devices")
    if not isinstance(devices, dict) or not all(isinstance(entries, list) for entries in devices.values()):
        raise ValueError('its "devices" are not lists by name')
    return {name: tuple(map(_entry, entries)) for name, entries in devices.items()}


def _entry(data: Any) -> BestBlock:
    names = {field.name: field.type for field in fields(BestBlock)}
    if not isinstance(data, dict) or data.keys() != names.keys():
        raise ValueError("an entry in it has other keys than an entry has")
    for name, kind in names.items():
        value = data[name]
        if kind is str and not (isinstance(value, str) and len(value) <= _LONGEST_TEXT):
            raise ValueError(f'a "{name}" in it is not a short text')
        if kind is int and not (type(value) is int and value > 0):
            raise ValueError(f'a "{name}" in it is not a whole number above 0')
    limits, block, kernel_ms = Limits(), data["block"], data["kernel_ms"]
    if not (isinstance(block, list) and [type(side) for side in block] == [int, int] and min(block) > 0):
        raise ValueError('a "block" in it is not two whole numbers above 0')
    if block[0] * block[1] > limits.max_threads:
        raise ValueError(f'a "block" in it has more than {limits.max_threads:,} threads')
    if type(kernel_ms) not in (int, float) or not 0 < kernel_ms < _LONGEST_MS:
        raise ValueError('a "kernel_ms" in it is not a time')
    return BestBlock(**data | {"block": Block(*block), "kernel_ms": float(kernel_ms)})
