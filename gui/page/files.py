"""File dialogs of the system, not modal, in the folder that was used last; and the files of before."""

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Annotated, Literal, NamedTuple, get_args

from msgspec import Meta
from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtWidgets import QFileDialog, QWidget

Kind = Literal["picture", "session", "mask"]
KINDS: tuple[Kind, ...] = get_args(Kind)
MOST_OF_A_KIND = 8
Mode = QFileDialog.FileMode


class FileDialogs:
    """Opens file dialogs in `folder`, the one used last."""

    def __init__(self, folder: str = "", parent: QWidget | None = None) -> None:
        self.parent = parent
        self.folder = folder or str(Path.home())
        self.dialog: QFileDialog | None = None

    def ask_to_open(self, title: str, forms: list[str], then: Callable[[Path], None]) -> None:
        self._dialog(title, forms, Mode.ExistingFile, then).open()

    def ask_for_files(self, forms: list[str], then: Callable[[list[str]], None]) -> None:
        dialog = self._dialog("Pictures", forms, Mode.ExistingFiles, lambda path: None)
        dialog.filesSelected.connect(then)
        dialog.open()

    def ask_to_save(self, title: str, forms: list[str], name: str, then: Callable[[Path, str], None]) -> None:
        """Ask where to save, under this name at first; `then` gets the path and the form's text."""

        def take(path: Path) -> None:
            then(path, dialog.selectedNameFilter())

        def follow(name_filter: str) -> None:
            """Give the name the ending of the chosen form."""
            ending, selected = re.search(r"\*(\.\w+)", name_filter), dialog.selectedFiles()
            if ending and selected and not Path(selected[0]).is_dir():
                dialog.setDefaultSuffix(ending[1].lstrip("."))
                dialog.selectFile(Path(selected[0]).with_suffix(ending[1]).name)

        dialog = self._dialog(title, forms, Mode.AnyFile, take)
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        dialog.setDefaultSuffix(Path(name).suffix.lstrip("."))
        dialog.selectFile(name)
        dialog.filterSelected.connect(follow)
        dialog.open()

    def ask_for_folder(self, title: str, then: Callable[[Path], None]) -> None:
        dialog = self._dialog(title, [], Mode.Directory, then)
        dialog.setOption(QFileDialog.Option.ShowDirsOnly)
        dialog.open()

    def _dialog(self, title: str, forms: list[str], mode: Mode, then: Callable[[Path], None]) -> QFileDialog:
        def take(text: str) -> None:
            self.folder = text if mode is Mode.Directory else str(Path(text).parent)
            then(Path(text))

        self.dialog = dialog = QFileDialog(self.parent, title, self.folder)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        if forms:
            dialog.setNameFilters(forms)
        dialog.setFileMode(mode)
        dialog.fileSelected.connect(take)
        return dialog


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
