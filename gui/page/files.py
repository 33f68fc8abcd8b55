"""File dialogs of the system, not modal, in the folder that was used last."""

import re
from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFileDialog, QWidget


def _follow_filter(dialog: QFileDialog, name_filter: str) -> None:
    """Give the name in a dialog the ending of the form that was chosen."""
    ending = re.search(r"\*(\.\w+)", name_filter)
    selected = dialog.selectedFiles()
    if ending and selected and not Path(selected[0]).is_dir():
        dialog.setDefaultSuffix(ending[1].lstrip("."))
        dialog.selectFile(Path(selected[0]).with_suffix(ending[1]).name)


class FileDialogs:
    """Opens file dialogs in `folder`, the one used last."""

    def __init__(self, folder: str = "") -> None:
        self.parent: QWidget | None = None
        self.folder = folder or str(Path.home())
        self.dialog: QFileDialog | None = None

    def ask_to_open(self, title: str, filters: list[str], chosen: Callable[[Path], None]) -> None:
        """Ask for a file that exists."""
        dialog = self._dialog(title, chosen)
        dialog.setNameFilters(filters)
        dialog.setFileMode(QFileDialog.FileMode.ExistingFile)
        dialog.open()

    def ask_to_save(
        self, title: str, filters: list[str], name: str, chosen: Callable[[Path, str], None]
    ) -> None:
        """Ask where to save, under this name at first; `chosen` gets the path and the filter's text."""
        dialog = self._dialog(title, lambda path: chosen(path, dialog.selectedNameFilter()))
        dialog.setNameFilters(filters)
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        dialog.setFileMode(QFileDialog.FileMode.AnyFile)
        dialog.setDefaultSuffix(Path(name).suffix.lstrip("."))
        dialog.selectFile(name)
        dialog.filterSelected.connect(lambda chosen_filter: _follow_filter(dialog, chosen_filter))
        dialog.open()

    def ask_for_folder(self, title: str, chosen: Callable[[Path], None]) -> None:
        """Ask for a folder that several files go to."""
        dialog = self._dialog(title, chosen)
        dialog.setFileMode(QFileDialog.FileMode.Directory)
        dialog.setOption(QFileDialog.Option.ShowDirsOnly)
        dialog.open()

    def _dialog(self, title: str, chosen: Callable[[Path], None]) -> QFileDialog:
        def take(text: str) -> None:
            is_folder = dialog.fileMode() is QFileDialog.FileMode.Directory
            self.folder = text if is_folder else str(Path(text).parent)
            chosen(Path(text))

        self.dialog = dialog = QFileDialog(self.parent, title, self.folder)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.fileSelected.connect(take)
        return dialog
