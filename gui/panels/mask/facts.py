"""What is worth knowing about the mask, in two sentences; or why an edit was refused."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QSizePolicy, QWidget

from engine.mask.analysis import describe
from gui.state.workspace import Workspace
from gui.style.theme import current_theme, theme_notifier

_LINES = 4


class MaskFacts(QLabel):
    """Keeps its height whatever it says, so that nothing under it moves."""

    def __init__(self, workspace: Workspace, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._workspace = workspace
        self._is_refusal = False
        font = self.font()
        font.setPointSizeF(font.pointSizeF() * 0.9)
        self.setFont(font)
        self.setWordWrap(True)
        self.setAlignment(Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignLeft)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.setFixedHeight(_LINES * self.fontMetrics().lineSpacing() + 2)
        self.setAccessibleName("About the mask")
        workspace.mask_changed.connect(self.show_facts)
        theme_notifier().changed.connect(self._colour)
        self.show_facts()

    def show_facts(self) -> None:
        """Describe the mask."""
        sentences = describe(self._workspace.mask)
        self._show(" ".join(sentences[:2]), "\n".join(sentences), is_refusal=False)

    def show_refusal(self, sentence: str) -> None:
        """Say why an edit was not made, until the mask changes."""
        self._show(sentence, sentence, is_refusal=True)

    def _show(self, text: str, tooltip: str, *, is_refusal: bool) -> None:
        self._is_refusal = is_refusal
        self.setText(text)
        self.setToolTip(tooltip)
        self._colour()

    def _colour(self) -> None:
        theme = current_theme()
        self.setStyleSheet(f"color: {theme.error if self._is_refusal else theme.muted}")
