"""The window: bars around the pages, and what is kept of its layout. What happens is wired in `gui.shell.app`."""

from dataclasses import replace

from PySide6.QtCore import QByteArray, QSize, Signal
from PySide6.QtGui import QCloseEvent, QDragEnterEvent, QDropEvent, QGuiApplication, QPaintEvent
from PySide6.QtWidgets import QGridLayout, QMainWindow, QMenu, QStackedWidget, QVBoxLayout, QWidget

from gui.page.contract import Page, PageContext
from gui.page.messages import Messages
from gui.shell.menus import fill_menu_bar
from gui.shell.message_bar import MessageBar
from gui.shell.page_bar import PageBar
from gui.shell.pages import PAGES
from gui.shell.preferences import Preferences
from gui.shell.status_line import StatusLine
from gui.shell.top_bar import TopBar

FIRST_SIZE = QSize(1440, 900)
SMALLEST_SIZE = QSize(1024, 640)
LAYOUT_VERSION = 1


def _first_size() -> QSize:
    """Return the size of the first start: ours, or as much of it as the screen has room for."""
    screen = QGuiApplication.primaryScreen()
    room = screen.availableSize() if screen is not None else FIRST_SIZE
    fits = room.width() >= SMALLEST_SIZE.width() and room.height() >= SMALLEST_SIZE.height()
    return FIRST_SIZE.boundedTo(room) if fits else FIRST_SIZE


class MainWindow(QMainWindow):
    """Top bar, page bar, message bar, pages, status line.

    Signals
    -------
    painted()
        The first paint is done.
    files_dropped(list)
        Local paths, as str, that were dropped anywhere on the window.
    close_wanted(object)
        The QCloseEvent, which whoever cannot let the window close ignores.
    closing()
        The window is about to close; its layout can still be read.
    """

    painted = Signal()
    files_dropped = Signal(list)
    close_wanted = Signal(object)
    closing = Signal()

    def __init__(self, context: PageContext, messages: Messages) -> None:
        super().__init__()
        self.setWindowTitle("Haloscope")
        self.setMinimumSize(SMALLEST_SIZE)
        self.resize(_first_size())
        self.setAcceptDrops(True)
        self._was_painted = False
        self._is_finished = False
        self._context = context
        self._messages = messages
        self._entered: dict[str, Page] = {}
        self._kept_layouts: dict[str, str] = {}
        self.pages = QStackedWidget()
        self.page_bar = PageBar(PAGES)
        self.top_bar = TopBar(context.workspace, context.actions)
        self.message_bar = MessageBar(messages)
        self.status_line = StatusLine(context.workspace, context.state, context.results, context.matmul)
        self._build()
        for _ in PAGES:
            self.pages.addWidget(_PagePlace())
        self._panels_menu = QMenu("&Panels", self)
        self._panels_menu.setToolTipsVisible(True)
        fill_menu_bar(self.menuBar(), context.actions, self._panels_menu)
        self._show(0)
        self.page_bar.chosen.connect(self._show)
        self.addActions(context.actions.all())
        context.workspace.picture_changed.connect(
            lambda picture: self.setWindowTitle(f"{picture.title} – Haloscope")
        )

    @property
    def first_page(self) -> Page:
        """The page that the window opens with."""
        return self._entered[PAGES[0].key]

    def show_page(self, key: str) -> bool:
        """Switch to a page; returns False where there is none of that key."""
        number = next((number for number, entry in enumerate(PAGES) if entry.key == key), None)
        if number is not None:
            self.page_bar.show_chosen(number)
            self._show(number)
        return number is not None

    def finish(self) -> None:
        """Add what the first paint does not wait for."""
        self._is_finished = True
        for page in self._entered.values():
            page.finish()

    def take_layout(self, preferences: Preferences) -> None:
        """Arrange window and docks as they were kept; what does not fit any more is passed over."""
        if preferences.geometry:
            self.restoreGeometry(_bytes(preferences.geometry))
        self._kept_layouts = dict(preferences.layouts)
        for page in self._entered.values():
            self._arrange(page)

    def give_layout(self, preferences: Preferences) -> Preferences:
        """Return the preferences with the layout as it is now."""
        # A page that was not shown this time keeps the layout that it had.
        layouts = self._kept_layouts | {
            key: _text(page.saveState(LAYOUT_VERSION)) for key, page in self._entered.items()
        }
        return replace(preferences, geometry=_text(self.saveGeometry()), layouts=layouts)

    def restore_default_layout(self) -> None:
        """Put the docks of the page that is shown back to where they were at first."""
        self._entered[PAGES[self.pages.currentIndex()].key].restore_default()

    def _show(self, number: int) -> None:
        page = self._page(number)
        self.pages.setCurrentIndex(number)
        key = PAGES[number].key
        self._messages.show_page(key)
        self.status_line.show_page(key)
        # There is one main button a page: elsewhere it is that page's own.
        self.top_bar.show_run_as_primary(key == PAGES[0].key)
        self._panels_menu.clear()
        self._panels_menu.addActions([dock.toggleViewAction() for dock in page.docks])
        self._panels_menu.setEnabled(bool(page.docks))

    def _page(self, number: int) -> Page:
        """Return a page, built when it is shown for the first time: the first paint waits for the first one only."""
        entry = PAGES[number]
        if entry.key not in self._entered:
            page = self._entered[entry.key] = entry.build(self._context)
            page.setObjectName(entry.key)
            page.files_dropped.connect(self.files_dropped)
            place = self.pages.widget(number)
            assert isinstance(place, _PagePlace)
            place.fill(page)
            self._arrange(page)
            if self._is_finished:
                page.finish()
        return self._entered[entry.key]

    def _arrange(self, page: Page) -> None:
        kept = self._kept_layouts.get(page.objectName())
        if kept:
            page.take_layout(_bytes(kept), LAYOUT_VERSION)

    def _build(self) -> None:
        middle = QWidget()
        grid = QGridLayout(middle)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setSpacing(0)
        grid.addWidget(self.page_bar, 0, 0, 3, 1)
        grid.addWidget(self.top_bar, 0, 1)
        grid.addWidget(self.message_bar, 1, 1)
        grid.addWidget(self.pages, 2, 1)
        grid.addWidget(self.status_line, 3, 0, 1, 2)
        grid.setRowStretch(2, 1)
        grid.setColumnStretch(1, 1)
        self.setCentralWidget(middle)

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        if not self._was_painted:
            self._was_painted = True
            self.painted.emit()

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        if _local_files(event):
            event.acceptProposedAction()

    def dropEvent(self, event: QDropEvent) -> None:
        paths = _local_files(event)
        if paths:
            event.acceptProposedAction()
            self.files_dropped.emit(paths)

    def closeEvent(self, event: QCloseEvent) -> None:
        super().closeEvent(event)
        self.close_wanted.emit(event)
        if event.isAccepted():
            self.closing.emit()


class _PagePlace(QWidget):
    """Where a page will stand."""

    def __init__(self) -> None:
        super().__init__()
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)

    def fill(self, page: Page) -> None:
        """Put the page here."""
        self._column.addWidget(page)


def _local_files(event: QDropEvent) -> list[str]:
    urls = event.mimeData().urls()
    return [url.toLocalFile() for url in urls] if urls and all(url.isLocalFile() for url in urls) else []


def _bytes(hexadecimal: str) -> QByteArray:
    return QByteArray(bytes.fromhex(hexadecimal))


def _text(data: QByteArray) -> str:
    return bytes(data.data()).hex()
