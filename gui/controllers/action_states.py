"""Which actions can be chosen now: one rule each, asked again whenever something it depends on changes."""

from PySide6.QtCore import QObject

from gui.actions import Actions
from gui.controllers.engine_link import EngineLink
from gui.state.engine_state import EngineState
from gui.state.results_model import ResultsModel
from gui.state.workspace import Workspace


class ActionStates(QObject):
    """Keeps actions enabled and checked as the state says."""

    def __init__(
        self,
        actions: Actions,
        workspace: Workspace,
        state: EngineState,
        results: ResultsModel,
        link: EngineLink,
    ) -> None:
        super().__init__(actions)
        self._actions = actions
        self._workspace = workspace
        self._state = state
        self._results = results
        self._link = link
        for signal in (
            workspace.picture_changed,
            workspace.settings_changed,
            state.ready_changed,
            state.running_changed,
            state.progress_changed,
            state.filtered,
            results.rowsInserted,
            results.modelReset,
            link.lost,
        ):
            signal.connect(self._refresh)
        actions.range_modes.triggered.connect(lambda action: workspace.change(range_mode=action.data()))
        self._refresh()

    def _refresh(self) -> None:
        state, actions = self._state, self._actions
        has_picture = self._workspace.picture is not None
        can_run = has_picture and state.is_ready and not state.running
        has_results = self._results.rowCount() > 0
        for name, can in (
            ("save", state.last_result is not None),
            ("run", can_run),
            ("run_all", can_run),
            ("cancel", (state.running or state.slow) and not state.cancelling),
            ("export_csv", has_results),
            ("export_json", has_results),
            ("copy_results", has_results),
            ("clear_results", has_results),
            ("retry_gpu", not self._link.uses_cuda),
            ("zoom_fit", has_picture),
            ("zoom_actual", has_picture),
            ("zoom_in", has_picture),
            ("zoom_out", has_picture),
        ):
            actions[name].setEnabled(can)
        for action in actions.range_modes.actions():
            action.setChecked(action.data() == self._workspace.settings.range_mode)
