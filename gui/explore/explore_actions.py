"""The actions of the page Explore, and which of them can be chosen now."""

from PySide6.QtCore import QObject
from PySide6.QtGui import QAction, QActionGroup

from engine.geometry.range_modes import RANGE_MODES
from engine.image.formats import saved_formats, titles
from engine.image.open import SAMPLES
from gui.engine_link.engine_state import EngineState
from gui.explore.workspace import Workspace
from gui.page.actions import Actions, Entry

_FILE, _EDIT, _VIEW, _MASK = "&File", "&Edit", "&View", "&Mask"
ENTRIES: tuple[Entry, ...] = (
    Entry("open_session", "Open s&ession…", "Open a saved session (picture, mask, settings).", "Ctrl+Shift+O",
          "session-open", _FILE, 20),
    Entry("save_session", "Save sess&ion…",
          "Save picture path, mask, settings and drawn digit, to open them again later.", "Ctrl+Shift+S",
          "session-save", _FILE, 20),
    Entry("load_mask", "&Open mask…", "Open a mask file: JSON, CSV, ImageJ, ImageMagick, text.", "Ctrl+M",
          "mask-open", _MASK, 30),
    Entry("save_mask", "&Save mask…",
          "Save the mask as it was typed: JSON keeps everything, CSV and text the weights.", "Ctrl+Shift+M",
          "mask-save", _MASK, 30),
    Entry("masks", "Library of &masks…",
          "Choose a mask by its picture or a search; own masks and generators are there too.", "Ctrl+Alt+M",
          "mask", _MASK, 10),
    Entry("generate_mask", "&Generate a mask…",
          "Make a mask from a few numbers with sliders: Gaussian, Gabor, motion blur and others.",
          "Ctrl+Alt+G", "tune", _MASK, 10),
    Entry("mask_as_text", "Mask as &text…",
          "Type or paste the mask in any form, or copy it as NumPy, C, MATLAB, ImageMagick or JSON.",
          "Ctrl+Alt+X", "code-brackets", _MASK, 10),
    Entry("paste", "&Paste",
          "Open the picture or file on the clipboard, or put its numbers into the mask.", "Ctrl+V",
          "content-paste", _EDIT, 20),
    Entry("copy_picture", "C&opy result as picture", "Copy the filtered picture, for another program.",
          "Ctrl+Alt+C", "copy", _EDIT, 20),
    Entry("copy_original", "Copy or&iginal as picture", "Copy the picture as it was opened.",
          "Ctrl+Alt+Shift+C", "copy", _EDIT, 20),
    Entry("zoom_fit", "&Fit", "Show the whole picture.", "Ctrl+0", "zoom-fit", _VIEW, 10),
    Entry("zoom_actual", "&Actual size", "Show one pixel of the picture as one pixel of the screen.",
          "Ctrl+1", "zoom-actual", _VIEW, 10),
    Entry("lens", "&Lens", "How a pixel of the result comes about: its cells, products, sum and rounding.",
          "Ctrl+L", "magnify-scan", _VIEW, 30),
    Entry("blink", "&Blink", "Show the original, and the result again (key B over the picture).", "Ctrl+B",
          "original", _VIEW, 30),
    Entry("zoom_in", "Zoom &in", "Make the picture larger; the wheel over the picture does the same.",
          "Ctrl++ Ctrl+=", "zoom-in", _VIEW, 10),
    Entry("zoom_out", "Zoom &out", "Make the picture smaller; the wheel over the picture does the same.",
          "Ctrl+-", "zoom-out", _VIEW, 10),
)  # fmt: skip


def _picture_entries() -> tuple[Entry, ...]:
    return (
        Entry("open", "&Open…", f"Open a picture: {titles()}. You can also drop one here.",
              "Ctrl+O", "open", _FILE, 10),
        Entry("open_folder", "Open &folder as OME-Zarr…",
              "Open a picture that is stored as a folder: OME-Zarr or a Zarr array.",
              "Ctrl+Alt+O", "open", _FILE, 10),
        Entry("save", "&Save result…", f"Save the filtered picture as {titles(saved_formats())}.",
              "Ctrl+S", "save", _FILE, 30),
        Entry("save_bare", "Save &without metadata…",
              "Save the filtered picture without EXIF data (camera, place, time) and resolution.",
              "Ctrl+Alt+S", "save", _FILE, 30),
        Entry("batch", "&Batch…",
              "Filter a folder of pictures as this page does now: its mask or operation, its settings.",
              "Ctrl+Shift+B", "batch", _FILE, 30),
    )  # fmt: skip


# fmt: off
_SAMPLES = [
    Entry(f"sample:{sample.key}", f"{sample.title}, {sample.width} × {sample.height}", sample.sentence,
          f"Ctrl+Alt+{number}", "", _FILE, 10, "Open sam&ple", sample.key)
    for number, sample in enumerate(SAMPLES, start=1)
]
_RANGES = [
    Entry(f"range:{mode}", mode.capitalize(), sentence, "", "", _VIEW, 30, "Display &range", mode)
    for mode, sentence in RANGE_MODES.items()
]
# fmt: on


_CLIPPED = "The result is clipped already: choose float32 as output type for the other ways."


class ExploreActions(QObject):
    """Brings the actions of the page, and keeps them enabled and checked as the state says."""

    def __init__(self, actions: Actions, workspace: Workspace, state: EngineState) -> None:
        super().__init__(actions)
        self._actions = actions
        self._workspace = workspace
        self._state = state
        actions.add((*_picture_entries(), *ENTRIES))
        self.samples: list[QAction] = actions.add(_SAMPLES)
        self.range_modes: QActionGroup = actions.add_choice(_RANGES)
        of_workspace = workspace.picture_changed, workspace.settings_changed
        for signal in (*of_workspace, state.filtered):
            signal.connect(self._refresh)
        self.range_modes.triggered.connect(lambda action: workspace.change(range_mode=action.data()))
        self._refresh()

    def _refresh(self) -> None:
        has_result, has_picture = self._state.last_result is not None, self._workspace.picture is not None
        self._actions.allow("copy_picture", "" if has_result else "There is no result yet.")
        # Before there is a result, saving says that it is being computed.
        for name in ("save", "save_bare", "copy_original", "zoom_fit", "zoom_actual", "zoom_in", "zoom_out"):
            self._actions.allow(name, "" if has_picture else "There is no picture yet.")
        for action in self.range_modes.actions():
            action.setChecked(action.data() == self._workspace.range_mode)
            self._actions.allow(action.objectName(), "" if self._workspace.can_leave_range else _CLIPPED)
