"""Every action of the window, once: its text, shortcut, icon and the tooltip that teaches it.

Menus, the top bar and (later) the command palette take them from here; `gui.shell.app` connects them.
"""

from dataclasses import dataclass

from PySide6.QtCore import QObject, Qt, Slot
from PySide6.QtGui import QAction, QActionGroup, QKeySequence, QUndoStack

from engine.image.convert import RANGE_MODES
from engine.image.samples import SAMPLES
from gui.style.icons import icon
from gui.style.theme import THEME_NAMES


@dataclass(frozen=True, slots=True)
class Entry:
    """What an action is made from; `name` is its key in `Actions`."""

    name: str
    text: str
    tip: str
    shortcut: str = ""
    icon: str = ""


ENTRIES: tuple[Entry, ...] = (
    Entry("open", "&Open…", "Open a picture: PNG, JPEG, TIFF, BMP, WebP or GIF. You can also drop one here.",
          "Ctrl+O", "open"),
    Entry("save", "&Save result…", "Save the filtered picture as PNG, JPEG, TIFF or WebP.", "Ctrl+S", "save"),
    Entry("open_session", "Open s&ession…", "Take up saved work: its picture, mask and settings.",
          "Ctrl+Shift+O", "session-open"),
    Entry("save_session", "Save sess&ion…", "Save picture path, mask and settings, to take the work up later.",
          "Ctrl+Shift+S", "session-save"),
    Entry("load_mask", "Open &mask…", "Take a mask from a file: JSON, CSV, or numbers in a text.", "Ctrl+M",
          "mask-open"),
    Entry("save_mask", "Save m&ask…", "Save the mask as it was typed: JSON keeps everything, CSV and text the weights.",
          "Ctrl+Shift+M", "mask-save"),
    Entry("export_csv", "Save results as &CSV…",
          "Save the table of results for a spreadsheet: medians, spread and proof, a row a run.", "Ctrl+E", "export"),
    Entry("export_json", "Save results as &JSON…",
          "Save the results with every raw sample, the proof, the machine and its versions.", "Ctrl+Shift+E", "export"),
    Entry("quit", "&Quit", "Close the window. Its layout is kept.", "Ctrl+Q", "quit"),
    Entry("copy_results", "&Copy results", "Copy the table of results, to paste it into a spreadsheet.",
          "Ctrl+Shift+C", "copy"),
    Entry("clear_results", "C&lear results", "Empty the table of results and the plots.", "Ctrl+Shift+Del", "clear"),
    Entry("run", "&Run",
          "Run the chosen kernel: verify it against the float64 oracle, warm up, then measure its time.",
          "Ctrl+R", "run"),
    Entry("run_all", "Run &all",
          "Run every variant that can do this, one after the other, and compare their times in the plots.",
          "Ctrl+Shift+R", "run-all"),
    Entry("multiply", "&Multiply matrices",
          "Multiply in every way with every tile that is chosen: verify against the float64 oracle, warm up, then "
          "measure.", "F5", "run"),
    Entry("cancel", "&Cancel", "Stop the run that goes on. Results that are finished stay.", "Esc", "cancel"),
    Entry("retry_gpu", "Try the &GPU again", "Use the GPU again after it was given up because of repeated faults.",
          "Ctrl+Shift+G", "retry"),
    Entry("zoom_fit", "&Fit", "Show the whole picture.", "Ctrl+0", "zoom-fit"),
    Entry("zoom_actual", "&Actual size", "Show one pixel of the picture as one pixel of the screen.",
          "Ctrl+1", "zoom-actual"),
    Entry("zoom_in", "Zoom &in", "Make the picture larger; the wheel over the picture does the same.",
          "Ctrl++", "zoom-in"),
    Entry("zoom_out", "Zoom &out", "Make the picture smaller; the wheel over the picture does the same.",
          "Ctrl+-", "zoom-out"),
    Entry("reset_layout", "&Default layout", "Put every panel of this page back to where it was at first.",
          "Ctrl+Shift+L", "layout"),
    Entry("shortcuts", "&Keyboard shortcuts", "List every action with its keys.", "F1", "keyboard"),
    Entry("documentation", "&How to use Haloscope", "The main job in six steps, and the words used here.",
          "Shift+F1", "help"),
    Entry("course", "&Course material",
          "The course papers: load any of their kernels with one click, and see their tables for this machine.",
          "F3", "course"),
    Entry("about", "&About Haloscope", "What this is, its version and where its crash log is.",
          "Ctrl+Shift+F1", "about"),
)  # fmt: skip


