"""Data files that come with the program, in the folder `assets`."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from engine.errors import EngineError

_PACKAGE = Path(__file__).resolve().parents[1]
# Within the package where it is installed, beside it in a clone.
ASSETS = _PACKAGE / "assets" if (_PACKAGE / "assets").is_dir() else _PACKAGE.parent / "assets"


@contextmanager
def faults_of_asset(path: Path, title: str) -> Iterator[None]:
    """Raise an EngineError that says what to do where a file of the program is missing or damaged."""
    try:
        yield
    except (OSError, ValueError, LookupError, TypeError, EngineError) as error:
        raise EngineError(
            f"{title} {path.name!r} cannot be read",
            str(error),
            "Install the program again: this file came with it.",
        ) from error
