"""Writing strict JSON: numbers that JSON does not have, and are there all the same, are not lost."""

import json
import math
from typing import Any

NON_FINITE = "NaN, Infinity and -Infinity, which JSON does not have; missing values are written as null"
"""What the strings among the numbers of a document are, for its reader."""


def json_text(document: Any) -> str:
    """Return a document as strict JSON that any reader takes.

    What does not exist (a time that was not measured) is None in the document and null here. A number that
    exists and is not finite becomes the string "NaN", "Infinity" or "-Infinity", which the number
    constructors of Python and JavaScript read.
    """
    return json.dumps(strict(document), indent=2, allow_nan=False) + "\n"


def strict(value: Any) -> Any:
    """Return plain data without numbers that JSON does not have: they are strings."""
    if isinstance(value, dict):
        return {str(key): strict(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [strict(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return value
