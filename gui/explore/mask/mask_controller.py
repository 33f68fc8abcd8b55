"""Mask files: load and save. They are small, so this is done here and not by the engine's process."""

from pathlib import Path

from PySide6.QtCore import QObject

from engine.errors import EngineError
from engine.mask.files import MAX_BYTES, load_mask, save_mask
from gui.explore.workspace import Workspace
from gui.page.messages import Message, Messages, Severity

SOURCE = "mask"
_MARK = b"haloscope-mask"


def says_mask(path: Path) -> bool:
    """Return whether a JSON file declares itself a mask; False for one that cannot be read."""
    try:
        # Opening a pipe would wait for ever.
        if not path.is_file():
            return False
        with path.open("rb") as file:
            return _MARK in file.read(MAX_BYTES)
    except OSError:
        return False


class MaskController(QObject):
    """Loads a mask as one step that can be undone, and saves the mask as it was typed."""

    def __init__(self, workspace: Workspace, messages: Messages) -> None:
        super().__init__()
        self._workspace = workspace
        self._messages = messages

    def load(self, path: Path) -> None:
        """Take up the mask of a file, in any form that the program reads."""
        try:
            mask = load_mask(path)
        except EngineError as error:
            self._messages.show_error(SOURCE, error)
            return
        self._messages.clear(SOURCE)
        self._workspace.set_mask(mask, f"Load {path.name}")

    def save(self, path: Path) -> None:
        """Write the mask; the suffix chooses the form."""
        try:
            save_mask(self._workspace.mask, path)
        except EngineError as error:
            self._messages.show_error(SOURCE, error)
        else:
            self._messages.show(Message(SOURCE, Severity.INFO, f"Mask saved as {path}"))