# Keys that people try as well: + without Shift, and the other redo.
ALSO = {"zoom_in": "Ctrl+=", "redo": "Ctrl+Y"}


class Actions(QObject):
    """The actions by name: `actions["run"]`, and the groups that choose one of several."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._actions: dict[str, QAction] = {entry.name: self._make(entry) for entry in ENTRIES}
        self.samples = [
            self._make(
                Entry(
                    f"sample:{sample.key}",
                    sample.title,
                    sample.sentence,
                    f"Ctrl+Alt+{number}",
                    "sample",
                )
            )
            for number, sample in enumerate(SAMPLES, start=1)
        ]
        for action, sample in zip(self.samples, SAMPLES, strict=True):
            action.setData(sample.key)
        tips = {
            "light": "Dark words on a light ground.",
            "dark": "Light words on a dark ground.",
            "system": "Follow the desktop.",
        }
        self.themes = self._group(
            [Entry(f"theme:{name}", name.capitalize(), tips[name]) for name in THEME_NAMES],
            list(THEME_NAMES),
        )
        self.range_modes = self._group(
            [Entry(f"range:{mode}", mode.capitalize(), sentence) for mode, sentence in RANGE_MODES.items()],
            list(RANGE_MODES),
        )

    def __getitem__(self, name: str) -> QAction:
        return self._actions[name]

    def all(self) -> list[QAction]:
        """Return every action."""
        return [*self._actions.values(), *self.samples, *self.themes.actions(), *self.range_modes.actions()]

    def explain(self, name: str, why_not: str) -> None:
        """Say in the tooltip why an action cannot be chosen now; empty brings back what it teaches."""
        teaches = next(entry.tip for entry in ENTRIES if entry.name == name)
        _set_tip(self._actions[name], f"{teaches} {why_not}".strip())

    def add_history(self, stack: QUndoStack) -> None:
        """Make undo and redo, whose texts name the step."""
        for name, action, keys in (
            ("undo", stack.createUndoAction(self, "&Undo"), "Ctrl+Z"),
            ("redo", stack.createRedoAction(self, "&Redo"), "Ctrl+Shift+Z"),
        ):
            action.setObjectName(name)
            _set_keys(action, name, keys)
            action.setIcon(icon(name))
            action.setIconText(name.capitalize())
            self._actions[name] = action
        # Qt writes the step's name over tooltip and text, after this signal's earlier receivers.
        stack.undoTextChanged.connect(self._teach_history, Qt.ConnectionType.QueuedConnection)
        stack.redoTextChanged.connect(self._teach_history, Qt.ConnectionType.QueuedConnection)
        self._teach_history()

    @Slot()
    def _teach_history(self) -> None:
        _set_tip(self._actions["undo"], "Take the last edit of the mask back.")
        _set_tip(self._actions["redo"], "Do the edit of the mask again that was taken back.")

    def _make(self, entry: Entry) -> QAction:
        action = QAction(entry.text, self)
        action.setObjectName(entry.name)
        action.setIconText(entry.text.replace("&", "").rstrip("…"))
        if entry.shortcut:
            _set_keys(action, entry.name, entry.shortcut)
        if entry.icon:
            action.setIcon(icon(entry.icon))
        _set_tip(action, entry.tip)
        return action

    def _group(self, entries: list[Entry], data: list[str]) -> QActionGroup:
        group = QActionGroup(self)
        for entry, value in zip(entries, data, strict=True):
            action = self._make(entry)
            action.setCheckable(True)
            action.setData(value)
            group.addAction(action)
        return group


def _set_keys(action: QAction, name: str, keys: str) -> None:
    action.setShortcuts([QKeySequence(text) for text in (keys, ALSO.get(name)) if text])


def _set_tip(action: QAction, words: str) -> None:
    keys = action.shortcut().toString(QKeySequence.SequenceFormat.NativeText)
    tip = f"{words} ({keys})" if keys else words
    if action.toolTip() != tip:
        action.setToolTip(tip)
        action.setStatusTip("")
