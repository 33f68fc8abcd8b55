"""What the picture pane says before there is a picture."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QPushButton, QWidget

from engine.image.formats import titles
from gui.style.metrics import GRID, scaled_font
from gui.widgets.panel_parts import centred_text, column, row

_TEXT = (
    "Open a picture with Ctrl+O, drop one here, or take a sample.\n"
    "The original and the filtered result are shown here."
)
_TITLE = "No picture yet"


class EmptyState(QWidget):
    """The invitation, with its two buttons."""

    def __init__(self) -> None:
        super().__init__()
        self.title = QLabel(_TITLE, alignment=Qt.AlignmentFlag.AlignCenter)
        self.title.setFont(scaled_font(1.5))
        self.text = centred_text(_TEXT)
        self.open_button = QPushButton("Open picture…")
        self.open_button.setToolTip(f"Choose a {titles()} file (Ctrl+O).")
        self.sample_button = QPushButton("Use a sample")
        self.sample_button.setToolTip("Show a picture that came with the program.")
        buttons = row(1, self.open_button, self.sample_button, 1)
        self.setLayout(column(1, self.title, self.text, buttons, 1, spacing=2 * GRID))

    def show_stage(self, stage: str) -> None:
        """Show the stage of opening a picture; empty brings the invitation back."""
        self.title.setText(f"{stage[:1].upper()}{stage[1:]} …" if stage else _TITLE)
        for widget in (self.text, self.open_button, self.sample_button):
            widget.setVisible(not stage)
