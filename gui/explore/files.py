"""The files of the page: sessions and masks are opened and saved here, pictures by their controller.

All but pictures are small, so the engine's process does not take part.
"""

import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from importlib import import_module
from pathlib import Path

import numpy as np
from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtWidgets import QDialog, QInputDialog

from engine.errors import EngineError
from engine.host.protocol import PictureHandle
from engine.image.format import DEFAULT_QUALITY, Format
from engine.image.formats import format_to_save, formats_for, opened_suffixes, saved_formats
from engine.image.large.opening import kind_of
from engine.mask.text import FORMS, MAX_BYTES, SUFFIXES, load_mask, save_mask
from gui.explore.picture.picture_controller import SAVE_SOURCE, PictureController
from gui.explore.picture_exchange import pasted_folder
from gui.explore.sessions import Sessions
from gui.explore.workspace import Workspace
from gui.page.actions import Actions
from gui.page.contract import Services
from gui.page.files import Kind

MASKS = [f"Masks ({' '.join(f'*{suffix}' for suffix in SUFFIXES)})", "All files (*)"]
MASKS_AS = {f"{form.title} (*{form.suffix})": style for style, form in FORMS.items()}
MASK_MARK, CHAIN_MARK = b"haloscope-mask", b'"haloscope-chain"'
SESSIONS = ["Haloscope sessions (*.haloscope *.json)", "All files (*)"]
SESSIONS_AS = ["Haloscope session (*.haloscope)"]
_NOT_BARE = (
    "The result was not saved without metadata",
    "a picture in parts is saved with its tags",
    "Save it with them, or crop it to a region first.",
)


