"""The worked examples of the lecture on memories and performance, and the same for the GPU here.

Pure arithmetic that asks no device: what a GPU states of itself is given, or the reason why there is none.

Source: COSC 407, "CUDA Memories and Performance Revisited": slides "Enough Bandwidth?", "Problem!", "One Last
Thing..." and "Performance Improvement Guidelines".
"""

import itertools
from collections.abc import Iterable, Mapping
from typing import Any

from engine.course.paper import CourseTable
from engine.course.papers import TABLE_TEXTS, paper
from engine.course.runs import Quantity, Row, Told, Value, course_table
from engine.device_info import WARP, GpuAttributes, occupancy
from engine.geometry.block import Block

Values = Mapping[str, Any]
"""The lecture's values, as papers.toml has them."""

PERFORMANCE = paper("performance")

LINE_BYTES, SEGMENT_BYTES = 128, 32
"""What one transaction moves: through L1, and through L2 alone."""

LECTURE, HERE = "G80 in the lecture", "this device"
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


def stated(gpu: Gpu, name: str) -> Quantity:
    """Return what the driver states of the GPU here, or why it is not known."""
    if isinstance(gpu, str):
        return Quantity(reason=gpu)
    value = getattr(gpu, name)
    return Quantity(value) if value > 0 else Quantity(reason=f"The driver does not state {_STATED[name]}.")


def _bandwidths(values: Values, gpu: Gpu) -> Iterable[Row]:
    clock, width, rate = values["clock"], values["width"], values["rate"]
    # The slide calls its device Tesla.
    yield (_TESLA,), (clock, width, clock * width / 8 * rate)
    here = stated(gpu, "memory_clock_mhz") / 1e3, stated(gpu, "bus_width_bits"), stated(gpu, "bandwidth_gb_s")
    yield (HERE,), here


def _bus(values: Values, gpu: Gpu) -> Iterable[Row]:
    count = values["additions"]
    moved_bytes = count * values["moved"] * values["size"]
    theirs = (Quantity(values[name]) for name in ("bus", "bandwidth", "peak"))
    here = (stated(gpu, name) for name in ("host_bus_gb_s", "bandwidth_gb_s", "peak_gflops"))
    for name, (bus, memory, peak) in ((LECTURE, theirs), (HERE, here)):
        on_bus, in_memory, adding = moved_bytes / 1e6 / bus, moved_bytes / 1e6 / memory, count / 1e6 / peak
        yield (name,), (moved_bytes, bus, on_bus, memory, in_memory, adding, on_bus / adding)


def _peaks(values: Values, gpu: Gpu) -> Iterable[Row]:
    theirs = Quantity(values["bandwidth"]), Quantity(values["peak"])
    here = stated(gpu, "bandwidth_gb_s"), stated(gpu, "peak_gflops")
    for ratio, (name, (memory, peak)) in itertools.product(values["cgma"], ((LECTURE, theirs), (HERE, here))):
        numbers_per_s = memory / values["size"]
        fed = numbers_per_s * ratio
        share = fed / peak * 100
        reached = share if share.number is None else Quantity(min(100.0, share.number))
        yield (f"{ratio:g}", name), (memory, peak, fed, reached, peak / numbers_per_s)


def _strides(values: Values, gpu: Gpu) -> Iterable[Row]:
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
        useful = values["bandwidth"] * of_lines, stated(gpu, "bandwidth_gb_s") * of_segments
        yield (stride,), (*cells, *useful)


def _occupancies(values: Values, gpu: Gpu) -> Iterable[Row]:
    room = {name: values[name] for name in ("threads", "blocks", "registers", "shared_bytes")}
    theirs = GpuAttributes(
        **room,
        most_block_threads=values["most"],
        multiprocessors=1,
        reserved_shared_bytes=0,
        clock_mhz=0.0,
        bandwidth_gb_s=0.0,
    )
    blocks = map(Block.parse, values["block"])
    for block, (name, one) in itertools.product(blocks, ((LECTURE, theirs), (HERE, gpu))):
        if isinstance(one, str):
            yield (block, name), (block.threads, *[Quantity(reason=one)] * 5)
            continue
        shared_bytes = block.threads * values["shared_per_thread"]
        found = occupancy(block.threads, values["per_thread"], shared_bytes, one)
        resident = found.blocks, found.blocks * block.threads, f"{found.warps} of {found.most_warps}"
        yield (block, name), (block.threads, *resident, 100 * found.share, found.limited_by)


EXAMPLES = {1: _bandwidths, 8: _bus, 9: _peaks, 10: _strides, 11: _occupancies}
"""The examples by the numbers of their tables, counted from 0."""


def example(number: int, gpu: Gpu) -> Told:
    """Return what is told in the table of that number: what the driver of the GPU here states, or why not."""
    return Told(EXAMPLES[number](TABLE_TEXTS[PERFORMANCE][number].values, gpu))


def example_table(paper_key: str, title: str, gpu: Gpu) -> CourseTable | None:
    """Return a table of a paper that is a worked example, for the GPU here; None for another table."""
    for number in EXAMPLES:
        if (paper_key, title) == (PERFORMANCE.key, PERFORMANCE.tables[number]):
            return course_table(TABLE_TEXTS[PERFORMANCE][number], example(number, gpu))
    return None
