"""The main window: the bars around the pages, and its saved layout. Connected in `gui.shell.app`."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from importlib import import_module
from typing import Any, cast

from PySide6.QtCore import QMimeData, QPoint, QRect, QSize, Qt, Signal
from PySide6.QtGui import (
    QCloseEvent,
    QDragEnterEvent,
    QDragLeaveEvent,
    QDropEvent,
    QGuiApplication,
    QPaintEvent,
)
from PySide6.QtWidgets import QGraphicsOpacityEffect, QLabel, QMainWindow, QMenu, QStackedWidget, QToolBar

from engine.errors import EngineError, UnknownName
from gui.page.contract import Intent, OpenFiles, Page, PageEntry, Place, Services, Unsaved
from gui.page.panels import focus_next, shown_words
from gui.page.slot import Slot
from gui.shell.bars import MessageBar, StatusLine, TopBar
from gui.shell.menus import Menus, PageActions, RecentMenu, page_entries
from gui.shell.pages import PAGES
from gui.shell.preferences import Preferences
from gui.style.metrics import GRID, scaled_font
from gui.widgets.panel_parts import boxed, column, row

FIRST_SIZE, SMALLEST_SIZE = QSize(1440, 900), QSize(1024, 640)


def _first_size() -> QSize:
    screen = QGuiApplication.primaryScreen()
    area = screen.availableSize() if screen is not None else FIRST_SIZE
    fits = area.width() >= SMALLEST_SIZE.width() and area.height() >= SMALLEST_SIZE.height()
    return FIRST_SIZE.boundedTo(area) if fits else FIRST_SIZE


class MainWindow(QMainWindow):
    """Top bar, page bar, pages with the messages over them, status line."""

    painted = Signal()  # the first paint is done
    close_wanted = Signal(object)  # the QCloseEvent; a receiver calls `ignore` to keep the window open
    edited = Signal()  # something that a session keeps has changed, on any page
    closing = Signal()  # the window is about to close; its layout can still be read

    def __init__(self, services: Services) -> None:
        super().__init__()
        self.setWindowTitle("Haloscope")
        self.setMinimumSize(SMALLEST_SIZE)
        self.resize(_first_size())
        self.setAcceptDrops(True)
        self._was_painted = False
        self.is_finished = False
        self._services = replace(
            services,
            offer=self.offer,
            session_parts=self.session_parts,
            take_session_parts=self.take_session_parts,
            saving=self.saving,
        )
        # Session parts of pages that are not built yet.
        self._session_parts: dict[str, Mapping[str, Any]] = {}
        self._are_parts_saved = False
        self._entered: dict[str, Page] = {}
        # With the layouts of pages that are not built yet.
        self._kept = Preferences()
        actions = services.actions
        self.pages = _Pages()
        self.page_bar = QToolBar(orientation=Qt.Orientation.Vertical, iconSize=QSize(3 * GRID, 3 * GRID))
        self.top_bar = TopBar(actions)
        self.status_line = StatusLine(services.state)
        self._page_actions = PageActions(actions, services.state, services.link)
        self._shows = actions.add_choice(page_entries(PAGES))
        self._shows.triggered.connect(lambda action: self.show_page(action.data()))
        self.page_bar.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextUnderIcon)
        for action in self._shows.actions():
            self.page_bar.addAction(action)
            button = self.page_bar.widgetForAction(action)
            button.setAccessibleName(f"Page {action.iconText()}")
            button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        beside = row(self.page_bar, (column(self.top_bar, (self.pages, 1), spacing=0), 1), spacing=0)
        self.setCentralWidget(boxed(column((beside, 1), self.status_line, spacing=0)))
        self.message_bar = MessageBar(services.messages, self.pages)
        # What lies over the pages while files are dragged over the window; the mouse does not see it.
        self._highlight = QLabel("Drop to open", self.pages, alignment=Qt.AlignmentFlag.AlignCenter)
        self._highlight.setObjectName("drop")
        self._highlight.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self._highlight.setGraphicsEffect(QGraphicsOpacityEffect(self._highlight, opacity=0.88))
        self._highlight.setFont(scaled_font(1.5))
        self._highlight.hide()
        self._slots: dict[str, Slot] = {}
        for entry in PAGES:
            slot = self._slots[entry.key] = Slot(partial(self._made, entry), entry.module)
            # If it is still the one in front, it is shown in bar, line and menus too.
            slot.filled.connect(lambda: self.show_page(self._front))
            self.pages.addWidget(slot)
        self._panels_menu = QMenu("&Panels", self, toolTipsVisible=True)
        self.show_page(self.first_page.objectName())
        self.recent = RecentMenu(
            services.recent,
            services.messages,
            lambda path: self.offer(OpenFiles((path,))),
            lambda: self.first_page.status.caption_tip,
        )
        others = {("&View", 70): self._panels_menu, ("&File", 15): self.recent.menu}
        self._menus = Menus(self.menuBar(), actions, others)
        self._actions = actions
        # A method of the window's own: what is added after its end finds no menus.
        actions.added.connect(self._add_actions)
        self._add_actions()

    def _add_actions(self) -> None:
        self._menus.fill()
        self.addActions(self._actions.all())

    @property
    def page(self) -> Page:
        return self.page_of(self._front)

    @property
    def is_complete(self) -> bool:
        """Whether everything requested is there and shown; a screenshot waits for it."""
        return all(slot.is_complete for slot in self.findChildren(Slot)) and self.page.is_complete

    @property
    def first_page(self) -> Page:
        return self.page_of(PAGES[0].key)

    def page_of(self, key: str) -> Page:
        """Return a page, built when it is first needed; raise UnknownName for an unknown key."""
        self._slot(key).fill()
        return self._entered[key]

    def _slot(self, key: str) -> Slot:
        if key not in self._slots:
            remedy = f"Choose one of {', '.join(self._slots)}."
            raise UnknownName(f"page '{key}'", "no page is called that", remedy)
        return self._slots[key]

    @property
    def _front(self) -> str:
        return PAGES[self.pages.currentIndex()].key

    def offer(self, intent: Intent) -> bool:
        """Give an intent to the first page that takes it, and show that page; False where none does."""
        for key in self._slots:
            if self.page_of(key).take(intent):
                self.show_page(key)
                return True
        return False

    @property
    def unsaved(self) -> str:
        """What of the work of all pages no session has, in words; empty if nothing."""
        parts = [page.unsaved for page in self._entered.values()]
        return Unsaved(sum(one.edits for one in parts), sum(one.results for one in parts)).words

    def saving(self) -> Callable[[], None]:
        """Return what notes that all work as it is now is in a session, once that is written."""
        pages = [page.saving() for page in self._entered.values()]

        def written() -> None:
            self._are_parts_saved = True
            for note in pages:
                note()

        return written

    def session_parts(self) -> dict[str, Mapping[str, Any]]:
        """Return what the pages add to a session, by their keys."""
        own = {key: page.session_part for key, page in self._entered.items()}
        return self._session_parts | {key: part for key, part in own.items() if part}

    def take_session_parts(self, parts: Mapping[str, Any]) -> None:
        """Give the pages what a session kept of them, those that are not built yet when they are."""
        self._session_parts, self._are_parts_saved = dict(parts), False
        for page in self._entered.values():
            self._give_session_part(page)

    def _give_session_part(self, page: Page) -> None:
        part = self._session_parts.pop(page.objectName(), None)
        if part is None:
            return
        try:
            page.take_session_part(part)
        except EngineError as error:
            self._services.messages.on(page).show_error("session of the page", error)
        if self._are_parts_saved:
            # A page that is built later than its session was opened.
            page.saving()()

    def cancel(self) -> None:
        self._services.jobs.cancel()
        for page in self._entered.values():
            page.cancel()

    def finish(self) -> None:
        """Build what the first paint does not wait for."""
        self.is_finished = True
        for page in self._entered.values():
            page.finish()

    def take_layout(self, preferences: Preferences) -> None:
        """Restore window, panels and columns from the preferences; what no longer fits is ignored."""
        if preferences.window:
            self._restore_geometry(QRect(*preferences.window))
        if preferences.is_maximized:
            self.setWindowState(self.windowState() | Qt.WindowState.WindowMaximized)
        self._kept = preferences
        for page in self._entered.values():
            self._arrange(page)

    def give_layout(self, preferences: Preferences) -> Preferences:
        """Return the preferences with the layout as it is now."""
        # A page that was not shown this time keeps the layout that it had.
        arranged = self._kept.arranged | {key: page.give_layout() for key, page in self._entered.items()}
        columns = self._kept.columns | {key: page.chosen_columns for key, page in self._entered.items()}
        columns = {key: chosen for key, chosen in columns.items() if chosen}
        is_maximized = self.isMaximized()
        geometry = self.normalGeometry() if is_maximized or self.isFullScreen() else self.geometry()
        kept = replace(preferences, arranged=arranged, columns=columns)
        return replace(kept, window=cast("Place", geometry.getRect()), is_maximized=is_maximized)

    def _restore_geometry(self, geometry: QRect) -> None:
        """Go where the window was left, to the pixel, where a screen still shows it and its title.

        Qt's own way (`restoreGeometry`) leaves as much above the window free as title bars of its own style
        need, and so moves it down under a lower one.
        """
        screen = QGuiApplication.screenAt(geometry.center())
        if screen is None:
            return
        area = screen.availableGeometry()
        self.setGeometry(QRect(geometry.topLeft(), geometry.size().boundedTo(area.size())))
        if geometry.top() < area.top():
            self.move(geometry.left(), area.top())

    def show_page(self, key: str) -> None:
        """Switch to a page; raise UnknownName for an unknown key."""
        # One that is not there is made soon; then it is shown in bar, line and menus too.
        self.pages.setCurrentWidget(self._slot(key))
        self._services.actions[f"page:{key}"].setChecked(True)
        if (page := self._entered.get(key)) is None:
            return
        self._services.messages.show_page(page)
        self.message_bar.show_over(page.message_area)
        self.top_bar.show_page(page)
        self._page_actions.show_edits(page.undo_stack)
        self._show_status(page)
        self._panels_menu.clear()
        for panel in page.panels:
            show = partial(page.bring_to_front, panel.objectName())
            self._panels_menu.addAction(panel.windowTitle(), show).setToolTip(shown_words(panel))
        self._panels_menu.setEnabled(bool(page.panels))

    def _show_status(self, page: Page) -> None:
        if page is not self._entered.get(self._front):
            return
        status = page.status
        self.status_line.show_page(status)
        self._page_actions.show_status(status)
        self.top_bar.caption.setText(status.caption)
        self.top_bar.caption.setToolTip(status.caption_tip or status.caption)
        self.setWindowTitle(f"{status.document} — Haloscope" if status.document else "Haloscope")

    def _made(self, entry: PageEntry) -> Page:
        page: Page = import_module(entry.module).build(self._services)
        self._entered[entry.key] = page
        page.setObjectName(entry.key)
        page.status_changed.connect(lambda: self._show_status(page))
        page.edited.connect(self.edited)
        self._arrange(page)
        self._give_session_part(page)
        if self.is_finished:
            page.finish()
        return page

    def _arrange(self, page: Page) -> None:
        if (kept := self._kept.arranged.get(page.objectName())) is not None:
            page.take_layout(kept)
        page.choose_columns(self._kept.columns.get(page.objectName(), {}))

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        if not self._was_painted:
            self._was_painted = True
            self._fit_frame_on_screen()
            self.painted.emit()

    def _fit_frame_on_screen(self) -> None:
        """Shrink a window of the default size to the screen: its frame is known only now."""
        if self.size() != _first_size() or self.isMaximized():
            return
        area, frame = self.screen().availableGeometry(), self.frameGeometry()
        over = (frame.size() - area.size()).expandedTo(QSize(0, 0))
        size = (self.size() - over).expandedTo(SMALLEST_SIZE)
        # On a screen as narrow as the smallest window only the height can give way.
        if size != self.size():
            over = self.size() - size
            self.resize(size)
            corner = area.bottomRight() + QPoint(1, 1) - QPoint(frame.width(), frame.height())
            self.move(min(frame.x(), corner.x() + over.width()), min(frame.y(), corner.y() + over.height()))

    def focusNextPrevChild(self, is_forward: bool) -> bool:
        return focus_next(self, is_forward=is_forward)

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        if _dropped(event) is not None:
            event.acceptProposedAction()
            self._highlight.setGeometry(self.pages.rect())
            self._highlight.raise_()
            self._highlight.show()

    def dragLeaveEvent(self, event: QDragLeaveEvent) -> None:
        self._highlight.hide()

    def dropEvent(self, event: QDropEvent) -> None:
        self._highlight.hide()
        if (dropped := _dropped(event)) is not None:
            event.acceptProposedAction()
            self.offer(dropped)

    def closeEvent(self, event: QCloseEvent) -> None:
        super().closeEvent(event)
        self.close_wanted.emit(event)
        if event.isAccepted():
            self.closing.emit()


class _Pages(QStackedWidget):
    """Needs what the page in front needs: with other letters, to ask all the others took 15 ms."""

    def sizeHint(self) -> QSize:
        page = self.currentWidget()
        return page.sizeHint() if page is not None else super().sizeHint()

    def minimumSizeHint(self) -> QSize:
        page = self.currentWidget()
        return page.minimumSizeHint() if page is not None else super().minimumSizeHint()


def _dropped(event: QDropEvent) -> OpenFiles | QMimeData | None:
    """Return what another program drops: files, or what Paste would take too; None where it is neither."""
    mime, urls = event.mimeData(), event.mimeData().urls()
    if event.source() is not None:
        # What is dragged out of this window is not to be opened in it by a slip.
        return None
    if urls and all(url.isLocalFile() for url in urls):
        return OpenFiles(tuple(url.toLocalFile() for url in urls))
    return mime if urls or mime.hasImage() or mime.text() else None
