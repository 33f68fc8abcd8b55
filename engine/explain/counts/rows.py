"""Counted accesses as data for JSON and as rows for people."""

from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any

from engine.explain.counts.accesses import ArrayAccesses, CountedAccesses, CountedRun
from engine.ptx.counts import Requests
from engine.results.quantities import MISSING, rate_text

Row = tuple[str, ...]


def accesses_document(run: CountedRun) -> dict[str, Any]:
    """Return everything that is counted, or why nothing is."""
    reason = run.not_counted
    return {
        "not_counted": None if reason is None else reason.as_json(),
        "transactions_per_request": run.transactions_per_request,
        "launches": [
            {
                "name": one.name,
                "blocks": one.blocks,
                "counted_blocks": one.counted_blocks,
                "exact": one.is_exact,
                "barriers": one.barriers,
                "arrays": [_array_document(array) for array in one.arrays],
            }
            for one in run.passes
        ],
    }


def _array_document(one: ArrayAccesses) -> dict[str, Any]:
    return {
        "memory": one.memory,
        "kind": one.kind,
        "array": one.array,
        **asdict(one.requests),
        "block_sectors": one.block_sectors,
        "launch_sectors": one.launch_sectors,
    }


def accesses_rows(launches: Sequence[CountedAccesses]) -> list[Row]:
    """Return a name and a text for each launch; without what no launch has."""
    rows = [(name, *map(text, launches)) for name, text in _ROWS]
    return [row for row in rows if any(text != MISSING for text in row[1:])]


Text = Callable[[CountedAccesses], str]


def _text(of: str, number: str) -> Text:
    """Return what writes a number of some requests of a launch, by the names of both."""

    def text(launch: CountedAccesses) -> str:
        requests: Requests = getattr(launch, of)
        value = getattr(requests, number)
        return rate_text(value) if value and requests.requests else MISSING

    return text


def _rows_of(of: str, words: str, *numbers: tuple[str, str]) -> list[tuple[str, Text]]:
    rows = [(f"{words}: requests", _text(of, "requests"))]
    return rows + [(f"{words}: {name}", _text(of, number)) for name, number in numbers]


_GLOBAL = (
    ("sectors of 32 bytes per request", "sectors_per_request"),
    ("transactions of 128 bytes per request", "transactions_per_request"),
    ("bytes asked for per byte of sectors", "efficiency"),
)
_SHARED = ("wavefronts per request", "wavefronts_per_request")
_ROWS: list[tuple[str, Text]] = [
    *_rows_of("global_loads", "global loads", *_GLOBAL),
    *_rows_of("global_stores", "global stores", *_GLOBAL),
    *_rows_of("shared_loads", "shared loads", _SHARED),
    *_rows_of("shared_stores", "shared stores", _SHARED),
    *_rows_of("constant_loads", "constant loads", ("different words per request", "wavefronts_per_request")),
    ("warps at barriers", lambda launch: rate_text(launch.barriers) if launch.barriers else MISSING),
]
