"""The worked examples of the lecture on memories and performance, with values that can be changed.

Pure arithmetic that asks no device: what a GPU states of itself is given, or the reason why there is none.

Source: COSC 407, "CUDA Memories and Performance Revisited": slides "Enough Bandwidth?", "Problem!", "One Last
Thing..." and "Performance Improvement Guidelines".
"""

import itertools
import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from engine.course.paper import CourseTable
from engine.course.papers import TABLE_TEXTS, paper
from engine.course.runs import Quantity, Row, Value, course_table
from engine.errors import BadValue, EngineError
from engine.geometry.block import Block
from engine.gpu_attributes import GpuAttributes
from engine.results.launch_facts import WARP, occupancy

_MOST_IN_A_LIST = 12
_LONGEST = 40
_THOUSANDS = re.compile(r"[0-9]{1,3}(,[0-9]{3})+")
_MOST_THREADS = 1024

Values = Mapping[str, Any]
"""What was typed, read, by the keys of the inputs."""

PERFORMANCE = paper("performance")

LINE_BYTES, SEGMENT_BYTES = 128, 32
"""What one transaction moves: through L1, and through L2 alone."""

LECTURE, CHANGED, HERE = "G80 in the lecture", "with your values", "this device"
_TESLA = "Tesla in the lecture"
# What a GPU may not state, in words.
_STATED = {
    "memory_clock_mhz": "the clock of its memory",
    "bus_width_bits": "the width of its memory bus",
    "bandwidth_gb_s": "clock and width of its memory bus",
    "peak_gflops": "its clock",
    "host_bus_gb_s": "how fast its bus to the host is",
}

# The GPU here, or why there is none.
Gpu = GpuAttributes | str


@dataclass(frozen=True, slots=True)
class Input:
    """A value of an example that can be changed: `text` is the lecture's, as a person would type it.

    It is a `number` or a `whole` number within limits, or a block of threads. With an `example` it takes
    several, each once, with commas between them.
    """

    key: str
    label: str  # with its unit
    text: str
    explanation: str
    number: tuple[float, float] | None = None
    whole: tuple[int, int] | None = None
    example: str = ""

    def read(self, text: str) -> Any:
        """Return what was typed; raises BadValue, which says what is wrong with it."""
        if not self.example:
            return self._one(text)
        parts = [part.strip() for part in text.replace(";", ",").split(",") if part.strip()]
        if not 1 <= len(parts) <= _MOST_IN_A_LIST:
            why = f"these are {len(parts)} values" if parts else "nothing is there"
            raise _bad(text, f"{why}; it takes 1 to {_MOST_IN_A_LIST}, such as {self.example}")
        return tuple(dict.fromkeys(map(self._one, parts)))

    def _one(self, text: str) -> float | Block:
        limits = self.whole or self.number
        if limits is None:
            block = Block.parse(text)
            if not (1 <= block.x <= _MOST_THREADS and 1 <= block.y <= _MOST_THREADS):
                raise _bad(text, f"each side has 1 to {_MOST_THREADS:,} threads")
            return block
        value, (least, most) = _float(text), limits
        if not least <= value <= most or (self.whole and value != int(value)):
            kind = "a whole number " if self.whole else ""
            raise _bad(text, f"it is not {kind}from {least:,.15g} to {most:,.15g}")
        return int(value) if self.whole else value


def _float(text: str) -> float:
    words = text.strip()
    # Commas only where they part thousands: 1,85 would be read as 185.
    digits = words.replace(",", "") if _THOUSANDS.fullmatch(words) else words
    try:
        value = float(digits) if len(words) <= _LONGEST else math.nan
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise _bad(text, "it is not a number such as 16 or 1.85" if words else "nothing is there")
    return value


def _bad(text: str, why: str) -> BadValue:
    shown = text.strip()
    shown = shown if len(shown) <= _LONGEST else f"{shown[: _LONGEST - 1]}…"
    return BadValue(f"'{shown}'" if shown else "This value", why)


@dataclass(frozen=True, slots=True)
class Example:
    """A worked example: the table of that number, counted from 0, and what can be changed in it."""

    number: int
    inputs: tuple[Input, ...]
    rows: Callable[[Values, str, Gpu], Iterable[Row]]

    @property
    def texts(self) -> dict[str, str]:
        """The lecture's values by the keys of the inputs."""
        return {one.key: one.text for one in self.inputs}

    def refusals(self, texts: Mapping[str, str]) -> dict[str, str]:
        """Return why values are refused, by the keys of the inputs; empty if all are taken."""
        found = {}
        for one in self.inputs:
            try:
                one.read(texts[one.key])
            except EngineError as error:
                found[one.key] = str(error)
        return found

    def table(self, gpu: Gpu, texts: Mapping[str, str] | None = None) -> CourseTable:
        """Return the table.

        Parameters
        ----------
        gpu : GpuAttributes or str
            What the driver states of the GPU here, or the reason why its cells are empty.
        texts : mapping of str to str, optional
            Values as typed, by the keys of the inputs; by default the lecture's.

        Raises
        ------
        BadValue
            One of the values is none: `refusals` says which, and why.
        """
        texts = self.texts if texts is None else texts
        values = {one.key: one.read(texts[one.key]) for one in self.inputs}
        lecture = {one.key: one.read(one.text) for one in self.inputs}
        whose = LECTURE if values == lecture else CHANGED
        return course_table(PERFORMANCE, self.number, self.rows(values, whose, gpu))


