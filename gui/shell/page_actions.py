"""The actions on the page that is shown: run, save, edit; what it cannot do is disabled and explained."""

from PySide6.QtCore import QObject
from PySide6.QtGui import QUndoGroup, QUndoStack

from gui.engine_link.engine_link import EngineLink
from gui.engine_link.engine_state import EngineState
from gui.page.actions import Actions
from gui.page.contract import PageStatus
from gui.shell.shell_actions import REDO, UNDO


class PageActions(QObject):
    """Enables and explains them."""

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
            ("export_csv", status.has_results, "There are no results on this page."),
            ("export_json", status.has_results, "There are no results on this page."),
            ("copy_results", status.can_copy, "There is nothing to copy on this page."),
            ("clear_results", status.can_clear, "There are no runs to clear on this page."),
            ("cancel", is_stoppable, "Nothing is running."),
            ("retry_gpu", not self._link.uses_cuda, "The GPU was not disabled."),
        ):
            self._actions.allow(name, "" if can else why_not)
