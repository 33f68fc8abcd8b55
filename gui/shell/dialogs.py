"""What opens beside the window on request: palette, documents, preferences, what this is.

The documents lie beside the program in a clone, within the package where it is installed, as the assets do.
"""

import platform
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, partial
from html import escape
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from PySide6.QtCore import QEvent, QObject, QSignalBlocker, Qt, QTimer, QUrl, qVersion
from PySide6.QtGui import QDesktopServices, QGuiApplication, QKeyEvent, QKeySequence, QPalette, QTextDocument
from PySide6.QtWidgets import (
    QApplication,
    QDialog,
    QDialogButtonBox,
    QHeaderView,
    QLineEdit,
    QListWidget,
    QSplitter,
    QTextBrowser,
    QTreeWidget,
    QTreeWidgetItem,
    QWidget,
)

from engine import __version__
from engine.files.reading import ASSETS
from engine.files.standard_streams import log_path
from gui.page.actions import Actions, plain
from gui.page.contract import Page
from gui.page.panels import Panel, shown_words
from gui.shell.main_window import MainWindow
from gui.shell.preferences import PreferencesController, PreferencesDialog
from gui.style.metrics import GRID
from gui.style.theme import theme_notifier
from gui.widgets.panel_parts import close_box, column, named

FOLDER = ASSETS.parent / "docs"
HOME = "window.md"
PATTERNS = "*.md", "variants/*.md"

_HEADING = re.compile(r"(?m)^(#+) (.+)$")
_PICTURE = re.compile(r"(?m)^\s*!\[([^\]]*)\]\([^)]*\)\n?")
_NOT_HERE = "{name} is not in the window. It is in the program's source, in the folder docs."
_MARKDOWN = QTextDocument.ResourceType.MarkdownResource


class DocumentWindow(QDialog):
    """The list of documents on the left, the text on the right."""

    def __init__(self, parent: QWidget | None) -> None:
        super().__init__(parent)
        self.setWindowTitle("Documentation")
        self.resize(118 * GRID, 84 * GRID)
        self.setMinimumSize(60 * GRID, 40 * GRID)
        self.list = named(QListWidget(), "Documents")
        self.list.addItems(list(documents().values()))
        self.list.setSpacing(2)
        self.list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.text = _Browser()
        self.text.sourceChanged.connect(self._select)
        self.list.currentRowChanged.connect(lambda at: self.show_section(list(documents())[at]))
        sides = QSplitter(Qt.Orientation.Horizontal, childrenCollapsible=False)
        sides.addWidget(self.list)
        sides.addWidget(self.text)
        sides.setSizes([34 * GRID, 84 * GRID])
        sides.setStretchFactor(1, 1)
        self.setLayout(column((sides, 1), margins=2 * GRID))
        # Colours of links and code are in the document.
        theme_notifier().changed.connect(self.text.reload)

    @property
    def shown(self) -> str:
        """The link to what is shown."""
        url = self.text.source()
        return _name_of(url) + (f"#{url.fragment()}" if url.hasFragment() else "")

    def show_section(self, link: str) -> None:
        """Show a document, at a heading where the link has one."""
        name, _, anchor = link.partition("#")
        url = QUrl.fromLocalFile(str(FOLDER / name))
        url.setFragment(anchor or None)  # type: ignore[arg-type]
        self.text.setSource(url, _MARKDOWN)

    def _select(self, url: QUrl) -> None:
        name, names = _name_of(url), list(documents())
        with QSignalBlocker(self.list):
            self.list.setCurrentRow(names.index(name) if name in names else -1)


class _Browser(QTextBrowser):
    """Shows a document, from the heading that the link names: Markdown has no anchors."""

    def __init__(self) -> None:
        super().__init__(openExternalLinks=True)
        self.setAccessibleName("Document")
        self.document().setDocumentMargin(2 * GRID)

    def loadResource(self, kind: int, url: QUrl | str) -> Any:
        if kind != _MARKDOWN:
            return None
        name = _name_of(QUrl(url))
        return text_of(name) if name in documents() else _NOT_HERE.format(name=name)

    def doSetSource(self, url: QUrl | str, kind: QTextDocument.ResourceType = _MARKDOWN) -> None:
        super().doSetSource(url, _MARKDOWN)
        anchor, block = self.source().fragment(), self.document().begin()
        while anchor and block.isValid():
            if block.blockFormat().headingLevel() and anchor_of(block.text()) == anchor:
                top = self.document().documentLayout().blockBoundingRect(block).top()
                self.verticalScrollBar().setValue(round(top))
                return
            block = block.next()


