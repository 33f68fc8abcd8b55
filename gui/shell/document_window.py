"""The documents that come with the program, in a window of their own: list, text, links; Alt+Left goes back.

They lie beside the program in a clone, within the package where it is installed, as the assets do.
"""

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from PySide6.QtCore import QSize, Qt, QUrl
from PySide6.QtGui import QTextCharFormat, QTextCursor, QTextDocument
from PySide6.QtWidgets import QDialog, QListWidget, QSplitter, QTextBrowser, QWidget

from engine.files.assets import ASSETS
from gui.style.metrics import GRID
from gui.style.theme import theme_notifier
from gui.widgets.panel_parts import column

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
        self.list = QListWidget()
        self.list.setAccessibleName("Documents")
        self.list.addItems(list(documents().values()))
        self.list.setSpacing(2)
        self.list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.text = _Browser()
        self.text.sourceChanged.connect(self._select)
        self.list.currentRowChanged.connect(lambda at: self.show_section(list(documents())[at]))
        sides = QSplitter(Qt.Orientation.Horizontal)
        sides.addWidget(self.list)
        sides.addWidget(self.text)
        sides.setSizes([34 * GRID, 84 * GRID])
        sides.setStretchFactor(1, 1)
        sides.setChildrenCollapsible(False)
        self.setLayout(column((sides, 1), margins=(2 * GRID, 2 * GRID, 2 * GRID, 2 * GRID)))
        # Colours of links and code are in the document.
        theme_notifier().changed.connect(self.text.reload)

    def minimumSizeHint(self) -> QSize:
        return QSize(60 * GRID, 40 * GRID)

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
        self.list.blockSignals(True)
        names = list(documents())
        self.list.setCurrentRow(names.index(_name_of(url)) if _name_of(url) in names else -1)
        self.list.blockSignals(False)


class _Browser(QTextBrowser):
    """Shows a document, whose headings become anchors: Markdown has none."""

    def __init__(self) -> None:
        super().__init__()
        self.setAccessibleName("Document")
        self.setOpenExternalLinks(True)
        self.document().setDocumentMargin(2 * GRID)

    def loadResource(self, kind: int, url: QUrl | str) -> Any:
        if kind != _MARKDOWN:
            return None
        name = _name_of(QUrl(url))
        return text_of(name) if name in documents() else _NOT_HERE.format(name=name)

    def doSetSource(self, url: QUrl | str, kind: QTextDocument.ResourceType = _MARKDOWN) -> None:
        super().doSetSource(url, _MARKDOWN)
        _name_headings(self.document())
        if anchor := self.source().fragment():
            self.scrollToAnchor(anchor)

    def reload(self) -> None:
        super().reload()
        _name_headings(self.document())


def _name_of(url: QUrl) -> str:
    """Return the name of a document as seen from the folder; for what lies elsewhere, that of its file."""
    path = Path(url.toLocalFile())
    return path.relative_to(FOLDER).as_posix() if path.is_relative_to(FOLDER) else path.name


def _name_headings(document: QTextDocument) -> None:
    """Make an anchor of each heading."""
    cursor, block = QTextCursor(document), document.begin()
    # At once: laid out after each heading it would take ten times as long.
    cursor.beginEditBlock()
    while block.isValid():
        if block.blockFormat().headingLevel():
            form = QTextCharFormat()
            form.setAnchor(True)
            form.setAnchorNames([anchor_of(block.text())])
            cursor.setPosition(block.position())
            cursor.setPosition(block.position() + 1, QTextCursor.MoveMode.KeepAnchor)
            cursor.mergeCharFormat(form)
        block = block.next()
    cursor.endEditBlock()


def open_documents(parent: QWidget, link: str = HOME) -> DocumentWindow:
    """Show the window of documents, the one that is open already if there is one."""
    window = parent.findChild(DocumentWindow) or DocumentWindow(parent)
    window.show_section(link)
    window.show()
    window.raise_()
    window.activateWindow()
    return window


def section_of(sections: Mapping[str, str], panel: str) -> str:
    """Return the link to the section of a panel, else to that of its page, else to the manual."""
    return sections.get(panel) or sections.get("") or HOME


@cache
def documents() -> dict[str, str]:
    """Return the title of each document that can be shown, by the name of its file: the manual first."""
    paths = [path for pattern in PATTERNS for path in sorted(FOLDER.glob(pattern))]
    names = sorted((path.relative_to(FOLDER).as_posix() for path in paths), key=lambda name: name != HOME)
    headings = ((name, _HEADING.search(text_of(name))) for name in names)
    return {name: found[2].replace("`", "") for name, found in headings if found}


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
