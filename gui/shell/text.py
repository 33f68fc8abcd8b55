"""A window with words: help, keyboard shortcuts, about."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDialog, QDialogButtonBox, QTextBrowser, QVBoxLayout, QWidget

from gui.style.metrics import GRID


def show_text(parent: QWidget | None, title: str, html: str, width: int = 640, height: int = 560) -> QDialog:
    """Show words that can be scrolled, selected and copied."""
    dialog = QDialog(parent)
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    dialog.setWindowTitle(title)
    dialog.resize(width, height)
    words = QTextBrowser()
    words.setOpenExternalLinks(True)
    words.setAccessibleName(title)
    words.document().setDocumentMargin(2 * GRID)
    words.setHtml(html)
    buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
    buttons.rejected.connect(dialog.reject)
    column = QVBoxLayout(dialog)
    column.setContentsMargins(2 * GRID, 2 * GRID, 2 * GRID, 2 * GRID)
    column.setSpacing(GRID)
    column.addWidget(words)
    column.addWidget(buttons)
    dialog.open()
    return dialog
