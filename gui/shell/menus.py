"""The actions of the frame, and the menus of all; pages bring their own. What is disabled says why."""

import os
from collections.abc import Callable, Mapping
from functools import partial

from PySide6.QtCore import QObject
from PySide6.QtGui import QAction, QUndoGroup, QUndoStack
from PySide6.QtWidgets import QMenu, QMenuBar

from gui.engine_link.engine_link import EngineLink
from gui.engine_link.engine_state import EngineState
from gui.page.actions import Actions, Entry
from gui.page.contract import PageEntry, PageStatus
from gui.page.files import KINDS, RecentFiles
from gui.page.messages import Messages
from gui.style.metrics import follow

_RECENT = "recent"
_LONGEST = 60
_TITLES = ("&File", "&Edit", "&View", "&Mask", "&Chain", "&Run", "&Help")


class Menus:
    """Puts actions into the menu bar by section; `others`, by menu and section, have entries of their own."""

    def __init__(self, bar: QMenuBar, actions: Actions, others: Mapping[tuple[str, int], QMenu]) -> None:
        self._actions, self._others = actions, others
        self._menus = {title: QMenu(title, bar, toolTipsVisible=True) for title in _TITLES}
        self._submenus: dict[str, QMenu] = {}
        for menu in self._menus.values():
            bar.addMenu(menu)

    def fill(self) -> None:
        """Show the actions that there are by now."""
        for title, menu in self._menus.items():
            # The actions of each menu by their sections; those of a submenu have their own within it.
            placed = {menu: [(at, one.menuAction()) for (of, at), one in self._others.items() if of == title]}
            for entry in self._actions.entries.values():
                if entry.menu != title:
                    continue
                holder = menu
                if entry.submenu:
                    if entry.submenu not in self._submenus:
                        self._submenus[entry.submenu] = QMenu(entry.submenu, menu, toolTipsVisible=True)
                    holder = self._submenus[entry.submenu]
                    if holder not in placed:
                        placed[holder] = []
                        placed[menu].append((entry.section, holder.menuAction()))
                placed[holder].append((entry.section, self._actions[entry.name]))
            for holder, actions in placed.items():
                _show(holder, actions)


def _show(menu: QMenu, placed: list[tuple[int, QAction]]) -> None:
    """Have a menu show these actions, with lines between their sections."""
    # Not clear(), with which Qt for Python ends the actions too.
    for action in menu.actions():
        menu.removeAction(action)
    before = None
    for section, action in sorted(placed, key=lambda one: one[0]):
        if before not in (None, section):
            menu.addSeparator()
        menu.addAction(action)
        before = section


class RecentMenu(QObject):
    """Lists the files when it is opened; one that is gone is reported, and leaves the list."""

    def __init__(
        self, files: RecentFiles, messages: Messages, opens: Callable[[str], object], shown: Callable[[], str]
    ) -> None:
        super().__init__()
        self._recent, self._messages, self._opens, self._shown = files, messages, opens, shown
        self.menu = QMenu("Open &recent", toolTipsVisible=True)
        self.menu.aboutToShow.connect(self._fill)
        entry = self.menu.menuAction()
        follow(lambda: entry.setEnabled(bool(files.all())), files.changed)

    def open_last(self) -> None:
        """Open the newest file that is not the picture that is shown."""
        paths = [one.path for one in self._recent.all() if one.path != self._shown()]
        if paths:
            self.open(paths[0])
        else:
            what, why = "There is nothing to reopen", "no other file was opened yet"
            self._messages.note(_RECENT, what, why, "Open one with Ctrl+O.")

    def open(self, path: str) -> None:
        if os.path.exists(path):
            self._messages.clear(_RECENT)
            self._opens(path)
            return
        self._recent.forget(path)
        what, why = f"{os.path.basename(path)} is gone", f"there is no {path} any more"
        self._messages.warn(_RECENT, what, why, "It was taken off the list.")

    def _fill(self) -> None:
        self.menu.clear()
        for kind in KINDS:
            paths = self._recent.of(kind)
            if paths:
                self.menu.addSection(f"{kind.capitalize()}s")
            for path in paths:
                folder = os.path.dirname(path)
                near = folder if len(folder) <= _LONGEST else f"…{folder[-_LONGEST:]}"
                # An ampersand would underline the next letter.
                name = f"{os.path.basename(path)}    {near}".replace("&", "&&")
                action = self.menu.addAction(name, partial(self.open, path))
                action.setToolTip(path)
        self.menu.addSeparator()
        self.menu.addAction("&Forget these", self._recent.forget).setToolTip("Empty this list.")


