"""What can be done with rows of the table and the plot: restore, pin, note, delete."""

from collections.abc import Callable, Sequence
from functools import partial

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtWidgets import QInputDialog, QMenu, QWidget

from engine.results.compare import Compared
from engine.work.messages import PictureJob
from gui.explore.chain.chain_steps import state_of
from gui.explore.picture_job import is_chain
from gui.explore.results.results_model import ResultsModel
from gui.explore.run_words import run_title
from gui.explore.state import KERNEL, values_of
from gui.explore.workspace import Workspace
from gui.runs.kept import ExchangeRuns


def restore(workspace: Workspace, job: PictureJob, text: str) -> None:
    """Choose what a job did: mask or parameters, kernel, block, device, as one step `text`.

    The picture stays. The mask's name and its switches stay too where they give the job's mask.
    """
    where = {"device": job.device, "layout": job.layout}
    how = values_of(KERNEL, job) | where
    if (step := job.filter) is not None:
        how |= {"border": step.border, "cval": step.cval, "result_type": job.result_type}
        mask, is_new = workspace.mask, workspace.applied_mask() != job.mask
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


def same_picture(workspace: Workspace, job: PictureJob) -> bool:
    """Whether the job's picture is the one that is open; opened anew it lies elsewhere in memory."""
    open_now = workspace.picture
    if open_now is None:
        return False
    where = (open_now.path, open_now.sample, open_now.title)
    return open_now == job.picture or where == (job.picture.path, job.picture.sample, job.picture.title)


_MOST_NOTE = 60


class RowActions(QObject):
    """Acts on the selected runs; table and plot share it."""

    picture_wanted = Signal(object, object)  # the PictureHandle of a run, and what to do once it is open

    def __init__(self, results: ResultsModel, workspace: Workspace, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.results = results
        self.workspace = workspace
        self.dialog: QInputDialog | None = None

    def restore(self, run: Compared) -> None:
        """Choose the settings of a run; where its picture is not open, that comes first."""
        job = self.results.job_of(run.result)
        if job is None:
            return
        then = partial(restore, self.workspace, job, f"Settings of run {run.number}")
        if same_picture(self.workspace, job):
            then()
        else:
            self.picture_wanted.emit(job.picture, then)

    def delete(self, runs: Sequence[Compared]) -> None:
        """Forget runs, as a step that can be undone."""
        found = [(run.number, kept) for run in runs if (kept := self.results.kept_of(run.result))]
        if found:
            what = f"run {found[0][0]}" if len(found) == 1 else f"{len(found)} runs"
            gone = [kept for _number, kept in found]
            self.workspace.undo_stack.push(ExchangeRuns(self.results, f"Delete {what}", gone))

    def ask_for_note(self, run: Compared, parent: QWidget) -> None:
        """Ask for a short text that the row of a run shows."""
        self.dialog = dialog = QInputDialog(parent)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.setWindowTitle("Note")
        dialog.setLabelText(f"A note for {run_title(run)}, at most {_MOST_NOTE} characters:")
        dialog.setTextValue(self.results.note_of(run.result))
        dialog.textValueSelected.connect(lambda text: self.results.set_note(run.result, text[:_MOST_NOTE]))
        dialog.open()

    def fill(self, menu: QMenu, run: Compared, parent: QWidget) -> None:
        """Append what can be done with a run, and with the selected ones where it is among them."""
        results = self.results
        selected = list(results.selected)
        runs = selected if any(one.result is run.result for one in selected) else [run]
        is_here = results.kept_of(run.result) is not None
        is_pinned = results.is_pinned(run.result)
        menu.addSeparator()
        many = f" {len(runs)} runs" if len(runs) > 1 else ""
        entries: tuple[tuple[str, bool, Callable[[], object]], ...] = (
            (
                "Restore its settings\tReturn",
                results.job_of(run.result) is not None,
                partial(self.restore, run),
            ),
            (
                "Unpin" if is_pinned else "Pin to the top",
                is_here,
                partial(results.pin, run.result, not is_pinned),
            ),
            ("Note…", is_here, partial(self.ask_for_note, run, parent)),
            (f"Delete{many}\tDel", is_here, partial(self.delete, runs)),
        )
        for text, is_enabled, act in entries:
            action = menu.addAction(text)
            action.setEnabled(is_enabled)
            action.triggered.connect(lambda _checked=False, act=act: act())
