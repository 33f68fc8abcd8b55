"""The digest of the picture's file, by which a session notices that the picture has changed since."""

import hashlib
import threading
from pathlib import Path

from PySide6.QtCore import QObject, Qt, Signal

from engine.host.protocol import PictureHandle
from gui.explore.state import PictureSource
from gui.explore.workspace import Workspace

# A larger file is read in so many pieces of 1 MB, spread over it.
_WHOLE_BYTES, _PIECE_BYTES = 64 << 20, 1 << 20


def digest_of(path: Path) -> str:
    """Return the digest of a file; of a large one, of its size and 64 pieces. Empty where it has none."""
    try:
        with path.open("rb") as file:
            size = file.seek(0, 2)
            found = hashlib.blake2b(str(size).encode(), digest_size=16)
            step = _PIECE_BYTES if size <= _WHOLE_BYTES else size * _PIECE_BYTES // _WHOLE_BYTES
            for start in range(0, size, step):
                file.seek(start)
                found.update(file.read(_PIECE_BYTES))
            return found.hexdigest()
    except OSError:
        return ""


class PictureDigest(QObject):
    """Knows the digest of the shown picture's file as it was when it was opened; reads it on a thread."""

    known = Signal()  # of another picture
    _found = Signal(object, str)

    def __init__(self, workspace: Workspace) -> None:
        super().__init__()
        self._shown: PictureSource | None = None
        self._digest = ""
        self._found.connect(self._note, Qt.ConnectionType.QueuedConnection)
        workspace.picture_changed.connect(self._read)

    def of(self, source: PictureSource | None) -> str:
        """Return the digest of a picture's file; empty where it is not known, or not yet."""
        return self._digest if source == self._shown else ""

    def _read(self, picture: PictureHandle) -> None:
        self._shown = source = PictureSource.of(picture)
        self._digest = ""
        if picture.path:
            threading.Thread(target=self._find, args=(source,), daemon=True).start()

    def _find(self, source: PictureSource) -> None:
        self._found.emit(source, digest_of(Path(source.path)))

    def _note(self, source: PictureSource, digest: str) -> None:
        if source == self._shown:
            self._digest = digest
            self.known.emit()
