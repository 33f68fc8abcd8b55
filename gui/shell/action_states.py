"""Which actions can be chosen now: one rule each, asked again whenever something it depends on changes."""

from PySide6.QtCore import QObject

from gui.engine_link.engine_link import EngineLink
from gui.engine_link.engine_state import EngineState
from gui.explore.results.results_model import ResultsModel
from gui.explore.workspace import Workspace
from gui.matrices.matmul_state import MatmulState
from gui.page.actions import Actions


class ActionStates(QObject):
    """Keeps actions enabled and checked as the state says."""

    def __init__(
        self,
        actions: Actions,
        workspace: Workspace,
        state: EngineState,
        results: ResultsModel,
        matmul: MatmulState,
        link: EngineLink,
    ) -> None:
        super().__init__(actions)
        self._actions = actions
        self._workspace = workspace
        self._state = state
        self._results = results
        self._matmul = matmul
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
            matmul.rows_changed,
            link.lost,
        ):
            signal.connect(self._refresh)
        actions.range_modes.triggered.connect(lambda action: workspace.change(range_mode=action.data()))
        self._refresh()

    def _refresh(self) -> None:
        state, actions = self._state, self._actions
        has_picture = self._workspace.picture is not None
        why_no_run = self._why_no_run()
        can_run = not why_no_run
        has_results = self._results.rowCount() > 0
        for name, can in (
            ("save", state.last_result is not None),
            ("run", can_run),
            ("run_all", can_run),
            ("multiply", not self._why_no_product()),
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
        for name in ("run", "run_all"):
            actions.explain(name, why_no_run)
        actions.explain("multiply", self._why_no_product())
        for action in actions.range_modes.actions():
            action.setChecked(action.data() == self._workspace.range_mode)
            action.setEnabled(self._workspace.result_dtype == "float32")

    def _why_no_product(self) -> str:
        if not self._state.is_ready:
            return f"Not now: the engine is {self._state.status}."
        if self._state.running:
            return "Not now: a run goes on; Esc cancels it."
        return (
            "" if self._matmul.runnable else "Look at the page Matrices first: it counts what can run here."
        )

    def _why_no_run(self) -> str:
        if self._workspace.picture is None:
            return "Open a picture first (Ctrl+O)."
        if not self._state.is_ready:
            return f"Not now: the engine is {self._state.status}."
        return "Not now: a run goes on; Esc cancels it." if self._state.running else ""
