"""The actions of the main window; pages bring their own. What a page cannot do is disabled and explained."""

from PySide6.QtCore import QObject
from PySide6.QtGui import QUndoGroup, QUndoStack

from gui.engine_link.engine_link import EngineLink
from gui.engine_link.engine_state import EngineState
from gui.page.actions import Actions, Entry
from gui.page.contract import PageEntry, PageStatus

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
        self._actions = actions
        self._state = state
        self._link = link
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
        """Follow the status of the page that is shown."""
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