class ExploreFiles(QObject):
    """Opens and saves what belongs to the page."""

    batch_wanted = Signal(list)  # folders that were dropped
    chain_dropped = Signal(object)  # the path of a chain

    def __init__(
        self, services: Services, workspace: Workspace, pictures: PictureController, sessions: Sessions
    ) -> None:
        super().__init__()
        self._workspace, self._pictures, self._sessions = workspace, pictures, sessions
        self._messages, self._dialogs, self._recent = services.messages, services.files, services.recent
        self.question: QDialog | None = None
        """The last question before a file is saved: which result of a chain, its quality."""
        self._quality = 0  # the one that was chosen last for this picture
        pictures.opened.connect(self._follow_picture)

    def connect_actions(self, actions: Actions) -> None:
        """Let the file actions of the page ask where, and then open or save."""
        ask_to_open, open_picture = self._dialogs.ask_to_open, self._pictures.open_path
        actions.connect_to(
            open=lambda: ask_to_open("Open a picture", picture_filters(), open_picture),
            open_folder=lambda: self._dialogs.ask_for_folder("Open a folder as OME-Zarr", open_picture),
            open_session=lambda: ask_to_open("Open a session", SESSIONS, self.open_session),
            load_mask=lambda: ask_to_open("Open a mask", MASKS, self.load_mask),
            save=self._ask_to_save_result,
            save_bare=partial(self._ask_to_save_result, metadata=False),
            save_session=self.ask_to_save_session,
            save_mask=self._ask_to_save_mask,
        )

    def ask_to_save_session(self, then: Callable[[], None] = lambda: None) -> None:
        """Ask where, and save the session; `then` is called when it is saved."""
        name, save = f"{self.stem()}.haloscope", lambda path, _filter: self.save_session(path, then)
        self._dialogs.ask_to_save("Save the session", SESSIONS_AS, name, save)

    def _ask_to_save_mask(self) -> None:
        name, save = f"{self._mask_word()}.json", lambda path, form: self.save_mask(path, MASKS_AS[form])
        self._dialogs.ask_to_save("Save the mask", list(MASKS_AS), name, save)

    def open_dropped(self, paths: Sequence[str]) -> None:
        """Open what was dropped: a session or a mask (by its text), else a picture. Of several, the first.

        A folder that is no picture is for a batch. Of several files a message says that one is opened.
        """
        self._messages.clear("dropped")
        path = Path(paths[0])
        if path.is_dir() and kind_of(path) != "zarr":
            self.batch_wanted.emit(list(paths))
            return
        if len(paths) > 1:
            what, why = f"{path.name} was opened, of {len(paths)} that were dropped", "the page shows one"
            remedy = "To filter several, drop a folder, or use Batch (Ctrl+Shift+B)."
            self._messages.note("dropped", what, why, remedy)
        suffix = path.suffix.lower()
        if suffix == ".json" and declares(path, CHAIN_MARK):
            self.chain_dropped.emit(path)
        elif suffix == ".haloscope" or (suffix == ".json" and not declares(path, MASK_MARK)):
            self.open_session(path)
        elif suffix in SUFFIXES:
            self.load_mask(path)
        else:
            self._pictures.open_path(path)

    def load_mask(self, path: Path) -> None:
        """Read a mask in any form, as one step that can be undone."""
        try:
            mask = load_mask(path)
        except EngineError as error:
            self._messages.show_error("mask", error)
        else:
            self._messages.clear("mask")
            self._workspace.set_mask(mask, f"Load {path.name}", is_new=True)
            self._note("mask", str(path))

    def save_mask(self, path: Path, style: str = "") -> None:
        """Write the mask as it was typed; the suffix chooses the form, and `style` among several."""
        try:
            save_mask(self._workspace.mask, path, style)
        except EngineError as error:
            self._messages.show_error("mask", error)
        else:
            self._note("mask", str(path))
            self._messages.note("mask", f"Mask saved as {path}")

    def save_session(self, path: Path, then: Callable[[], None] = lambda: None) -> None:
        """Write the session as it is now; `then` is called if that was possible."""

        def done() -> None:
            self._note("session", str(path))
            self._messages.note("session", f"Session saved as {path}")
            then()

        self._sessions.save(path, done, lambda error: self._messages.show_error("session", error))

    def open_session(self, path: Path) -> None:
        """Read a session and show it; without its picture, which is reported, show the rest."""
        self._messages.clear("session")
        done = partial(self._note, "session", str(path))
        self._sessions.open(path, done, lambda error: self._messages.show_error("session", error))

    def _follow_picture(self, picture: PictureHandle) -> None:
        self._note("picture", picture.path)
        self._quality = 0
        # What is made of a picture is kept beside it. Pasted ones lie in a folder that is not shown.
        folder = Path(picture.path).parent if picture.path else None
        if folder is not None and folder.is_dir() and pasted_folder() not in folder.parents:
            self._dialogs.folder = str(folder)

    def _note(self, kind: Kind, path: str) -> None:
        if path:
            self._recent.note(kind, str(Path(path).absolute()))

    def _ask_to_save_result(self, *, metadata: bool = True) -> None:
        """Ask which of a chain, then where, and save the result, if there is one of the present settings."""
        ask = partial(self._ask_where, metadata=metadata)
        if self._workspace.shown_step is None or not self._pictures.can_save_result():
            ask()
            return

        def chosen(whole: bool) -> None:
            self._workspace.show_whole(whole)
            self._pictures.when_shown(ask)

        # Chains are known to those who have one.
        which = import_module(".chain.chain_list", __package__)
        self.question = which.ask_which(self._workspace.state, self._dialogs.parent, chosen)

    def _ask_where(self, *, metadata: bool) -> None:
        if not self._pictures.can_save_result():
            return
        if self._pictures.saves_in_parts and not metadata:
            self._messages.warn(SAVE_SOURCE, *_NOT_BARE)
            return
        # A kernel that writes 8 or 16 bit has clipped its results.
        with_float = self._workspace.result_dtype == "float32"
        dtype = np.dtype(self._workspace.picture.dtype if self._workspace.picture else "uint8")
        depths, suffix = result_filters(dtype, with_float=with_float), formats_for(dtype)[0].saved_suffixes[0]
        if self._pictures.saves_in_parts:
            depths, suffix = filters_in_parts(with_float=with_float), ".tif"
        name = f"{self.result_stem()}{suffix}"

        def save(path: Path, chosen: str) -> None:
            known, depth = format_to_save(path), depths.get(chosen, "keep")
            if known is not None and known.saved_suffixes[0] not in chosen:
                # The ending that was typed is the form that is meant.
                depth = depth_in(known, dtype)
            write = partial(self._pictures.save_result, path, depth, metadata=metadata)
            if known is not None and known.has_quality:
                self._ask_quality(known, lambda quality: write(quality=quality))
            else:
                write()

        number, count = self._workspace.shown_step, len(self._workspace.state.steps)
        of_step = f" of step {number} of {count}" if number else " of the chain" if count > 1 else ""
        title = f"Save the result{of_step}{'' if metadata else ' without metadata'}"
        self._dialogs.ask_to_save(title, list(depths), name, save)

    def _ask_quality(self, known: Format, chosen: Callable[[int], None]) -> None:
        """Ask how well a form with losses keeps the result; at first as well as the JPEG that was opened."""
        picture = self._workspace.picture
        opened = picture.metadata.quality if picture is not None else 0
        self.question = dialog = QInputDialog(self._dialogs.parent)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.setWindowTitle(f"Save as {known.title}")
        about = f" The opened picture has about {opened}." if opened else ""
        dialog.setLabelText(f"Quality, 1 to 100: the higher, the larger the file.{about}")
        dialog.setInputMode(QInputDialog.InputMode.IntInput)
        dialog.setIntRange(1, 100)
        dialog.setIntValue(self._quality or opened or DEFAULT_QUALITY)
        dialog.setOkButtonText("&Save")

        def take(quality: int) -> None:
            self._quality = quality
            chosen(quality)

        dialog.intValueSelected.connect(take)
        dialog.open()

    def stem(self) -> str:
        """Return what files of this picture are called at first."""
        picture = self._workspace.picture
        return Path(picture.title).stem.lower().replace(" ", "-") if picture else "haloscope"

    def result_stem(self) -> str:
        """Return what a file with the result is called at first, without its suffix."""
        number = self._workspace.shown_step
        if self._workspace.is_chain and number is None:
            return f"{self.stem()}-{_word(self._workspace.state.title) or 'chain'}"
        step = f"step-{number}-" if number else ""
        return f"{self.stem()}-{step}{self._workspace.operation or self._mask_word()}"

    def _mask_word(self) -> str:
        return _word(self._workspace.step.mask_title) or "filtered"


