"""What opens beside the window when it is asked for: palette, documents, preferences, what this is."""

import platform
from contextlib import suppress
from html import escape
from importlib.metadata import PackageNotFoundError, version

from PySide6.QtCore import Qt, QUrl, qVersion
from PySide6.QtGui import QDesktopServices, QGuiApplication
from PySide6.QtWidgets import QApplication, QDialog, QDialogButtonBox, QTextBrowser, QWidget

from engine import __version__
from engine.files.crash_log import log_path
from gui.page.actions import Actions
from gui.page.panels import Panel
from gui.shell.command_palette import CommandPalette, commands_of
from gui.shell.document_window import HOME, DocumentWindow, open_documents, section_of
from gui.shell.main_window import MainWindow
from gui.shell.preferences import PreferencesController
from gui.shell.preferences_dialog import PreferencesDialog
from gui.style.metrics import GRID
from gui.widgets.panel_parts import close_box, column

_ABOUT = (
    "<h3>Haloscope {version}</h3><p>A desktop laboratory for image filters: the picture, the proof that it is"
    " right, the time, and the reason for the time.</p><p>If something goes wrong, say what you did, what you"
    " expected, and what happened instead. Add this, and the end of the crash log if there is one:</p>"
    "<pre>{report}</pre>"
)


class Dialogs:
    """Opens them over the window; none of them blocks it."""

    def __init__(self, window: MainWindow, actions: Actions, preferences: PreferencesController) -> None:
        self._window, self._actions, self._preferences = window, actions, preferences

    def show(self, name: str) -> object:
        """Open what the action of this name asks for."""
        return getattr(self, f"_show_{name}")()

    def _show_palette(self) -> CommandPalette:
        palette = CommandPalette(commands_of(self._actions, self._window.page), self._window)
        # Where the eyes are, not over the menu.
        left = self._window.x() + (self._window.width() - palette.width()) // 2
        palette.move(left, self._window.y() + self._window.height() // 8)
        palette.open()
        return palette

    def _show_panel_help(self) -> DocumentWindow:
        page = self._window.page
        return open_documents(self._window, section_of(page.sections, panel_of(focused(), page)))

    def _show_documentation(self) -> DocumentWindow:
        return open_documents(self._window, HOME)

    def _show_shortcuts(self) -> PreferencesDialog:
        dialog = self._show_preferences()
        dialog.tabs.setCurrentWidget(dialog.keys)
        return dialog

    def _show_about(self) -> QDialog:
        """Show what this program is, and what a report of a problem needs, to be copied."""
        dialog, words, report = QDialog(self._window), QTextBrowser(), report_text()
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.setWindowTitle(self._actions["about"].iconText())
        dialog.resize(640, 520)
        words.setAccessibleName(dialog.windowTitle())
        words.document().setDocumentMargin(2 * GRID)
        words.setHtml(_ABOUT.format(version=__version__, report=escape(report)))
        box, role = close_box(dialog), QDialogButtonBox.ButtonRole.ActionRole
        copy, log = box.addButton("&Copy", role), box.addButton("&Open log folder", role)
        copy.setToolTip("Copy the versions and the place of the log.")
        copy.clicked.connect(lambda: QGuiApplication.clipboard().setText(report))
        log.setToolTip("Show the folder of the crash log.")
        log.clicked.connect(lambda: QDesktopServices.openUrl(QUrl.fromLocalFile(str(log_path().parent))))
        margins = (2 * GRID, 2 * GRID, 2 * GRID, 2 * GRID)
        dialog.setLayout(column(words, box, spacing=2 * GRID, margins=margins))
        dialog.open()
        return dialog

    def _show_preferences(self) -> PreferencesDialog:
        dialog = self._window.findChild(PreferencesDialog)
        if dialog is None:
            dialog = PreferencesDialog(self._preferences, self._actions, self._window)
            dialog.finished.connect(dialog.deleteLater)
        dialog.open()
        return dialog


def focused() -> QWidget | None:
    """Return the widget that has the focus."""
    return QApplication.focusWidget()


def panel_of(widget: QWidget | None, page: QWidget) -> str:
    """Return the name of the panel that a widget is in; that of the picture, or empty, outside of panels."""
    while widget is not None and widget is not page:
        if isinstance(widget, Panel) or widget.objectName() == "picture":
            return widget.objectName()
        widget = widget.parentWidget()
    return ""


def report_text() -> str:
    """Return what a report of a problem needs, as plain text: versions, system, log."""
    packages = []
    for name in ("PySide6-Essentials", "numpy", "numba", "numba-cuda", "pyqtgraph", "pillow", "tifffile"):
        with suppress(PackageNotFoundError):
            packages.append(f"{name} {version(name)}")
    qt = f"Python {platform.python_version()}, Qt {qVersion()}, {QGuiApplication.platformName()}"
    known = f"Haloscope {__version__}", qt, platform.platform(), *packages, f"Crash log: {log_path()}"
    return "\n".join(known)