ENTRIES: tuple[Entry, ...] = (
    Entry("reopen_last", "Reopen &last", "Open the file that was open last, beside the one that is shown.",
          "Ctrl+Shift+T", "open", "&File", 15),
    Entry("save_results", "Save res&ults…", "Save the runs of this page as CSV or, with all samples, JSON;"
          " of Course the tables as Markdown and CSV, figures as SVG.", "Ctrl+E", "export", "&File", 40),
    Entry("copy_results", "&Copy results", "Copy the table of this page, to paste it into a spreadsheet.",
          "Ctrl+Shift+C", "copy", "&Edit", 30),
    Entry("clear_results", "C&lear results", "Forget the runs of this page; Undo brings them back.",
          "Ctrl+Shift+Del", "clear", "&Edit", 30),
    Entry("run", "&Run", "Run what this page shows.", "Ctrl+R F5", "run", "&Run"),
    Entry("run_all", "Run &all", "Run everything that can be run on this page.", "Ctrl+Shift+R", "run-all",
          "&Run"),
    Entry("cancel", "&Cancel", "Stop the current run. Finished results are kept.", "Esc",
          "cancel", "&Run", 20),
    Entry("retry_gpu", "Try the &GPU again", "Retry the GPU after repeated errors disabled it.",
          "Ctrl+Shift+G", "retry", "&Run", 30),
    Entry("show_recorded", "Recorded &GPU", "Show what a GPU of another machine measured, marked as recorded,"
          " beside the figures of this one.", "Ctrl+G", "device", "&View", 60),
    Entry("reset_layout", "&Default layout", "Restore the default positions of all panels on this page.",
          "Ctrl+Shift+L", "layout", "&View", 85),
    Entry("hide_panels", "&Hide panels", "Leave the page to its picture; once more brings the panels back.",
          "F12", "arrow-expand-all", "&View", 85),
    Entry("full_screen", "F&ull screen", "Fill the screen with the window, and back.", "F11", "fullscreen",
          "&View", 85),
    Entry("preferences", "Pre&ferences…", "Theme, size of the letters, and the keys of all commands.",
          "Ctrl+,", "settings", "&Edit", 90),
    Entry("palette", "Command &palette…", "Find any command by words of its name.", "Ctrl+Shift+P",
          "magnify", "&Help"),
    Entry("panel_help", "&Help for this panel", "Explain the panel that has the focus.", "F1", "help",
          "&Help"),
    Entry("documentation", "&Documentation", "How to use Haloscope, the words used here, and every"
          " document.", "Ctrl+F1", "help", "&Help"),
    Entry("shortcuts", "&Keyboard shortcuts", "Every action with its keys; they can be changed.", "Shift+F1",
          "keyboard", "&Help"),
    Entry("about", "&About Haloscope…", "What this is, and what a report of a problem needs: versions to"
          " copy, and the crash log.", "Ctrl+Shift+F1", "about", "&Help", 90),
    Entry("quit", "&Quit", "Close the window. Its layout is kept.", "Ctrl+Q Ctrl+W", "quit", "&File", 90),
)  # fmt: skip
UNDO = Entry("undo", "&Undo", "Undo the last edit on this page.", "Ctrl+Z", "undo", "&Edit", 10)
REDO = Entry("redo", "&Redo", "Redo the last undone edit.", "Ctrl+Shift+Z Ctrl+Y", "redo", "&Edit", 10)


def page_entries(pages: list[PageEntry]) -> list[Entry]:
    """Return a choice for each page."""
    return [
        Entry(f"page:{page.key}", page.title, page.tip, f"Alt+{number} {page.keys}", page.icon,
              "&View", 70, "Pag&es", page.key)
        for number, page in enumerate(pages, start=1)
    ]  # fmt: skip


class PageActions(QObject):
    """Those on the page that is shown: run, save, edit. Enables and explains them."""

    def __init__(self, actions: Actions, state: EngineState, link: EngineLink) -> None:
        super().__init__(actions)
        self._actions, self._state, self._link = actions, state, link
        self._status = PageStatus()
        self._shown: tuple[object, ...] = ()
        self._stacks = QUndoGroup(self)
        # The stack of pages that have no edits.
        self._no_edits = QUndoStack(self)
        actions.add_history(self._stacks, UNDO, REDO)
        for signal in (state.ready_changed, state.running_changed, state.progress_changed, link.lost):
            signal.connect(self._refresh)

    def show_edits(self, stack: QUndoStack | None) -> None:
        """Undo and redo the edits of another page from now on."""
        stack = self._no_edits if stack is None else stack
        self._stacks.addStack(stack)
        self._stacks.setActiveStack(stack)

    def show_status(self, status: PageStatus) -> None:
        self._status = status
        self._refresh()

    def _refresh(self) -> None:
        state, status = self._state, self._status
        is_stoppable = (state.running or (state.slow and state.can_stop)) and not state.cancelling
        shown = status, state.why_no_run, is_stoppable, self._link.uses_cuda
        if shown == self._shown:
            # Each stage of a preview comes here, four times an edit.
            return
        self._shown = shown
        for name, does in (("run", status.run_does), ("run_all", status.run_all_does)):
            why_not = status.why_no_run or state.why_no_run or status.why_not_one * (name == "run")
            why_not = why_not if does else "Not available on this page."
            self._actions[name].setEnabled(not why_not)
            self._actions.explain(name, f"{does} {why_not}".strip())
        for name, can, why_not in (
            ("save_results", status.has_results, "There are no results on this page."),
            ("copy_results", status.can_copy, "There is nothing to copy on this page."),
            ("clear_results", status.can_clear, "There are no runs to clear on this page."),
            ("cancel", is_stoppable, "Nothing is running."),
            ("retry_gpu", not self._link.uses_cuda, "The GPU was not disabled."),
        ):
            self._actions.allow(name, "" if can else why_not)
