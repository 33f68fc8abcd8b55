"""The contract of a page: panels around a middle, state, controllers, actions; services of the window.

The window knows a page by this contract and its line in `gui.shell.pages`. A page knows no other page; what
one wants of another is an intent.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, ClassVar, NamedTuple, cast

from msgspec import Meta
from PySide6.QtCore import QMimeData, QRect, Signal
from PySide6.QtGui import QAction, QHideEvent, QShowEvent, QUndoStack
from PySide6.QtWidgets import QWidget

from engine.course.paper import CourseKernel
from engine.device_info import AUTO
from engine.errors import UnknownName
from engine.mask.mask import Mask
from gui.engine_link.engine_link import EngineLink, Failed
from gui.engine_link.engine_start import FirstPicture
from gui.engine_link.engine_state import EngineState
from gui.page.actions import Actions
from gui.page.files import FileDialogs, RecentFiles
from gui.page.jobs import JobQueue
from gui.page.messages import Messages
from gui.page.panels import Panel, PanelTabs, Shares, all_panels
from gui.widgets.panel_parts import column


@dataclass(frozen=True, slots=True)
class OpenFiles:
    """Files were dropped on the window."""

    paths: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Begin:
    """Start of the window; settings that are not empty override those of the session."""

    first: FirstPicture | None = None  # requested before the window existed
    session: str = ""  # a file
    mask: str = ""
    variant: str = ""
    device: str = ""
    border: str = ""
    flip: bool = False
    output: str = ""  # a file that will be written, and must not be the session's picture


Intent = CourseKernel | Mask | OpenFiles | QMimeData | Begin
"""A paper's kernel is for the page that runs it, a mask for the page that edits them; what was dropped on the
window is in files, or a picture, a text or an address."""


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
    device: str = AUTO  # key of the one that is chosen on the page
    run_does: str = ""  # for the tooltips of Run and Run all; empty where there is nothing of that kind
    run_all_does: str = ""
    why_no_run: str = ""  # what the page lacks before they can be chosen; empty if nothing
    why_not_one: str = ""  # why Run cannot run what is selected, where Run all can
    has_results: bool = False  # whether there is something to save as files
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


# No screen is as large; Qt takes 32 bits.
_Pixels = Annotated[int, Meta(gt=-(1 << 20), lt=1 << 20)]
Place = tuple[_Pixels, _Pixels, _Pixels, _Pixels]
"""Left, top, width and height of a window."""


@dataclass(frozen=True, slots=True)
class PageLayout:
    """How a page is arranged, by the names of its splitters and panels."""

    shares: dict[str, tuple[float, ...]] = field(default_factory=dict)  # those that a person chose
    front: tuple[str, ...] = ()
    windows: dict[str, Place] = field(default_factory=dict)


class Page(QWidget):
    """Areas with panels around a middle."""

    shown = Signal()  # for the first time, or once more
    status_changed = Signal()
    sections: ClassVar[Mapping[str, str]] = {}
    """The section of the documents about each panel, by the panel's name; about the page by the empty one."""
    completed = Signal(object)  # the requested result is visible (None), or failed (the EngineError)

    edited = Signal()  # something that a session keeps has changed

    def __init__(self) -> None:
        super().__init__()
        # Buttons of the top bar while the page is shown, left of the caption.
        self.tools: tuple[Tool, ...] = ()
        self.panels: tuple[Panel, ...] = ()
        self.panels_are_hidden = False
        self._places: tuple[PanelTabs, ...] = ()
        self.message_area: QWidget = self
        """The part without panels, at whose lower edge messages lie: no results stand there."""
        self._saved_results: tuple[Any, ...] = ()
        self.undo_stack: QUndoStack | None = None
        """Its edits, which Undo and Redo take back while it is shown; None where it has none."""
        self.surface: QWidget = self
        """Where results are painted."""

    def fill(self, whole: QWidget, middle: QWidget, *places: PanelTabs) -> None:
        """Show the page: `middle` is its part without panels, and `places` are those with some."""
        self.message_area, self._places = middle, places
        self.panels = tuple(all_panels(*places))
        self.setLayout(column((whole, 1), spacing=0))

    @property
    def status(self) -> PageStatus:
        return PageStatus()

    @property
    def is_complete(self) -> bool:
        """Whether everything requested is there and shown; a screenshot waits for it."""
        return True

    def run(self) -> None:
        """Run this page's work; called only while `status.why_no_run` is empty."""

    def run_all(self) -> None:
        """Run everything that can be run here."""
        self.run()

    def save_results(self) -> None:
        """Ask where, and save its runs; called only while `status.has_results`."""

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

    def restore_work(self, path: Path, done: Callable[[], None], failed: Failed) -> None:
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

    def panel(self, name: str) -> Panel:
        """Return a panel; an UnknownName lists the panels of the page."""
        known = {panel.objectName(): panel for panel in self.panels}
        if name not in known:
            remedy = f"It has {', '.join(known) or 'none'}."
            raise UnknownName(f"panel '{name}'", "the page has none of that name", remedy)
        return known[name]

    def bring_to_front(self, name: str) -> None:
        """Show a panel; an UnknownName lists the panels of the page."""
        if self.panels_are_hidden:
            self.hide_panels(False)
        self.panel(name).bring_to_front()

    @property
    def palette_actions(self) -> Sequence[QAction]:
        """What the command palette offers of the page, beside its actions and panels."""
        return ()

    def hide_panels(self, hidden: bool) -> None:
        """Leave the whole page to its middle, or bring the panels back as they were."""
        self.panels_are_hidden = hidden
        self.show_only(self.message_area, hidden)

    def show_only(self, part: QWidget, is_alone: bool) -> None:
        """Give a part of the page all of it, or show the others again."""
        for shares in self.findChildren(Shares):
            if shares.isAncestorOf(part):
                shares.show_only(part, is_alone)
        for place in () if is_alone else self._places:
            place.follow()

    def restore_default(self) -> None:
        """Put every panel to where it was at first, with the size that it had."""
        self.hide_panels(False)
        for panel in self.panels:
            panel.put_back()
        places = self.findChildren(PanelTabs)
        self.take_layout(PageLayout(front=tuple(place.panels[0].objectName() for place in places)))

    def take_layout(self, layout: PageLayout) -> None:
        """Arrange the panels as they were kept; what does not fit is left out."""
        for shares in self.findChildren(Shares):
            shares.choose(layout.shares.get(shares.objectName(), ()))
        for panel in self.panels:
            place = layout.windows.get(panel.objectName())
            if place is not None:
                panel.open_as_window(QRect(*place), is_shown=self.isVisible())
            elif panel.objectName() in layout.front and not panel.is_own_window and panel.tabs is not None:
                panel.tabs.show_panel(panel)

    def give_layout(self) -> PageLayout:
        """Return how the panels are arranged, to be kept."""
        shares = {one.objectName(): one.chosen for one in self.findChildren(Shares) if one.chosen}
        front = tuple(one.objectName() for one in self.panels if one.is_front)
        windows = {one.objectName(): one.geometry().getRect() for one in self.panels if one.is_own_window}
        return PageLayout(shares, front, cast("dict[str, Place]", windows))

    @property
    def chosen_columns(self) -> dict[str, bool]:
        """The columns of its table that the person showed or hid, which the preferences keep."""
        return {}

    def choose_columns(self, chosen: Mapping[str, bool]) -> None:
        """Show and hide the columns of its table as they were kept."""

    def _show_windows(self, are_shown: bool) -> None:
        """Show the panels that are windows of their own; over another page they would be in the way."""
        for panel in self.panels:
            if panel.is_own_window:
                panel.setVisible(are_shown)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._show_windows(True)
        self.shown.emit()

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        # A minimised window has its panels in order.
        if not event.spontaneous():
            self._show_windows(False)


@dataclass(frozen=True, slots=True)
class PageEntry:
    """A page in the bar."""

    key: str  # its layout is kept under it: never changes
    title: str
    tip: str
    icon: str
    module: str  # has `build(services: Services) -> Page`
    keys: str = ""  # that show it, beside Alt and its number
