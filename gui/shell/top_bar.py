"""The bar over everything: files and history left, what picture this is, runs right."""

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QAction, QFontMetrics, QResizeEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QMenu, QSizePolicy, QToolButton, QWidget

from engine.host.protocol import PictureHandle
from gui.explore.workspace import Workspace
from gui.page.actions import Actions
from gui.style.metrics import GRID, HALF_GRID


class TopBar(QFrame):
    """Buttons of the actions that the main job needs."""

    def __init__(self, workspace: Workspace, actions: Actions, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._description = _Elided()
        row = QHBoxLayout(self)
        row.setContentsMargins(GRID, HALF_GRID, GRID, HALF_GRID)
        row.setSpacing(HALF_GRID)
        open_button = _button(actions["open"])
        samples = QMenu(open_button)
        samples.addActions(actions.samples)
        open_button.setMenu(samples)
        open_button.setPopupMode(QToolButton.ToolButtonPopupMode.MenuButtonPopup)
        row.addWidget(open_button)
        for name in ("save", "undo", "redo"):
            row.addWidget(_button(actions[name]))
        row.addSpacing(GRID)
        row.addWidget(self._description, 1)
        for name in ("run", "run_all", "cancel"):
            button = _button(actions[name])
            row.addWidget(button)
            if name == "run":
                self._run = button
        self.show_run_as_primary(True)
        workspace.picture_changed.connect(self._show)
        self._show(workspace.picture)

    def show_run_as_primary(self, is_primary: bool) -> None:
        """Make Run the main button, or one like the others."""
        self._run.setObjectName("primary" if is_primary else "")
        # On the accent colour, an icon in the colour of text would hardly be seen.
        beside = Qt.ToolButtonStyle.ToolButtonTextBesideIcon
        self._run.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextOnly if is_primary else beside)
        # A style sheet reads the name of an object once.
        self._run.style().unpolish(self._run)
        self._run.style().polish(self._run)

    def _show(self, picture: PictureHandle | None) -> None:
        self._description.show_text(picture.description if picture else "", picture.path if picture else "")


class _Elided(QLabel):
    """A line that is cut in the middle where it is too long, and whole in the tooltip."""

    def __init__(self) -> None:
        super().__init__()
        self._whole = ""
        self.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self.setAccessibleName("Picture")

    def show_text(self, text: str, path: str) -> None:
        """Show another line."""
        self._whole = text
        self.setToolTip(path or text)
        self._cut()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._cut()

    def _cut(self) -> None:
        metrics = QFontMetrics(self.font())
        self.setText(metrics.elidedText(self._whole, Qt.TextElideMode.ElideMiddle, self.width()))


def _button(action: QAction) -> QToolButton:
    button = QToolButton(autoRaise=True)
    button.setDefaultAction(action)
    button.setIconSize(QSize(2 * GRID + 2, 2 * GRID + 2))
    button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
    button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
    button.setAccessibleName(action.iconText())
    return button
