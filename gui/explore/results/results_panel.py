"""The panel Runs: every run with its bar, what the selected one cost, and how two differ."""

from collections.abc import Callable, Sequence
from functools import partial

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QFontMetrics
from PySide6.QtWidgets import QFrame, QInputDialog, QLabel, QMenu, QSizePolicy

from engine.device_info import RECORDED
from engine.results.columns import device_text
from engine.results.metrics import Compared
from engine.work.messages import PictureJob
from gui.engine_link.device_box import OFFER
from gui.engine_link.engine_state import EngineState
from gui.explore.jobs import is_chain, state_of
from gui.explore.results.results_model import ResultsModel
from gui.explore.run_words import (
    EARLIER,
    best_words,
    compared_words,
    costs_words,
    problem_words,
    run_title,
    runs_words,
    work_words,
)
from gui.explore.state import KERNEL, PictureSource, values_of
from gui.explore.workspace import Workspace
from gui.runs.bars import run_tooltip
from gui.runs.model import RUN_ROLE
from gui.runs.state import ExchangeRuns
from gui.runs.table import RunsPanel, RunsTable
from gui.style.metrics import GRID, HALF_GRID, follow, follow_letters, scaled_font
from gui.widgets.labels import ElidedLabel
from gui.widgets.panel_parts import ROUND_MARGINS, column, named, row

_MOST_NOTE = 60
_EMPTY = "Every run has a row here: its time as a bar, its speed-up, the proof that its picture is right."
# Their bars and tooltips show these: at 1280 pixels the others need the room.
_AT_FIRST = dict.fromkeys(("kernel_p20_ms", "kernel_p80_ms", "end_to_end_median_ms", "max_error"), False)
_SELECT = "Select a row: every panel then explains its run. With two rows the runs are compared."
_HINT = (
    "Double-click a row to restore its settings. Right-click it for more, the header to choose columns; two "
    "selected rows are compared."
)


