"""The contract of a page: docks around a middle, state, controllers, actions; services of the window.

The window knows a page by this contract and its line in `gui.shell.pages`. A page knows no other page; what
one wants of another is an intent (`gui.page.intents`).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from PySide6.QtCore import QByteArray, QRect, Qt, QTimer, Signal
from PySide6.QtGui import QAction, QHideEvent, QShowEvent, QUndoStack
from PySide6.QtWidgets import QMainWindow, QTabBar, QWidget

from engine.device_info import AUTO
from engine.errors import EngineError, UnknownName
from gui.engine_link.engine_link import EngineLink
from gui.engine_link.engine_state import EngineState
from gui.page.actions import Actions
from gui.page.dock import Dock
from gui.page.dock_tabs import DockTabs
from gui.page.files import FileDialogs
from gui.page.intents import Intent
from gui.page.jobs import JobQueue
from gui.page.messages import Messages
from gui.page.recent import RecentFiles

LAYOUT_VERSION = 3
"""Version of stored layouts; one of another version is ignored. A page with new panels needs a new one: Qt
would put them beside the others."""


@dataclass(frozen=True, slots=True)
class Services:
    """The window's services to a page.

    `offer` shows the page that takes an intent, False where none does. `session_parts` returns what the pages
    add to a session, by their keys, and `take_session_parts` gives it back to them, also to pages that are
    built later. `saving` is called when the work of all pages is about to be saved, and what it returns when
    that is done: they note that it is in a session.
    """

    actions: Actions
    messages: Messages
    link: EngineLink
    state: EngineState
    files: FileDialogs
    jobs: JobQueue
    recent: RecentFiles = field(default_factory=RecentFiles)
    offer: Callable[[Intent], bool] = lambda intent: False
    session_parts: Callable[[], Mapping[str, Any]] = dict
    take_session_parts: Callable[[Mapping[str, Any]], None] = lambda parts: None
    saving: Callable[[], Callable[[], None]] = lambda: lambda: None


@dataclass(frozen=True, slots=True)
class PageStatus:
    """The status of a page: status line, title of the window, top bar."""

    sentence: str = ""  # for the status line: the last run, or what to press while there is none
    figure: str = ""  # a short number beside it, such as a speed-up
    figure_tip: str = ""  # what that is relative to
    device: str = AUTO  # key of the one that is chosen on the page
    run_does: str = ""  # for the tooltips of Run and Run all; empty where there is nothing of that kind
    run_all_does: str = ""
    why_no_run: str = ""  # what the page lacks before they can be chosen; empty if nothing
    has_results: bool = False  # whether there are runs to save as a file
    can_copy: bool = False  # whether its table has rows for the clipboard
    can_clear: bool = False  # whether it has runs that can be forgotten
    document: str = ""  # what is worked on, for the title of the window
    caption: str = ""  # and for the top bar
    caption_tip: str = ""


class Unsaved(NamedTuple):
    """How much work no session has."""

    edits: int = 0
    results: int = 0

    @property
    def words(self) -> str:
        """Both in words; empty if there is neither."""
        counts = ((self.edits, "edit"), (self.results, "result"))
        return " and ".join(f"{count} {what}{'s' if count != 1 else ''}" for count, what in counts if count)


class Tool(NamedTuple):
    """A button of the top bar, and what the arrow beside it offers."""

    action: QAction
    choices: Sequence[QAction] = ()


class Page(QMainWindow):
    """Docks around a middle."""

    shown = Signal()  # for the first time, or once more
    status_changed = Signal()
    sections: ClassVar[Mapping[str, str]] = {}
    """The section of the documents about each panel, by the panel's name; about the page by the empty one."""
    settled = Signal(object)  # the requested result is visible (None), or failed (the EngineError)

    edited = Signal()  # something that a session keeps has changed

    def __init__(self) -> None:
        super().__init__()
        self.setWindowFlags(Qt.WindowType.Widget)
        self.setDockNestingEnabled(True)
        self.docks: list[Dock] = []
        # A move of one dock can leave another without its tab; several moves come together.
        self._docking_timer = QTimer(self, singleShot=True, interval=0)
        self._docking_timer.timeout.connect(self._follow_docking)
        # Buttons of the top bar while the page is shown, left of the caption.
        self.tools: tuple[Tool, ...] = ()
        self._first_layout = QByteArray()
        self._is_arranged = False
        # While another page is shown: the panels that are windows of their own, and the layout with them.
        self._put_away: dict[Dock, QRect] = {}
        self._layout_with_them = QByteArray()
        # While the panels are hidden: the layout with them.
        self._layout_with_panels = QByteArray()
        self._saved_results: tuple[Any, ...] = ()

    def add_dock(self, name: str, title: str, widget: QWidget, area: Qt.DockWidgetArea) -> Dock:
        """Add a panel that can be moved, closed and brought back; `name` is kept with the layout."""
        dock = Dock(name, title, self, widget)
        dock.moved.connect(self._docking_timer.start)
        self.addDockWidget(area, dock)
        self.docks.append(dock)
        return dock

    def share_place(self, dock: Dock, *others: Dock) -> None:
        """Put docks behind one another, with a tab each; the first one stays in front."""
        layout = self.layout()
        assert layout is not None  # a QMainWindow has one
        for other in others:
            # Qt lays out within this call and then loses the bar of tabs that it has just made: two more
            # would be left, somewhere on the page.
            layout.setEnabled(False)
            self.tabifyDockWidget(dock, other)
            layout.setEnabled(True)
        dock.raise_()

    @property
    def surface(self) -> QWidget:
        """Where results are painted."""
        return self

    @property
    def message_area(self) -> QWidget:
        """The part at whose lower edge messages lie: no results stand there."""
        return self.centralWidget() or self

    @property
    def status(self) -> PageStatus:
        """The status that the window shows of the page."""
        return PageStatus()

    @property
    def undo_stack(self) -> QUndoStack | None:
        """Its edits, which Undo and Redo take back while it is shown; None where it has none."""
        return None

    @property
    def is_settled(self) -> bool:
        """Whether nothing that the page shows is still on its way; a screenshot waits for it."""
        return True

    def run(self) -> None:
        """Run this page's work; called only while `status.why_no_run` is empty."""

    def run_all(self) -> None:
        """Run everything that can be run here."""
        self.run()

    def export(self, suffix: str) -> None:
        """Ask where, and save its runs as csv or json; called only while `status.has_results`."""

    def copy_results(self) -> None:
        """Put its table on the clipboard; called only while `status.can_copy`."""

    def clear_results(self) -> None:
        """Forget its runs; called only while `status.can_clear`."""

    def cancel(self) -> None:
        """Stop the page's work outside the job queue."""

    def take(self, intent: Intent) -> bool:
        """Carry out an intent if this is the page for it; return whether it is."""
        return False

    @property
    def work_results(self) -> tuple[Any, ...]:
        """What was run or measured and a session keeps, each by its identity; nothing by default."""
        return ()

    @property
    def unsaved(self) -> Unsaved:
        """How much of its work no session has."""
        stack = self.undo_stack
        is_clean = stack is None or stack.isClean()
        edits = 0 if stack is None or is_clean else abs(stack.index() - max(stack.cleanIndex(), 0))
        saved = set(map(id, self._saved_results))
        return Unsaved(edits, sum(id(result) not in saved for result in self.work_results))

    def saving(self) -> Callable[[], None]:
        """Return what notes that the work as it is now is in a session, once that is written."""
        stack, results = self.undo_stack, self.work_results
        at = stack.index() if stack is not None else 0

        def written() -> None:
            self._saved_results = results
            # An edit meanwhile is not in the file.
            if stack is not None and stack.index() == at:
                stack.setClean()

        return written

    def work(self) -> Callable[[], bytes]:
        """Return what gives all work as the bytes of a session, on any thread; of the first page."""
        raise NotImplementedError

    def restore_work(
        self, path: Path, done: Callable[[], None], failed: Callable[[EngineError], None]
    ) -> None:
        """Show the work in a file of `work`, and say when that is done or why not; of the first page."""
        raise NotImplementedError

    def save_work(self, then: Callable[[], None]) -> None:
        """Ask where, and save all work; `then` is called when it is saved. Of the first page."""
        raise NotImplementedError

    @property
    def session_part(self) -> Mapping[str, Any]:
        """What a session keeps of this page, as plain JSON values; nothing by default."""
        return {}

    def take_session_part(self, part: Mapping[str, Any]) -> None:
        """Show what a session kept of this page; an EngineError says what in it cannot be used."""

    def finish(self) -> None:
        """Add, in turns, what the first paint does not need."""

    def dock(self, name: str) -> Dock:
        """Return a panel; an UnknownName lists the panels of the page."""
        dock = next((dock for dock in self.docks if dock.objectName() == name), None)
        if dock is None:
            known = ", ".join(dock.objectName() for dock in self.docks) or "none"
            raise UnknownName(f"panel '{name}'", "the page has none of that name", f"It has {known}.")
        return dock

    def bring_to_front(self, name: str) -> None:
        """Show a panel and raise its tab; an UnknownName lists the panels of the page."""
        dock = self.dock(name)
        dock.show()
        dock.raise_()

    @property
    def palette_actions(self) -> Sequence[QAction]:
        """What the command palette offers of the page, beside its actions and panels."""
        return ()

    @property
    def panels_are_hidden(self) -> bool:
        """Whether `hide_panels` hid them, and none has come back since."""
        # What hides with its page is not hidden by itself.
        return bool(self._layout_with_panels) and all(dock.isHidden() for dock in self.docks)

    def places(self) -> list[list[Dock]]:
        """Return the panels by place: those that share one stand together, behind the first of them."""
        places: list[list[Dock]] = []
        for dock in self.docks:
            beside = self.tabifiedDockWidgets(dock)
            shared = next((place for place in places if place[0] in beside), None)
            if shared is None:
                places.append([dock])
            else:
                shared.append(dock)
        return places

    def hide_panels(self, hidden: bool) -> None:
        """Leave the whole page to its middle, or bring the panels back as they were."""
        if hidden and not self.panels_are_hidden and self.docks:
            self._layout_with_panels = self.saveState(LAYOUT_VERSION)
            for dock in self.docks:
                dock.hide()
        elif not hidden and self.panels_are_hidden:
            self.restoreState(self._layout_with_panels, LAYOUT_VERSION)
            self._layout_with_panels = QByteArray()

    def keep_first_layout(self) -> None:
        """Remember where the docks are at first."""
        self._first_layout = self.saveState()

    def restore_default(self) -> None:
        """Put every dock back to where it was at first."""
        self.restoreState(self._first_layout)
        self.arrange()

    def take_layout(self, layout: QByteArray) -> None:
        """Arrange the docks as they were kept."""
        self._is_arranged = self.restoreState(layout, LAYOUT_VERSION) and bool(self.docks)
        if not self.isVisible():
            self._put_windows_away()

    def give_layout(self) -> QByteArray:
        """Return how the docks are arranged, to be kept."""
        if self.panels_are_hidden:
            return self._layout_with_panels
        return self._layout_with_them if self._put_away else self.saveState(LAYOUT_VERSION)

    @property
    def chosen_columns(self) -> dict[str, bool]:
        """The columns of its table that the person showed or hid, which the preferences keep."""
        return {}

    def choose_columns(self, chosen: Mapping[str, bool]) -> None:
        """Show and hide the columns of its table as they were kept."""

    def arrange(self) -> None:
        """Give docks and splitters the sizes that they have at first."""

    def _put_windows_away(self) -> None:
        """Hide the panels that are windows of their own: they would lie over another page's panels."""
        windows = {dock: dock.geometry() for dock in self.docks if dock.isFloating() and dock.isVisible()}
        if windows:
            self._layout_with_them = self.saveState(LAYOUT_VERSION)
            self._put_away = windows
            for dock in windows:
                dock.hide()

    def _follow_docking(self) -> None:
        for dock in self.docks:
            dock.follow_docking()
        # The window makes and drops them as docks are moved.
        for tabs in self.findChildren(QTabBar, options=Qt.FindChildOption.FindDirectChildrenOnly):
            (tabs.findChild(DockTabs) or DockTabs(tabs, self)).fit()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        # Only now has the page its size; docks shrink alike where there is too little of it.
        if not self._is_arranged:
            self._is_arranged = True
            self.arrange()
        away, self._put_away = self._put_away, {}
        for dock, geometry in away.items():
            # A window manager may put a window elsewhere that is shown again.
            dock.setGeometry(geometry)
            dock.show()
        self.shown.emit()

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        # A minimised window has its panels in order.
        if not event.spontaneous():
            self._put_windows_away()


@dataclass(frozen=True, slots=True)
class PageEntry:
    """A page in the bar."""

    key: str  # its layout is kept under it: never changes
    title: str
    tip: str
    icon: str
    module: str  # has `build(services: Services) -> Page`
    keys: str = ""  # that show it, beside Alt and its number

    def build(self, services: Services) -> Page:
        """Make the page."""
        make: Callable[[Services], Page] = import_module(self.module).build
        return make(services)
