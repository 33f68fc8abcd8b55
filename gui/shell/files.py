"""Choosing files: the system's dialogs, opened without stopping anything."""

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFileDialog, QWidget

Chosen = Callable[[Path, str], None]


def choose_file_to_open(
    parent: QWidget | None, title: str, filters: list[str], folder: str, chosen: Chosen
) -> QFileDialog:
    """Let the person choose a file that exists; `chosen` gets it and the filter's text."""
    dialog = _dialog(parent, title, filters, folder, chosen)
    dialog.setFileMode(QFileDialog.FileMode.ExistingFile)
    dialog.open()
    return dialog


def choose_file_to_save(
    parent: QWidget | None, title: str, filters: list[str], suggestion: Path, suffix: str, chosen: Chosen
) -> QFileDialog:
    """Let the person choose where to save; a file that exists is asked about by the dialog."""
    dialog = _dialog(parent, title, filters, str(suggestion.parent), chosen)
    dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
    dialog.setFileMode(QFileDialog.FileMode.AnyFile)
    dialog.setDefaultSuffix(suffix)
    dialog.selectFile(suggestion.name)
    dialog.open()
    return dialog


def choose_folder(
    parent: QWidget | None, title: str, folder: str, chosen: Callable[[Path], None]
) -> QFileDialog:
    """Let the person choose a folder that exists, or make one in the dialog."""
    dialog = QFileDialog(parent, title, folder)
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    dialog.setFileMode(QFileDialog.FileMode.Directory)
    dialog.setOption(QFileDialog.Option.ShowDirsOnly)
    dialog.fileSelected.connect(lambda path: chosen(Path(path)))
    dialog.open()
    return dialog


def _dialog(
    parent: QWidget | None, title: str, filters: list[str], folder: str, chosen: Chosen
) -> QFileDialog:
    dialog = QFileDialog(parent, title, folder)
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    dialog.setNameFilters(filters)
    dialog.fileSelected.connect(lambda path: chosen(Path(path), dialog.selectedNameFilter()))
    return dialog
