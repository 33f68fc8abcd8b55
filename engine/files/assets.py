"""Data files that come with the program, in the folder `assets`."""

import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from engine.errors import EngineError

_PACKAGE = Path(__file__).resolve().parents[1]
# Within the package where it is installed, beside it in a clone.
ASSETS = _PACKAGE / "assets" if (_PACKAGE / "assets").is_dir() else _PACKAGE.parent / "assets"

# Of a document: longer than each of them by far.
MOST_ASSET_BYTES = 1 << 26
# What reading, unpacking and looking into a damaged one raises; RecursionError is a RuntimeError.
_FAULTS = (
    ArithmeticError, AttributeError, EngineError, EOFError, LookupError, MemoryError, OSError, RuntimeError,
    TypeError, ValueError, zlib.error,
)  # fmt: skip


@contextmanager
def faults_of_asset(path: Path, title: str) -> Iterator[None]:
    """Raise an EngineError that says what to do where a file of the program is missing or damaged."""
    try:
        yield
    except _FAULTS as error:
        raise EngineError(
            f"{title} {path.name!r} cannot be read",
            error.why if isinstance(error, EngineError) else str(error) or type(error).__name__,
            "Install the program again: this file came with it.",
        ) from error
