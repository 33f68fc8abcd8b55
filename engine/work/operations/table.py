"""Every operation, in teaching order: a new one is its file beside this, and a line here."""

from collections.abc import Iterable
from typing import Any

from engine.errors import BadValue, UnknownName, closest
from engine.work.operations.bilateral import BILATERAL
from engine.work.operations.compress import COMPRESS
from engine.work.operations.contract import Operation
from engine.work.operations.desaturate import DESATURATE
from engine.work.operations.equalise import EQUALISE
from engine.work.operations.extreme import MAXIMUM, MINIMUM
from engine.work.operations.find_patch import FIND_PATCH
from engine.work.operations.gradient_magnitude import GRADIENT_MAGNITUDE
from engine.work.operations.histogram import HISTOGRAM
from engine.work.operations.hue_shift import HUE_SHIFT
from engine.work.operations.median import MEDIAN
from engine.work.operations.morphology import MORPHOLOGY
from engine.work.operations.negative import NEGATIVE
from engine.work.operations.threshold import THRESHOLD

OPERATIONS: dict[str, Operation] = {
    operation.key: operation
    for operation in (
        NEGATIVE,
        THRESHOLD,
        DESATURATE,
        HUE_SHIFT,
        HISTOGRAM,
        EQUALISE,
        GRADIENT_MAGNITUDE,
        MEDIAN,
        MINIMUM,
        MAXIMUM,
        MORPHOLOGY,
        BILATERAL,
        FIND_PATCH,
        COMPRESS,
    )
}


def operation_named(key: object) -> Operation:
    """Return the operation of that key; an `UnknownName` names the nearest one and all of them."""
    found = OPERATIONS.get(key) if isinstance(key, str) else None
    if found is None:
        near = closest(str(key), OPERATIONS)
        hint = f"Did you mean {near}? " if near else ""
        remedy = f"{hint}Choose one of {', '.join(OPERATIONS)}."
        raise UnknownName(f"operation '{key}'", "there is no such operation", remedy)
    return found


def settings_from(text: str) -> dict[str, Any]:
    """Read "size=5" or "left=10,top=20"; a `BadValue` says why a text is not a parameter."""
    found: dict[str, Any] = {}
    for part in text.split(","):
        name, equals, value = part.strip().partition("=")
        if not (name and equals and value.strip()):
            raise BadValue(f"--set '{text}'", "it is not name=value", "Write it as size=5.")
        found[name.strip()] = value.strip()
    return found


def parameters_from(texts: Iterable[str]) -> dict[str, Any]:
    """Read several such texts; of a parameter that is given twice the last counts."""
    return {name: value for text in texts for name, value in settings_from(text).items()}
