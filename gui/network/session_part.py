"""What a session keeps of the page Network: the drawing, the stage, the batch, the device, the weights."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from engine.errors import BadValue
from engine.tasks.network.problem import MAX_BATCH
from gui.network.drawing import SIDE, Ink
from gui.network.network_state import NetworkState
from gui.strict_json import text_of

_WHAT, _REMEDY = "The session's part for the page Network", "The page stays as it is."


def part_of(network: NetworkState) -> dict[str, Any]:
    """Return it as plain JSON values; the ink in hexadecimal figures, row by row."""
    settings = network.settings
    return {
        "stage": settings.stage,
        "batch": settings.batch,
        "device": settings.device,
        "weights": network.weights,
        "ink": network.drawing.ink.tobytes().hex(),
    }


def show_part(network: NetworkState, part: Mapping[str, Any]) -> str:
    """Show the drawing and the settings of a session, and return its file of weights.

    Raises
    ------
    BadValue
        A value is missing or out of range; nothing has changed then.
    """
    stage, device, weights = (_text(part, key) for key in ("stage", "device", "weights"))
    batch = part.get("batch")
    if type(batch) is not int or not 1 <= batch <= MAX_BATCH:
        raise BadValue(_WHAT, f'its "batch" is not a whole number from 1 to {MAX_BATCH:,}', _REMEDY)
    ink = _ink(_text(part, "ink"))
    facts = network.facts
    if facts is not None and stage not in {known.key for known in facts.stages}:
        raise BadValue(_WHAT, f"there is no stage called {stage[:40]}", _REMEDY)
    network.change(stage=stage, batch=batch, device=device)
    network.drawing.show_ink(ink, number_of(network, ink), "Open session")
    return weights


def _text(part: Mapping[str, Any], key: str) -> str:
    try:
        return text_of(part.get(key))
    except ValueError as error:
        raise BadValue(_WHAT, f'its "{key}" {error}', _REMEDY) from error


def _ink(text: str) -> Ink:
    try:
        found = np.frombuffer(bytes.fromhex(text), np.uint8)
    except ValueError:
        found = np.zeros(0, np.uint8)
    if found.size != SIDE * SIDE:
        raise BadValue(_WHAT, f'its "ink" is not {SIDE} × {SIDE} cells', _REMEDY)
    return found.reshape(SIDE, SIDE).copy()


def number_of(network: NetworkState, ink: Ink) -> int | None:
    """Return which held-out digit the ink is, if it is one and they are known."""
    if network.facts is None:
        return None
    same = np.flatnonzero((network.facts.digits == ink).all(axis=(1, 2)))
    return int(same[0]) if same.size else None
