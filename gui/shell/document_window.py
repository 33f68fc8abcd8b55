"""The documents in a window of their own: read, follow links, search, go back."""

from collections.abc import Callable

from PySide6.QtCore import QEvent, QSize, Qt, QUrl
from PySide6.QtGui import (
    QDesktopServices,
    QKeySequence,
    QShortcut,
    QTextCharFormat,
    QTextCursor,
    QTextDocument,
)
from PySide6.QtWidgets import (
    QDialog,
    QLineEdit,
    QListWidget,
    QListWidgetItem,
    QSplitter,
    QTextBrowser,
    QWidget,
)

from gui.shell.documents import HOME, anchor_of, documents, resolved, search, text_of
from gui.style.metrics import GRID
from gui.style.theme import theme_notifier
from gui.widgets.panel_parts import column, icon_button, quiet_label, row

_NOT_HERE = "{name} is not in the window. It is in the program's source, in the folder docs."
_NOTHING = "No document has all of these words."


class DocumentWindow(QDialog):
    """The list of documents or what was found on the left, the text on the right."""

    def __init__(self, parent: QWidget, open_outside: Callable[[QUrl], object] = QDesktopServices.openUrl):
        super().__init__(parent)
        self._open_outside = open_outside
        self._way: list[str] = []
        self._at = -1
        self.setWindowTitle("Documentation")
        self.resize(118 * GRID, 84 * GRID)
        self.back = icon_button("arrow-left", "Back", "Back to what was read before (Alt+Left).")
        self.forward = icon_button("arrow-right", "Forward", "Forward again (Alt+Right).")
        for button, step, keys in ((self.back, -1, "Alt+Left"), (self.forward, 1, "Alt+Right")):
            button.clicked.connect(lambda _=False, by=step: self._go(by))
            QShortcut(QKeySequence(keys), self, lambda by=step: self._go(by))
        self.field = QLineEdit()
        self.field.setPlaceholderText("Search the documents (Ctrl+F)")
        self.field.setToolTip("Words that a section must have. Down goes to what was found.")
        self.field.setAccessibleName("Search the documents")
        self.field.setClearButtonEnabled(True)
        self.field.textChanged.connect(self._list)
        self.field.returnPressed.connect(self._show_first)
        QShortcut(QKeySequence.StandardKey.Find, self, self._search)
        self.list = QListWidget()
        self.list.setAccessibleName("Documents and sections")
        self.list.setSpacing(2)
        self.list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.list.currentItemChanged.connect(self._show_item)
        self.text = _Browser()
        self.text.setAccessibleName("Document")
        self.text.setOpenLinks(False)
        self.text.anchorClicked.connect(self._follow)
        self.note = quiet_label(wraps=True)
        self.note.hide()
        left = QWidget()
        left.setLayout(column(row(self.back, self.forward, (self.field, 1), spacing=4), (self.list, 1)))
        right = QWidget()
        right.setLayout(column((self.text, 1), self.note))
        sides = QSplitter(Qt.Orientation.Horizontal)
        sides.addWidget(left)
        sides.addWidget(right)
        sides.setSizes([34 * GRID, 84 * GRID])
        sides.setStretchFactor(1, 1)
        sides.setChildrenCollapsible(False)
        self.setLayout(column((sides, 1), margins=(2 * GRID, 2 * GRID, 2 * GRID, 2 * GRID)))
        theme_notifier().changed.connect(self._show_again)
        self._list("")

    def minimumSizeHint(self) -> QSize:
        return QSize(60 * GRID, 40 * GRID)

    @property
    def shown(self) -> str:
        """The link to what is shown."""
        return self._way[self._at] if self._way else ""

    def show_section(self, link: str) -> None:
        """Show a document, at a heading where the link has one."""
        self._way = [*self._way[: self._at + 1], link]
        self._at = len(self._way) - 1
        self._show()

    def _go(self, by: int) -> None:
        if 0 <= self._at + by < len(self._way):
            self._at += by
            self._show()

    def _show(self) -> None:
        name, _, anchor = self.shown.partition("#")
        self.note.hide()
        self.text.show_document(name)
        self.text.scroll_to(anchor)
        self.back.setEnabled(self._at > 0)
        self.forward.setEnabled(self._at + 1 < len(self._way))
        if not self.field.text():
            self.list.blockSignals(True)
            self.list.setCurrentRow(list(documents()).index(name) if name in documents() else -1)
            self.list.blockSignals(False)

    def _show_again(self) -> None:
        """Show the document in the colours and the letters of now."""
        self.text.forget()
        if self._way:
            self._show()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.FontChange and self._way:
            self._show_again()

    def _search(self) -> None:
        self.field.setFocus()
        self.field.selectAll()

    def _list(self, words: str) -> None:
        self.list.blockSignals(True)
        self.list.clear()
        if words.strip():
            for section in search(words):
                link = f"{section.document}#{section.anchor}" if section.anchor else section.document
                in_document = documents()[section.document]
                self._add(section.title, link, in_document if section.title != in_document else "")
            if not self.list.count():
                self._add(_NOTHING, "", "")
                self.list.item(0).setFlags(Qt.ItemFlag.NoItemFlags)
        else:
            for name, title in documents().items():
                self._add(title, name, "")
        self.list.setCurrentRow(-1)
        self.list.blockSignals(False)

    def _add(self, title: str, link: str, below: str) -> None:
        item = QListWidgetItem(f"{title}\n{below}" if below else title, self.list)
        item.setData(Qt.ItemDataRole.UserRole, link)
        item.setToolTip(item.text())

    def _show_item(self, item: QListWidgetItem | None) -> None:
        link = item.data(Qt.ItemDataRole.UserRole) if item is not None else ""
        if link and link != self.shown:
            self.show_section(link)

    def _show_first(self) -> None:
        if self.list.count():
            self.list.setCurrentRow(max(0, self.list.currentRow()))
            self.list.setFocus()

    def _follow(self, url: QUrl) -> None:
        if url.scheme():
            self._open_outside(url)
            return
        name = resolved(url.path(), self.shown.partition("#")[0])
        if name not in documents():
            self.note.setText(_NOT_HERE.format(name=name))
            self.note.show()
            return
        self.show_section(f"{name}#{url.fragment()}" if url.fragment() else name)


