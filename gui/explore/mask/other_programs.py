"""The mask as another program has it: its settings, as one step, and a dialog with its line of code."""

from PySide6.QtCore import QObject
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QWidget

from engine.device_info import AUTO
from engine.errors import EngineError
from engine.recipes.programs import PROGRAMS, as_program
from gui.explore.mask.program_dialog import ProgramDialog
from gui.explore.workspace import Workspace
from gui.page.actions import Actions, Entry
from gui.page.messages import Messages

SOURCE = "as another program"
ENTRIES = [
    Entry(f"as_program:{program.key}", program.title,
          f"Set flip, border and output type as {program.title} has them, and show its line of code.",
          "", "", "&Mask", 20, "As anot&her program would", program.key)
    for program in PROGRAMS
]  # fmt: skip


class OtherPrograms(QObject):
    """Brings an action for each program; its dialog stays beside the window, and follows the next choice."""

    def __init__(
        self, actions: Actions, workspace: Workspace, messages: Messages, parent_widget: QWidget
    ) -> None:
        super().__init__(parent_widget)
        self._workspace = workspace
        self._messages = messages
        self._parent_widget = parent_widget
        self.dialog: ProgramDialog | None = None
        self.actions: list[QAction] = actions.add(ENTRIES)
        for action, program in zip(self.actions, PROGRAMS, strict=True):
            action.triggered.connect(lambda _on, key=program.key: self.choose(key))

    def choose(self, key: str) -> None:
        """Do what a program would, as one step that can be undone; a message says why it cannot be done."""
        workspace, picture = self._workspace, self._workspace.picture
        try:
            other = as_program(
                key,
                workspace.mask,
                normalise=workspace.settings.normalise and workspace.can_normalise,
                dtype=picture.dtype if picture else "uint8",
                channels=picture.channels if picture else 3,
            )
        except EngineError as error:
            self._messages.show_error(SOURCE, error)
            return
        self._messages.clear(SOURCE)
        settings = other.settings
        if workspace.settings.variant != AUTO:
            # The chosen kernel may not write 8 bit; clipped float32 results are saved as the same bytes.
            settings = settings | {"result_type": "float32"}
        workspace.set_mask(other.mask, f"As {other.program.title} would", **settings)
        if self.dialog is None:
            self.dialog = ProgramDialog(self._parent_widget)
        self.dialog.show_program(other)