class ResultsPanel(RunsPanel):
    """The fastest run stands first; what is selected is the run that all panels describe."""

    # The PictureSource of a run, and what is called with True once it is open.
    opening_wanted = Signal(object, object)

    def __init__(self, results: ResultsModel, workspace: Workspace, state: EngineState) -> None:
        super().__init__(results, RunsTable(results, "Runs", _AT_FIRST, best_first=True), _EMPTY)
        self._results, self._workspace, self._state = results, workspace, state
        self._operation = workspace.operation
        self.dialog: QInputDialog | None = None
        self.about = ElidedLabel(small=True, is_plain=True, name="The selected run")
        self.summary = ElidedLabel(small=True)
        parts = row((self.about, 1), self.more, spacing=HALF_GRID), (self.stack, 1), self.summary
        self.setLayout(column(*parts, spacing=HALF_GRID, margins=ROUND_MARGINS))

        self.table.caption_changed.connect(self._show_summary)
        self.table.baseline_wanted.connect(
            lambda run: None if run is None else workspace.change(baseline=run.variant)
        )
        self.table.menu_made.connect(self.fill_row_menu)
        self.table.activated.connect(lambda index: self.restore(index.data(RUN_ROLE)))
        self.table.delete_wanted.connect(lambda: self.delete(results.selected))
        results.present_changed.connect(self._follow_operation)
        state.running_changed.connect(self._follow_run)
        follow(self._follow_baseline, workspace.settings_changed)
        of_rows = results.rowsInserted, results.modelReset
        follow(self._show_summary, *of_rows, results.present_changed)
        selected = results.selected_changed, results.described_changed
        follow(self._describe, *of_rows, results.rowsRemoved, *selected)

        def offer_recorded() -> None:
            self.explain_empty(f"{_EMPTY}\n{OFFER}" if state.lacks_gpu else _EMPTY)

        follow(offer_recorded, state.ready_changed, state.recorded_changed)

    def _follow_run(self) -> None:
        """Stay where the rows are while runs come; then show the selected one."""
        self.table.setAutoScroll(not self._state.running)
        if not self._state.running:
            self.table.scrollTo(self.table.currentIndex())

    def _follow_operation(self) -> None:
        current, before = self._results.current, self._operation
        self._operation = self._workspace.operation
        # The run of an operation that was left is outdated.
        if before != self._operation and current is not None:
            self._results.describe(current.result)

    def _follow_baseline(self) -> None:
        if baseline := self._workspace.settings.baseline:
            self._results.set_baseline(baseline)

    def _describe(self) -> None:
        selected, run = self._results.selected, self._results.described
        self.about.setVisible(bool(self._results.rows()))
        if len(selected) == 2:
            self.about.setText(compared_words(*selected))
        elif run is None:
            self.about.setText(self._results.recorded_note or _SELECT)
        else:
            title = run_title(run, is_earlier=self._results.is_earlier(run.result))
            note = self._results.recorded_note if run.result.device == RECORDED else ""
            self.about.setText(" · ".join(filter(None, (title, note, costs_words(run), work_words(run)))))
            self.about.setToolTip(run_tooltip(run))

    def _show_summary(self) -> None:
        """Say what the line over the panels does not: runs of earlier problems, and recorded ones."""
        results, recorded, baseline = self._results.results(), self._results.recorded, self._results.baseline
        earlier = sum(map(self._results.is_earlier, results))
        how_many = "All" if earlier == len(results) else f"{earlier:,}"
        # The first on a GPU, which has a layout of rows, if there is one.
        gpu = min((run.result for run in recorded), key=lambda run: not run.layout, default=None)
        parts = (
            f"{how_many} {EARLIER}" if earlier else "",
            f"Hollow bars: {device_text(gpu)}, against its own {baseline}" if gpu is not None else "",
            self._results.recorded_note,
        )
        self.summary.setText(" · ".join(filter(None, parts)))
        self.summary.setVisible(any(parts))
        caption = f"All rows: {self.table.caption}\n\n" if self.table.caption else ""
        self.table.setAccessibleDescription(self.summary.text())
        self.summary.setToolTip(f"{self.summary.text()}\n{caption}{_HINT}")
        self.more.setToolTip(f"What the bars show, columns, copies, files.\n\n{caption}{_HINT}")

    def restore(self, run: Compared) -> None:
        """Choose the settings of a run; where its picture is not open, that comes first."""
        job = self._results.job_of(run.result)
        if job is None:
            return
        then = partial(restore, self._workspace, job, f"Settings of run {run.number}")
        ran, here = job.picture, self._workspace.picture
        # Opened anew it lies elsewhere in memory.
        names = [one and (one.path, one.sample, one.title) for one in (here, ran)]
        if here == ran or names[0] == names[1]:
            then()
        else:
            self.opening_wanted.emit(PictureSource.of(ran), lambda is_open: then() if is_open else None)

    def delete(self, runs: Sequence[Compared]) -> None:
        """Forget runs, as a step that can be undone."""
        numbered = [(run.number, kept) for run in runs if (kept := self._results.kept_of(run.result))]
        if numbered:
            what = f"run {numbered[0][0]}" if len(numbered) == 1 else f"{len(numbered)} runs"
            gone = [kept for _number, kept in numbered]
            self._workspace.undo_stack.push(ExchangeRuns(self._results, f"Delete {what}", gone))

    def ask_for_note(self, run: Compared) -> None:
        """Ask for a short text that the row of a run shows."""
        self.dialog = dialog = QInputDialog(self)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.setWindowTitle("Note")
        dialog.setLabelText(f"A note for {run_title(run)}, at most {_MOST_NOTE} characters:")
        dialog.setTextValue(self._results.note_of(run.result))
        dialog.textValueSelected.connect(lambda text: self._results.set_note(run.result, text[:_MOST_NOTE]))
        dialog.open()

    def fill_row_menu(self, menu: QMenu, run: Compared) -> None:
        """Append what can be done with a run, and with the selected ones where it is among them."""
        results = self._results
        selected = list(results.selected)
        runs = selected if any(one.result is run.result for one in selected) else [run]
        is_here, is_pinned = results.kept_of(run.result) is not None, results.is_pinned(run.result)
        menu.addSeparator()
        many = f" {len(runs)} runs" if len(runs) > 1 else ""
        has_job, pin = results.job_of(run.result) is not None, "Unpin" if is_pinned else "Pin to the top"

        def add(text: str, is_enabled: bool, act: Callable[[], object]) -> None:
            action = menu.addAction(text)
            action.setEnabled(is_enabled)
            action.triggered.connect(lambda: act())

        add("Restore its settings\tReturn", has_job, lambda: self.restore(run))
        add(pin, is_here, lambda: results.pin(run.result, not is_pinned))
        add("Note…", is_here, lambda: self.ask_for_note(run))
        add(f"Delete{many}\tDel", is_here, lambda: self.delete(runs))