def _name_of(url: QUrl) -> str:
    """Return the name of a document as seen from the folder; for what lies elsewhere, that of its file."""
    path = Path(url.toLocalFile())
    return path.relative_to(FOLDER).as_posix() if path.is_relative_to(FOLDER) else path.name


@cache
def documents() -> dict[str, str]:
    """Return the title of each document that can be shown, by the name of its file: the manual first."""
    paths = [path for pattern in PATTERNS for path in sorted(FOLDER.glob(pattern))]
    names = sorted((path.relative_to(FOLDER).as_posix() for path in paths), key=lambda name: name != HOME)
    headings = ((name, _HEADING.search(text_of(name))) for name in names)
    return {name: heading[2].replace("`", "") for name, heading in headings if heading}


@cache
def text_of(name: str) -> str:
    """Return a document without its pictures, which are not in the window; empty where it cannot be read."""
    try:
        return _PICTURE.sub("", (FOLDER / name).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return ""


def anchor_of(heading: str) -> str:
    """Return the anchor of a heading, as GitHub makes it."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-")


_WIDTH, _HEIGHT = 76 * GRID, 40 * GRID
_MOVES = (Qt.Key.Key_Up, Qt.Key.Key_Down, Qt.Key.Key_PageUp, Qt.Key.Key_PageDown)


@dataclass(frozen=True, slots=True)
class PaletteCommand:
    """What can be chosen in the command palette."""

    key: str
    title: str
    where: str  # its menu
    keys: str  # its shortcut, as the system writes it
    tip: str
    why_not: str  # why it cannot be chosen now; empty if it can
    run: Callable[[], object]


def commands_of(actions: Actions, page: Page) -> list[PaletteCommand]:
    """Return every command while a page is shown: actions, what the page offers besides, its panels."""
    commands = []
    for name, entry in actions.entries.items():
        action, title = actions[name], plain(actions[name].text())
        keys = action.shortcut().toString(QKeySequence.SequenceFormat.NativeText)
        if action.isCheckable() and action.isChecked():
            title = f"{title} (on)"
        about = entry.where, keys, action.toolTip(), actions.why_not(name)
        if name != "palette":
            commands.append(PaletteCommand(name, title, *about, action.trigger))
    for action in page.palette_actions:
        title, where = plain(action.text()), str(action.data() or "")
        why_not = "" if action.isEnabled() else "Not available now."
        commands.append(
            PaletteCommand(f"{where}:{title}", title, where, "", action.toolTip(), why_not, action.trigger)
        )
    for panel in page.panels:
        name, title = panel.objectName(), panel.windowTitle()
        show = partial(page.bring_to_front, name)
        commands.append(PaletteCommand(f"panel:{name}", title, "Panel", "", shown_words(panel), "", show))
    return commands


def matching_commands(typed: str, commands: Sequence[PaletteCommand]) -> list[PaletteCommand]:
    """Return the commands that a typed text fits, best first; what cannot be chosen now after what can."""
    chosen = [(score, one) for one in commands if (score := fit(typed, one))]
    chosen.sort(key=lambda at: (-at[0], bool(at[1].why_not)))
    return [one for _, one in chosen]


def fit(typed: str, command: PaletteCommand) -> int:
    """Return how well a text fits, higher is better; 0 where it does not.

    Each typed word must begin a word of the title, the menu, or else the tooltip: "blur" finds a Gaussian.
    """
    words, texts = typed.casefold().split(), (command.title, command.where, command.tip)
    title, where, tip = (re.findall(r"\w+", text.casefold()) for text in texts)
    for score, there in ((3, title), (2, title + where), (1, title + where + tip)):
        if all(any(word.startswith(one) for word in there) for one in words):
            return score + (score == 3 and title[: len(words)] == words)
    return 0


class CommandPalette(QDialog):
    """A field, and under it the commands that fit; Enter closes it and runs one, Esc leaves."""

    def __init__(self, commands: Sequence[PaletteCommand], parent: QWidget) -> None:
        super().__init__(parent)
        self._commands, self._over = commands, parent
        self.shown: list[PaletteCommand] = []
        """The commands that are listed, in their order."""
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle("Commands")
        field = QLineEdit(placeholderText="Type words of a command, a preset, a sample, a page or a panel")
        tip = "The beginnings of words are enough: “so x” finds Sobel x."
        self.field = named(field, "PaletteCommand", tip)
        self.field.textChanged.connect(self._list)
        self.field.returnPressed.connect(self._choose)
        self.field.installEventFilter(self)
        self.list = named(QTreeWidget(columnCount=3), "Commands that fit")
        self.list.setHeaderHidden(True)
        self.list.setRootIsDecorated(False)
        self.list.setUniformRowHeights(True)
        self.list.setStyleSheet("QTreeView::item { padding: 2px; }")
        self.list.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        modes = QHeaderView.ResizeMode
        for at, mode in enumerate((modes.ResizeToContents, modes.Stretch, modes.ResizeToContents)):
            self.list.header().setSectionResizeMode(at, mode)
        self.list.header().setStretchLastSection(False)
        self.list.itemClicked.connect(self._choose)
        self.setLayout(column(self.field, (self.list, 1), margins=GRID))
        self._list("")
        self.resize(min(_WIDTH, parent.width() - 4 * GRID), min(_HEIGHT, parent.height() - 8 * GRID))

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress and event.key() in _MOVES:
            self.list.keyPressEvent(event)
            return True
        return super().eventFilter(watched, event)

    def _list(self, typed: str) -> None:
        self.list.clear()
        self.shown = matching_commands(typed, self._commands)
        quiet = self.palette().brush(QPalette.ColorRole.PlaceholderText)
        for command in self.shown:
            item = QTreeWidgetItem(self.list, [command.title, command.why_not or command.where, command.keys])
            for at in range(0 if command.why_not else 1, 3):
                item.setForeground(at, quiet)
            for at in range(3):
                item.setToolTip(at, command.tip)
        if not self.shown:
            item = QTreeWidgetItem(self.list, [f"No command fits “{typed}”."])
            item.setFlags(Qt.ItemFlag.NoItemFlags)
        self.list.setCurrentIndex(self.list.model().index(0, 0))

    def _choose(self) -> None:
        at = self.list.currentIndex().row()
        # A click beside the rows marks none.
        if not 0 <= at < len(self.shown) or self.shown[at].why_not:
            return
        self.accept()
        # Not before the focus is back where the command finds it.
        QTimer.singleShot(0, self._over, self.shown[at].run)


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
        return getattr(self, f"_show_{name}")()

    def _show_palette(self) -> CommandPalette:
        palette = CommandPalette(commands_of(self._actions, self._window.page), self._window)
        # Where the eyes are, not over the menu.
        left = self._window.x() + (self._window.width() - palette.width()) // 2
        palette.move(left, self._window.y() + self._window.height() // 8)
        palette.open()
        return palette

    def _show_panel_help(self) -> DocumentWindow:
        # The section of the panel, else that of its page, else the manual.
        page, sections = self._window.page, self._window.page.sections
        link = sections.get(panel_of(QApplication.focusWidget(), page)) or sections.get("") or HOME
        return self._show_documentation(link)

    def _show_documentation(self, link: str = HOME) -> DocumentWindow:
        # The one that is open already if there is one.
        window = self._window.findChild(DocumentWindow) or DocumentWindow(self._window)
        window.show_section(link)
        window.show()
        window.raise_()
        window.activateWindow()
        return window

    def _show_shortcuts(self) -> PreferencesDialog:
        dialog = self._show_preferences()
        dialog.tabs.setCurrentWidget(dialog.keys)
        return dialog

    def _show_about(self) -> QDialog:
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
        dialog.setLayout(column(words, box, spacing=2 * GRID, margins=2 * GRID))
        dialog.open()
        return dialog

    def _show_preferences(self) -> PreferencesDialog:
        dialog = self._window.findChild(PreferencesDialog)
        if dialog is None:
            dialog = PreferencesDialog(self._preferences, self._actions, self._window)
            dialog.finished.connect(dialog.deleteLater)
        dialog.open()
        return dialog


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
