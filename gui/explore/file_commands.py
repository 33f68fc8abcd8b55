"""The file actions: ask where, then call the controller. Also opens files that were dropped."""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from PySide6.QtCore import QObject

from engine.image.formats import offered_suffixes, opened_suffixes, saved_formats
from gui.explore.mask.mask_controller import MaskController, says_mask
from gui.explore.picture.picture_controller import PictureController
from gui.explore.results.results_controller import ResultsController
from gui.explore.session_controller import SessionController
from gui.explore.workspace import Workspace
from gui.page.actions import Actions
from gui.page.files import FileDialogs

MASKS = ["Masks (*.json *.csv *.txt)", "All files (*)"]
MASKS_AS = ["JSON, with anchor and offset (*.json)", "CSV (*.csv)", "Text (*.txt)"]
SESSIONS = ["Haloscope sessions (*.json)", "All files (*)"]


def picture_filters() -> list[str]:
    """Return the name filters of the dialog that opens a picture."""
    return [f"Pictures ({' '.join(f'*{suffix}' for suffix in opened_suffixes())})", "All files (*)"]


def result_filters(*, with_float: bool) -> dict[str, str]:
    """Return the name filters of the dialog that saves a result, each with the depth that it means."""
    depths = {}
    for known in saved_formats():
        depths[f"{known.title} (*{known.saved_suffixes[0]})"] = "keep"
        if with_float and known.holds(np.float32):
            depths[f"{known.title}, 32-bit float, nothing clipped (*{known.saved_suffixes[0]})"] = "float32"
    return depths


class FileCommands(QObject):
    """Connects the file actions of the page."""

    def __init__(
        self,
        workspace: Workspace,
        actions: Actions,
        files: FileDialogs,
        pictures: PictureController,
        sessions: SessionController,
        masks: MaskController,
        results: ResultsController,
    ) -> None:
        super().__init__(actions)
        self._workspace = workspace
        self._files = files
        self._pictures = pictures
        self._sessions = sessions
        self._masks = masks
        self._results = results
        for name, slot in (
            ("open", lambda: files.ask_to_open("Open a picture", picture_filters(), pictures.open_path)),
            ("save", self.save_result),
            ("open_session", lambda: files.ask_to_open("Open a session", SESSIONS, sessions.open)),
            ("save_session", self.save_session),
            ("load_mask", lambda: files.ask_to_open("Open a mask", MASKS, masks.load)),
            ("save_mask", self.save_mask),
            ("export_csv", lambda: self.export("csv")),
            ("export_json", lambda: self.export("json")),
        ):
            actions[name].triggered.connect(slot)

    def take(self, paths: Sequence[str]) -> None:
        """Open what was dropped: a session or a mask (by its text), else a picture. Of several, the first."""
        path = Path(paths[0])
        suffix = path.suffix.lower()
        if suffix == ".json" and not says_mask(path):
            self._sessions.open(path)
        elif suffix in (".json", ".csv", ".txt"):
            self._masks.load(path)
        else:
            self._pictures.open_path(path)

    def save_result(self) -> None:
        """Ask where, and save the result, if there is one of the present settings."""
        if not self._pictures.can_save_result():
            return

        # A kernel that writes 8 or 16 bit has clipped its results.
        depths = result_filters(with_float=self._workspace.result_dtype == "float32")
        name = f"{self._stem()}-{self._mask_word()}{offered_suffixes()[0]}"

        def save(path: Path, chosen: str) -> None:
            self._pictures.save_result(path, depths.get(chosen, "keep"))

        self._files.ask_to_save("Save the result", list(depths), name, save)

    def save_session(self) -> None:
        """Ask where, and save the session."""
        self._ask_to_save(
            "Save the session", SESSIONS[:1], f"{self._stem()}-session.json", self._sessions.save
        )

    def save_mask(self) -> None:
        """Ask where, and save the mask."""
        self._ask_to_save("Save the mask", MASKS_AS, f"{self._mask_word()}.json", self._masks.save)

    def export(self, suffix: str) -> None:
        """Ask where, and save the results as csv or json."""
        filters, name = [f"{suffix.upper()} (*.{suffix})"], f"{self._stem()}-results.{suffix}"
        self._ask_to_save("Save the results", filters, name, self._results.export)

    def _ask_to_save(self, title: str, filters: list[str], name: str, save: Callable[[Path], None]) -> None:
        self._files.ask_to_save(title, filters, name, lambda path, _filter: save(path))

    def _stem(self) -> str:
        picture = self._workspace.picture
        return Path(picture.title).stem.lower().replace(" ", "-") if picture else "haloscope"

    def _mask_word(self) -> str:
        name = "".join(letter if letter.isalnum() else "-" for letter in self._workspace.mask.name.lower())
        return "-".join(part for part in name.split("-") if part) or "filtered"
