"""The Help menu: keyboard shortcuts, about, what a report of a problem needs."""

import platform
from collections.abc import Callable
from contextlib import suppress
from html import escape
from importlib.metadata import PackageNotFoundError, version

from PySide6.QtCore import Qt, QUrl, qVersion
from PySide6.QtGui import QAction, QDesktopServices, QGuiApplication, QKeySequence
from PySide6.QtWidgets import QDialog, QDialogButtonBox, QTextBrowser, QWidget

from engine import __version__
from engine.files.crash_log import log_path
from gui.style.metrics import GRID
from gui.widgets.panel_parts import close_box, column


def show_text(
    parent: QWidget | None,
    title: str,
    html: str,
    height: int,
    buttons: dict[str, tuple[str, Callable[[], object]]] | None = None,
) -> QDialog:
    """Show words that can be scrolled, selected and copied; buttons by their text, each with its tooltip."""
    dialog = QDialog(parent)
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    dialog.setWindowTitle(title)
    dialog.resize(640, height)
    words = QTextBrowser()
    words.setOpenExternalLinks(True)
    words.setAccessibleName(title)
    words.document().setDocumentMargin(2 * GRID)
    words.setHtml(html)
    box = close_box(dialog)
    for text, (tip, act) in (buttons or {}).items():
        button = box.addButton(text, QDialogButtonBox.ButtonRole.ActionRole)
        button.setToolTip(tip)
        button.clicked.connect(lambda _=False, do=act: do())
    dialog.setLayout(column(words, box, spacing=2 * GRID, margins=(2 * GRID, 2 * GRID, 2 * GRID, 2 * GRID)))
    dialog.open()
    return dialog


def shortcuts_html(actions: list[QAction]) -> str:
    """Return a table of every action that has keys."""
    rows = [
        f"<tr><td>{escape(action.shortcut().toString(QKeySequence.SequenceFormat.NativeText))}</td>"
        f"<td style='padding-left: 24px'>{escape(action.text().replace('&', '').rstrip('…'))}</td></tr>"
        for action in actions
        if not action.shortcut().isEmpty()
    ]
    return f"<table cellspacing='6'>{''.join(rows)}</table>"


def about_html() -> str:
    """Return what this program is, with its version and where its log is."""
    return (
        f"<h3>Haloscope {__version__}</h3>"
        "<p>A desktop laboratory for image filters: the picture, the proof that it is right, the time,"
        " and the reason for the time.</p>"
        f"<p>Python packages: {escape(', '.join(_packages()))}.</p>"
        f"<p>If something goes wrong, details are in {escape(str(log_path()))}.</p>"
    )


def report_text() -> str:
    """Return what a report of a problem needs, as plain text: versions, system, log."""
    return "\n".join(
        (
            f"Haloscope {__version__}",
            f"Python {platform.python_version()}, Qt {qVersion()}, {QGuiApplication.platformName()}",
            platform.platform(),
            *_packages(),
            f"Crash log: {log_path()}",
        )
    )


def show_report(parent: QWidget | None) -> QDialog:
    """Show what a report of a problem needs, to be copied, with the way to the crash log."""
    text = report_text()
    html = (
        "<p>Say what you did, what you expected, and what happened instead. Add this, and the end of the"
        f" crash log if there is one:</p><pre>{escape(text)}</pre>"
    )
    folder = QUrl.fromLocalFile(str(log_path().parent))
    return show_text(
        parent,
        "Report a problem",
        html,
        440,
        {
            "&Copy": (
                "Copy the versions and the place of the log.",
                lambda: QGuiApplication.clipboard().setText(text),
            ),
            "&Open log folder": (
                "Show the folder of the crash log.",
                lambda: QDesktopServices.openUrl(folder),
            ),
        },
    )


def _packages() -> list[str]:
    found = []
    for name in ("PySide6-Essentials", "numpy", "numba", "numba-cuda", "pyqtgraph", "pillow", "tifffile"):
        with suppress(PackageNotFoundError):
            found.append(f"{name} {version(name)}")
    return found