def example_of(paper_key: str, title: str) -> Example | None:
    """Return the worked example behind a table of a paper; None where it is no such table."""
    if paper_key != PERFORMANCE.key or title not in PERFORMANCE.tables:
        return None
    number = PERFORMANCE.tables.index(title)
    return next((example for example in EXAMPLES if example.number == number), None)


def transactions(stride: int, element_bytes: int, first: int, transaction_bytes: int) -> int:
    """Return the transactions of a warp whose thread t reads element first + t x stride.

    Examples
    --------
    >>> [transactions(stride, 4, 0, 128) for stride in (1, 2, 32)], transactions(1, 4, 1, 128)
    ([1, 2, 32], 2)
    """
    touched: set[int] = set()
    for thread in range(WARP):
        begin = (first + thread * stride) * element_bytes
        end = begin + element_bytes - 1
        touched.update(range(begin // transaction_bytes, end // transaction_bytes + 1))
    return len(touched)


def _fact(gpu: Gpu, name: str) -> Quantity:
    """Return an attribute of the GPU here, or why there is none."""
    if isinstance(gpu, str):
        return Quantity(reason=gpu)
    value = getattr(gpu, name)
    return Quantity(value) if value > 0 else Quantity(reason=f"The driver does not state {_STATED[name]}.")


def _bandwidths(values: Values, whose: str, gpu: Gpu) -> Iterable[Row]:
    clock, width, rate = values["clock"], values["width"], values["rate"]
    # The slide calls its device Tesla.
    yield (_TESLA if whose == LECTURE else whose,), (clock, width, clock * width / 8 * rate)
    here = _fact(gpu, "memory_clock_mhz") / 1e3, _fact(gpu, "bus_width_bits"), _fact(gpu, "bandwidth_gb_s")
    yield (HERE,), here


def _bus(values: Values, whose: str, gpu: Gpu) -> Iterable[Row]:
    count = values["additions"]
    moved_bytes = count * values["moved"] * values["size"]
    theirs = (Quantity(values[name]) for name in ("bus", "bandwidth", "peak"))
    here = (_fact(gpu, name) for name in ("host_bus_gb_s", "bandwidth_gb_s", "peak_gflops"))
    for name, (bus, memory, peak) in ((whose, theirs), (HERE, here)):
        on_bus, in_memory, adding = moved_bytes / 1e6 / bus, moved_bytes / 1e6 / memory, count / 1e6 / peak
        yield (name,), (moved_bytes, bus, on_bus, memory, in_memory, adding, on_bus / adding)


def _peaks(values: Values, whose: str, gpu: Gpu) -> Iterable[Row]:
    theirs = Quantity(values["bandwidth"]), Quantity(values["peak"])
    here = _fact(gpu, "bandwidth_gb_s"), _fact(gpu, "peak_gflops")
    for ratio, (name, (memory, peak)) in itertools.product(values["cgma"], ((whose, theirs), (HERE, here))):
        numbers_per_s = memory / values["size"]
        fed = numbers_per_s * ratio
        yield (f"{ratio:g}", name), (memory, peak, fed, _at_most_all(fed / peak * 100), peak / numbers_per_s)


def _at_most_all(percent: Quantity) -> Quantity:
    return percent if percent.number is None else Quantity(min(100.0, percent.number))


def _strides(values: Values, whose: str, gpu: Gpu) -> Iterable[Row]:
    for stride in values["strides"]:
        cells: list[Value] = []
        shares = []
        # With stride 0 all threads read one element.
        asked = (WARP if stride else 1) * values["size"]
        for unit in (LINE_BYTES, SEGMENT_BYTES):
            count = transactions(stride, values["size"], values["first"], unit)
            shares.append(asked / (count * unit))
            cells += [count, count * unit, shares[-1] * 100]
        of_lines, of_segments = shares
        useful = values["bandwidth"] * of_lines, _fact(gpu, "bandwidth_gb_s") * of_segments
        yield (stride,), (*cells, *useful)


def _occupancies(values: Values, whose: str, gpu: Gpu) -> Iterable[Row]:
    room = {name: values[name] for name in ("threads", "blocks", "registers", "shared_bytes")}
    theirs = GpuAttributes(
        **room,
        most_block_threads=values["most"],
        multiprocessors=1,
        reserved_shared_bytes=0,
        clock_mhz=0.0,
        bandwidth_gb_s=0.0,
    )
    for block, (name, one) in itertools.product(values["block"], ((whose, theirs), (HERE, gpu))):
        if isinstance(one, str):
            yield (block, name), (block.threads, *[Quantity(reason=one)] * 5)
            continue
        shared_bytes = block.threads * values["shared_per_thread"]
        found = occupancy(block.threads, values["per_thread"], shared_bytes, one)
        resident = found.blocks, found.blocks * block.threads, f"{found.warps} of {found.most_warps}"
        yield (block, name), (block.threads, *resident, 100 * found.share, found.limited_by)


EXAMPLES = tuple(
    Example(at, tuple(Input(**entry) for entry in TABLE_TEXTS[PERFORMANCE][at].inputs), rows)
    for at, rows in {1: _bandwidths, 8: _bus, 9: _peaks, 10: _strides, 11: _occupancies}.items()
)
"""The examples in the order of their tables."""
