"""What was measured on another machine and comes with the program: read when it is first asked for.

`python -m bench.recorded` writes it. A machine without a GPU shows it beside its own, always marked.
"""

import gzip
import json
from functools import cache
from pathlib import Path

from engine.files.assets import ASSETS, faults_of_asset
from engine.files.reading import Json

FOLDER = ASSETS / "recorded"
RUNS, COURSE = "runs", "course"
"""What there is: runs of filters with the limits of their GPU, and the tables of the course papers."""


def recorded_path(what: str) -> Path:
    """Return the file of the recorded runs or tables."""
    return FOLDER / f"{what}.json.gz"


@cache
def recorded_document(what: str) -> Json:
    """Return what was recorded as plain data; nothing where this version came without it.

    Raises EngineError where the file is damaged.
    """
    path = recorded_path(what)
    if not path.exists():
        return {}
    with faults_of_asset(path, "The recording"):
        document = json.loads(gzip.decompress(path.read_bytes()))
        if not isinstance(document, dict):
            raise ValueError("it is not a table")
        return document
