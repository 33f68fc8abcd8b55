"""The files that were opened or saved last, newest first: pictures, masks and sessions."""

from collections.abc import Iterable
from typing import Annotated, Literal, NamedTuple, get_args

from msgspec import Meta
from PySide6.QtCore import QObject, Signal

Kind = Literal["picture", "session", "mask"]
KINDS: tuple[Kind, ...] = get_args(Kind)
MOST_OF_A_KIND = 8


class Recent(NamedTuple):
    """A file, and what it is."""

    kind: Kind
    path: Annotated[str, Meta(min_length=1, pattern=r"^[^\0]*$")]


class RecentFiles(QObject):
    """Eight of each kind; the preferences keep them."""

    changed = Signal()

    def __init__(self, files: Iterable[Recent] = ()) -> None:
        super().__init__()
        self._files = list(files)

    def all(self) -> tuple[Recent, ...]:
        """Return all of them, newest first."""
        return tuple(self._files)

    def of(self, kind: str) -> tuple[str, ...]:
        """Return the paths of one kind, newest first."""
        return tuple(one.path for one in self._files if one.kind == kind)

    def note(self, kind: Kind, path: str) -> None:
        """Put a file first; the oldest of its kind goes where there are too many."""
        self._files = [Recent(kind, path), *(one for one in self._files if one.path != path)]
        for old in self.of(kind)[MOST_OF_A_KIND:]:
            self._files.remove(Recent(kind, old))
        self.changed.emit()

    def forget(self, *paths: str) -> None:
        """Remove files, all for none."""
        self._files = [one for one in self._files if paths and one.path not in paths]
        self.changed.emit()