def _word(name: str) -> str:
    """Return a name as a part of a file's name."""
    return "-".join(re.findall(r"[^\W_]+", name.lower()))


def picture_filters() -> list[str]:
    """Return the name filters of the dialog that opens a picture."""
    return [f"Pictures ({' '.join(f'*{suffix}' for suffix in opened_suffixes())})", "All files (*)"]


def depth_in(known: Format, dtype: np.dtype) -> str:
    """Return the depth in which a format saves a picture of this type: its own, or the deepest there is."""
    if known.holds(dtype):
        return "keep"
    return "16" if known.holds(np.uint16) else "8" if known.holds(np.uint8) else "float32"


def result_filters(dtype: np.dtype, *, with_float: bool) -> dict[str, str]:
    """Return the name filters for a result, each with the depth that it means; first those of its type."""
    depths = {}
    for known in sorted(saved_formats(), key=lambda known: not known.holds(dtype)):
        depth, ending = depth_in(known, dtype), f"(*{known.saved_suffixes[0]})"
        is_float = depth == "float32" or (depth == "keep" and dtype == np.float32)
        words = ", 32-bit float" if is_float else "" if depth == "keep" else f", {depth} bit"
        depths[f"{known.title}{words} {ending}"] = depth
        if with_float and not is_float and known.holds(np.float32):
            depths[f"{known.title}, 32-bit float, nothing clipped {ending}"] = "float32"
    return depths


def filters_in_parts(*, with_float: bool) -> dict[str, str]:
    """Return the name filters for the result of a picture in parts, each with the depth that it means."""
    kinds = {"TIFF": ".tif", "OME-Zarr, a folder": ".zarr", "NumPy array": ".npy"}
    depths = {f"{title} (*{suffix})": "keep" for title, suffix in kinds.items()}
    if with_float:
        more = {f"{title}, 32-bit float, nothing clipped (*{suffix})" for title, suffix in kinds.items()}
        depths |= dict.fromkeys(sorted(more), "float32")
    return depths


def declares(path: Path, mark: bytes) -> bool:
    """Return whether a JSON file declares itself of a form; False for one that cannot be read."""
    # Opening a pipe would wait for ever.
    with suppress(OSError):
        if path.is_file():
            with path.open("rb") as file:
                return mark in file.read(MAX_BYTES)
    return False
