"""What people give as weights although it is no table: a file's name, bytes, text, nothing. Each is answered in its words."""

import os
import reprlib

import numpy as np

from engine.errors import MaskError

_A_TABLE = "Give rows of numbers, such as [[1, 0, -1]]"


def refuse_no_table(weights: object) -> None:
    """Refuse what NumPy would make an array of one thing, and an array that hides some of its weights.

    Raises
    ------
    MaskError
    """
    refusal = _refusal(weights)
    if refusal is not None:
        raise MaskError(f"{reprlib.repr(weights)} is no mask", *refusal)


def _refusal(weights: object) -> tuple[str, str] | None:
    """Return why something is no table, and what would do."""
    if weights is None:
        return "a mask is a table of numbers", f"{_A_TABLE}, or a preset: engine.preset('sobel-x')."
    if isinstance(weights, os.PathLike):
        return "it is the name of a file", "Give engine.correlate the name as text: str(path)."
    if isinstance(weights, bytes | bytearray):
        return "it is bytes, not numbers", f"{_A_TABLE}, or read text: engine.parse_mask(data.decode())."
    if isinstance(weights, str):
        return (
            "it is text, not numbers",
            "Read it with engine.parse_mask, or give it to engine.correlate as it is.",
        )
    if isinstance(weights, np.ma.MaskedArray):
        return (
            "which of its weights are hidden would be lost",
            "Fill them first, such as with weights.filled(0).",
        )
    return None