class _Browser(QTextBrowser):
    """Shows a document, whose headings become anchors: Markdown has none."""

    def __init__(self) -> None:
        super().__init__()
        self._name = ""
        self._made: QTextDocument | None = None

    def show_document(self, name: str) -> None:
        """Show a document, if it is not shown yet."""
        if name == self._name:
            return
        self._name = name
        # Filled before it is shown: laid out with each step it would take ten times as long.
        document = QTextDocument(self)
        document.setDefaultFont(self.font())
        document.setDocumentMargin(2 * GRID)
        document.setMarkdown(text_of(name) or f"The document {name} cannot be read.")
        _name_headings(document)
        self.setDocument(document)
        if self._made is not None:
            self._made.deleteLater()
        self._made = document

    def forget(self) -> None:
        """Make the document anew when it is next shown."""
        self._name = ""

    def scroll_to(self, anchor: str) -> None:
        """Bring a heading to the top; the whole document's for none."""
        if anchor:
            self.scrollToAnchor(anchor)
        else:
            self.verticalScrollBar().setValue(0)


def _name_headings(document: QTextDocument) -> None:
    """Make an anchor of each heading."""
    cursor, block = QTextCursor(document), document.begin()
    while block.isValid():
        if block.blockFormat().headingLevel():
            form = QTextCharFormat()
            form.setAnchor(True)
            form.setAnchorNames([anchor_of(block.text())])
            cursor.setPosition(block.position())
            cursor.setPosition(block.position() + 1, QTextCursor.MoveMode.KeepAnchor)
            cursor.mergeCharFormat(form)
        block = block.next()


def open_documents(parent: QWidget, link: str = HOME) -> DocumentWindow:
    """Show the window of documents, the one that is open already if there is one."""
    window = parent.findChild(DocumentWindow) or DocumentWindow(parent)
    window.show_section(link)
    window.show()
    window.raise_()
    window.activateWindow()
    return window
