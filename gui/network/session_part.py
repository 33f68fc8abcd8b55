"""What a session keeps of the page Network: drawing, settings, weights, runs, how digits are classified."""

from dataclasses import asdict
from typing import Annotated, Any

import msgspec
import numpy as np

from engine.tasks.network.messages import NetworkRun
from engine.tasks.network.problem import MAX_BATCH, ChunkSpan, Confusion, LayerTime, NetworkResult
from gui.network.drawing import SIDE, Ink
from gui.network.network_state import NetworkState
from gui.page.variants_page import Change, Part, Table

_Batch = Annotated[int, msgspec.Meta(ge=1, le=MAX_BATCH)]


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


def show_part(network: NetworkState, part: Part) -> tuple[str, Change | None]:
    """Show the settings of a session; return its file of weights, and what shows its drawing."""

    def check_stage(stage: str) -> None:
        if network.facts is not None and network.known_stage(stage) is None:
            raise ValueError(stage)

    found = {
        "stage": part.take("stage", str, "a stage of the network", check_stage),
        "batch": part.take("batch", _Batch, f"a whole number from 1 to {MAX_BATCH:,}"),
        "device": part.take("device", str),
    }
    network.change(**{name: value for name, value in found.items() if value is not None})
    classified = part.take("digits", dict[str, Confusion], "how digits are classified", _check_digits)
    if classified:
        network.confusions |= classified
        network.confusion_changed.emit()
    weights = part.take("weights", str)
    weights = network.weights if weights is None else weights
    text = part.take("ink", str, f"{SIDE} × {SIDE} cells", _ink)
    ink = network.drawing.ink if text is None else _ink(text)
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


def _check_digits(found: dict[str, Confusion]) -> None:
    for confusion in found.values():
        sides = {len(confusion.counts), *map(len, confusion.counts)}
        if sides != {10} or min(*map(min, confusion.counts), *confusion.wrong, 0) < 0 or not confusion.digits:
            raise ValueError("not a table of ten digits by ten")


def _ink(text: str) -> Ink:
    try:
        found = np.frombuffer(bytes.fromhex(text), np.uint8)
    except ValueError:
        found = np.zeros(0, np.uint8)
    if found.size != SIDE * SIDE:
        raise ValueError("another number of cells")
    return found.reshape(SIDE, SIDE).copy()


def number_of(network: NetworkState, ink: Ink) -> int | None:
    """Return which held-out digit the ink is, if it is one and they are known."""
    if network.facts is None:
        return None
    same = np.flatnonzero((network.facts.digits == ink).all(axis=(1, 2)))
    return int(same[0]) if same.size else None