def restore(workspace: Workspace, job: PictureJob, text: str) -> None:
    """Choose what a job did: mask or parameters, kernel, block, device, as one step `text`.

    The picture stays. The mask's name and its switches stay too where they give the job's mask.
    """
    where = {"device": job.device, "layout": job.layout}
    how = values_of(KERNEL, job) | where
    if (step := job.filter) is not None:
        how |= {"border": step.border, "cval": step.cval, "result_type": job.result_type}
        mask, is_new = workspace.mask, workspace.step.applied_mask != job.mask
        if is_new:
            # As the weights are: neither turned nor divided by their sum.
            mask, how = job.mask, how | {"flip": False, "normalise": False}
        workspace.set_mask(mask, text, is_new=is_new, **how)
        return
    if is_chain(job):
        state = state_of(job.chain, workspace.state)
        workspace.edit(state.with_step(state.step.with_settings(**where)), text)
        return
    operation = job.operation
    assert operation is not None
    how |= {"parameters": dict(operation.settings), "patch_path": job.patch_path}
    workspace.edit_step(workspace.step.with_operation(operation.operation).with_settings(**how), text)


_PROBLEM_SCALE, _ANSWER_SCALE, _LEAST_ANSWER = 1.1, 1.3, 4 * GRID + 4


class AnswerLine(QFrame):
    """Says it once for the whole page; the most visible text after the picture."""

    def __init__(self, results: ResultsModel, workspace: Workspace) -> None:
        super().__init__()
        self._results, self._workspace = results, workspace
        self.problem = ElidedLabel(is_plain=True, name="Problem and runs")
        self.problem.setFont(scaled_font(_PROBLEM_SCALE))
        self.answer = named(QLabel(), "Best run")
        self.answer.setFont(scaled_font(_ANSWER_SCALE, bold=True))
        # What has no room is cut from the problem; the answer stays whole.
        self.answer.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Preferred)
        self.problem.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)
        self.setLayout(row(self.problem, self.answer, 1, margins=ROUND_MARGINS))
        self.setObjectName("answer")
        of_rows = results.rowsInserted, results.rowsRemoved, results.modelReset, results.dataChanged
        of_page = workspace.job_changed, workspace.settings_changed, workspace.picture_changed
        follow(self.refresh, *of_rows, results.present_changed, *of_page)
        follow_letters(self, self._fit)

    def _fit(self) -> None:
        line = QFontMetrics(scaled_font(_ANSWER_SCALE, bold=True)).height()
        self.setFixedHeight(max(_LEAST_ANSWER, line + GRID))

    def refresh(self) -> None:
        # On the requested device.
        runs = self._results.present_runs(self._workspace.settings.device)
        best = best_words(runs)
        words = " · ".join((problem_words(self._workspace), runs_words(runs)))
        self.problem.setText(f"{words} ·" if best else words)
        self.answer.setText(best)
        tip = f"The shortest kernel time of these runs, against the baseline {self._results.baseline}."
        self.answer.setToolTip(tip if best else "")
        self.setAccessibleName(f"{words}{f' · {best}' if best else ''}")
