"""What the file actions do: ask where, then let the controller do it. Also takes files that were dropped."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QFileDialog, QWidget

from gui.explore.mask.mask_controller import MaskController, says_mask
from gui.explore.picture.picture_controller import PictureController
from gui.explore.results.results_controller import ResultsController
from gui.explore.session_controller import SessionController
from gui.explore.workspace import Workspace
from gui.page.actions import Actions
from gui.shell.files import choose_file_to_open, choose_file_to_save, choose_folder

PICTURES = [
    "Pictures (*.png *.jpg *.jpeg *.tif *.tiff *.bmp *.webp *.gif)",
    "All files (*)",
]
FLOAT_TIFF = "TIFF, 32-bit float, nothing clipped (*.tif)"
RESULTS_AS = ["PNG (*.png)", "TIFF (*.tif)", FLOAT_TIFF, "JPEG (*.jpg)", "WebP (*.webp)"]
MASKS = ["Masks (*.json *.csv *.txt)", "All files (*)"]
MASKS_AS = ["JSON, with anchor and offset (*.json)", "CSV (*.csv)", "Text (*.txt)"]
SESSIONS = ["Haloscope sessions (*.json)", "All files (*)"]


class FileCommands(QObject):
    """Connects the file actions.

    Parameters
    ----------
    folder : str
        Where the dialogs begin; follows the person.
    """

    def __init__(
        self,
        window: QWidget,
        workspace: Workspace,
        actions: Actions,
        pictures: PictureController,
        sessions: SessionController,
        masks: MaskController,
        results: ResultsController,
        folder: str,
    ) -> None:
        super().__init__(window)
        self._window = window
        self._workspace = workspace
        self._pictures = pictures
        self._sessions = sessions
        self._masks = masks
        self._results = results
        self.folder = folder or str(Path.home())
        self.dialog: QFileDialog | None = None
        for name, slot in (
            ("open", self.open_picture),
            ("save", self.save_result),
            ("open_session", self.open_session),
            ("save_session", self.save_session),
            ("load_mask", self.load_mask),
            ("save_mask", self.save_mask),
            ("export_csv", lambda: self.export("csv")),
            ("export_json", lambda: self.export("json")),
        ):
            actions[name].triggered.connect(slot)
        for action in actions.samples:
            action.triggered.connect(partial(self._open_sample, action.data()))

    def take(self, paths: list[str]) -> None:
        """Open what was dropped: a session or a mask (by its text), else a picture. Of several, the first."""
        path = Path(paths[0])
        suffix = path.suffix.lower()
        if suffix == ".json" and not says_mask(path):
            self._sessions.open(path)
        elif suffix in (".json", ".csv", ".txt"):
            self._masks.load(path)
        else:
            self._pictures.open_path(path)

    def _open_sample(self, key: str) -> None:
        self._pictures.open_sample(key)

    def open_picture(self) -> None:
        """Ask for a picture and open it."""
        self._ask_to_open("Open a picture", PICTURES, self._pictures.open_path)

    def save_result(self) -> None:
        """Ask where, and save the result, if there is one of the settings as they are."""
        if not self._pictures.can_save_result():
            return

        def save(path: Path, chosen: str) -> None:
            self._pictures.save_result(path, "float32" if chosen == FLOAT_TIFF else "keep")

        # What a kernel wrote in 8 or 16 bit is clipped already.
        is_clipped = self._workspace.result_dtype != "float32"
        formats = [name for name in RESULTS_AS if not (is_clipped and name == FLOAT_TIFF)]
        self._ask_to_save("Save the result", formats, f"{self._stem()}-{self._mask_word()}.png", save)

    def open_session(self) -> None:
        """Ask for a session and take it up."""
        self._ask_to_open("Open a session", SESSIONS, self._sessions.open)

    def save_session(self) -> None:
        """Ask where, and save the session."""
        suggestion = f"{self._stem()}-session.json"
        self._ask_to_save(
            "Save the session", SESSIONS[:1], suggestion, lambda path, _: self._sessions.save(path)
        )

    def load_mask(self) -> None:
        """Ask for a mask file and take it up."""
        self._ask_to_open("Open a mask", MASKS, self._masks.load)

    def save_mask(self) -> None:
        """Ask where, and save the mask."""
        self._ask_to_save(
            "Save the mask", MASKS_AS, f"{self._mask_word()}.json", lambda path, _: self._masks.save(path)
        )

    def export(self, suffix: str) -> None:
        """Ask where, and save the results as csv or json."""
        filters = [f"{suffix.upper()} (*.{suffix})"]
        suggestion = f"{self._stem()}-results.{suffix}"
        self._ask_to_save("Save the results", filters, suggestion, lambda path, _: self._results.export(path))

    def ask_for_folder(self, title: str, save: Callable[[Path], None]) -> None:
        """Ask for a folder that several files go to."""

        def chosen(folder: Path) -> None:
            self.folder = str(folder)
            save(folder)

        self.dialog = choose_folder(self._window, title, self.folder, chosen)

    def _ask_to_open(self, title: str, filters: list[str], open_path: Callable[[Path], None]) -> None:
        def chosen(path: Path, _filter: str) -> None:
            self.folder = str(path.parent)
            open_path(path)

        self.dialog = choose_file_to_open(self._window, title, filters, self.folder, chosen)

    def _ask_to_save(
        self, title: str, filters: list[str], name: str, save: Callable[[Path, str], None]
    ) -> None:
        def chosen(path: Path, chosen_filter: str) -> None:
            self.folder = str(path.parent)
            save(path, chosen_filter)

        suggestion = Path(self.folder) / name
        self.dialog = choose_file_to_save(
            self._window, title, filters, suggestion, suggestion.suffix.lstrip("."), chosen
        )

    def _stem(self) -> str:
        picture = self._workspace.picture
        return Path(picture.title).stem.lower().replace(" ", "-") if picture else "haloscope"

    def _mask_word(self) -> str:
        name = "".join(letter if letter.isalnum() else "-" for letter in self._workspace.mask.name.lower())
        return "-".join(part for part in name.split("-") if part) or "filtered"
