"""What a session keeps of the page Network: drawing, settings, weights, runs, how digits are classified."""

from dataclasses import asdict
from typing import Annotated, Any

import msgspec
import numpy as np

from engine.tasks.network.messages import NetworkRun
from engine.tasks.network.problem import MAX_BATCH, ChunkSpan, Confusion, LayerTime, NetworkResult
from gui.network.drawing import SIDE, Ink
from gui.network.network_state import NetworkState
from gui.page.variants_page import Change
from gui.typed_json import Reading, Table

_FIGURES = 2 * SIDE * SIDE
_PART = {
    "stage": str,
    "batch": Annotated[int, msgspec.Meta(ge=1, le=MAX_BATCH)],
    "device": str,
    "weights": str,
    "ink": Annotated[str, msgspec.Meta(pattern="^[0-9a-f]*$", min_length=_FIGURES, max_length=_FIGURES)],
    "digits": dict[str, Confusion],
}


def part_of(network: NetworkState) -> dict[str, Any]:
    """Return all but the runs as plain JSON values; the ink in hexadecimal figures, row by row."""
    settings = network.settings
    return {
        "stage": settings.stage,
        "batch": settings.batch,
        "device": settings.device,
        "weights": network.weights,
        "ink": network.drawing.ink.tobytes().hex(),
        "digits": {weights: asdict(confusion) for weights, confusion in network.confusions.items()},
    }


def show_part(network: NetworkState, part: Table, reading: Reading) -> tuple[str, Change | None]:
    """Show the settings of a session; return its file of weights, and what shows its drawing."""
    found = reading.fields(part, _PART)
    if network.facts is not None and "stage" in found and network.known_stage(found["stage"]) is None:
        reading.leave_out('"stage"', "the network has no such stage")
        del found["stage"]
    network.change(**{name: found[name] for name in ("stage", "batch", "device") if name in found})
    classified: dict[str, Confusion] = found.get("digits", {})
    if not all(map(_is_of_digits, classified.values())):
        reading.leave_out('"digits"', "it is not a table of ten digits by ten")
    elif classified:
        network.confusions |= classified
        network.confusion_changed.emit()
    ink = _ink(found["ink"]) if "ink" in found else network.drawing.ink
    weights = found.get("weights", network.weights)
    if np.array_equal(ink, network.drawing.ink):
        return weights, None
    return weights, lambda: network.drawing.show_ink(ink, number_of(network, ink), "Open session")


def table_of(run: NetworkRun) -> dict[str, Any]:
    """Return a run as plain JSON values."""
    return {
        "result": run.result.as_json(),
        "layers": [asdict(layer) for layer in run.layers],
        "timeline": [asdict(span) for span in run.timeline],
    }


def run_in(table: Table, result: NetworkResult) -> NetworkRun:
    """Return the run of such a table, with its result; a ValueError says what is wrong with it."""
    layers = msgspec.convert(table.get("layers", []), tuple[LayerTime, ...])
    return NetworkRun(result, layers, msgspec.convert(table.get("timeline", []), tuple[ChunkSpan, ...]))


def _is_of_digits(confusion: Confusion) -> bool:
    sides = {len(confusion.counts), *map(len, confusion.counts)}
    is_square = sides == {10} and bool(confusion.digits)
    return is_square and min(*map(min, confusion.counts), *confusion.wrong, 0) >= 0


def _ink(figures: str) -> Ink:
    return np.frombuffer(bytes.fromhex(figures), np.uint8).reshape(SIDE, SIDE).copy()


def number_of(network: NetworkState, ink: Ink) -> int | None:
    """Return which held-out digit the ink is, if it is one and they are known."""
    if network.facts is None:
        return None
    same = np.flatnonzero((network.facts.digits == ink).all(axis=(1, 2)))
    return int(same[0]) if same.size else None
