"""What the person has chosen: picture, operation, mask, kernel, block, device. No widgets in here.

Panels show this state and change it through its setters; controllers turn it into requests. A setter emits
its signals only when a value really changed, and makes one step that can be undone.
"""

from collections.abc import Hashable
from dataclasses import replace
from typing import Any

from msgspec import structs
from PySide6.QtCore import QObject, QTimer, Signal
from PySide6.QtGui import QUndoCommand, QUndoStack

from engine.errors import EngineError
from engine.geometry.border import RangeMode
from engine.host.protocol import PictureHandle
from engine.mask.mask import Mask
from engine.verify.verification import Region
from engine.work.messages import PictureJob
from engine.work.steps import PICTURE
from gui.explore.jobs import chain_job, job_of
from gui.explore.state import (
    COMBINE,
    FIRST_ID,
    EditedStep,
    PictureSource,
    State,
    StepSettings,
    words_of_change,
)

MOST_UNDO_STEPS = 1000  # a state has little beside its masks, of 32 kB at most


class _Edit(QUndoCommand):
    """A state that replaces another one. Edits with the same merge key in a row become one."""

    def __init__(self, workspace: "Workspace", after: State, text: str, merge_key: Hashable) -> None:
        super().__init__(text)
        self._workspace, self._merge_key = workspace, merge_key
        self._before, self._after = workspace.state, after

    def id(self) -> int:
        return -1 if self._merge_key is None else 1

    def mergeWith(self, other: QUndoCommand) -> bool:
        if not isinstance(other, _Edit) or other._merge_key != self._merge_key:
            return False
        self._after = other._after
        self.setText(other.text())
        self.setObsolete(self._after == self._before)
        return True

    def redo(self) -> None:
        self._workspace._take(self._after)

    def undo(self) -> None:
        self._workspace._take(self._before)


class Workspace(QObject):
    """The state of the Explore page: one frozen `State`, and the picture that is shown.

    Its properties are those of the selected step. `edit` gives it another state, as one step that can be
    undone; every other setter does so through it, but `adopt` and what only changes the view.
    """

    operation_changed = Signal()  # another operation; its settings are those of the workspace now
    picture_changed = Signal(object)  # the new PictureHandle
    mask_changed = Signal(object)  # the new Mask, as typed (neither flipped nor normalised)
    settings_changed = Signal(object)  # the new Settings; something other than picture and mask changed
    region_wanted = Signal()  # the next rectangle that is dragged over the picture
    region_changed = Signal()  # `region` or `filters_region`
    shows_whole_changed = Signal()
    steps_changed = Signal()  # there are other steps, or another one is selected
    # Anything that a result depends on changed; emitted after the more specific signals.
    job_changed = Signal()
    state_changed = Signal()  # anything changed, by an edit, undo or redo; emitted last
    # The PictureSource of the state, whose picture is not the one that is shown; None: it is by now. Once per
    # turn.
    picture_wanted = Signal(object)

    def __init__(self, mask: Mask) -> None:
        super().__init__()
        self.undo_stack = QUndoStack(self, undoLimit=MOST_UNDO_STEPS)
        self.picture: PictureHandle | None = None
        self.state = State((EditedStep.of(mask),))  # all of it but the picture's pixels
        self.view_middle: tuple[int, int] | None = None
        """Row and column in the middle of the view: of a large picture a run measures a part around it."""
        self.region: Region | None = None  # the part of the picture that is selected
        self.filters_region = False  # whether only that part is filtered
        self.shows_whole = False
        """Whether the result of the whole chain is shown, not that of the selected step."""
        self.refusal: EngineError | None = None
        """Why the steps form no chain, where `job` returns nothing for that."""
        self._wanted: PictureSource | None = None
        # A click in the history goes through all states between.
        self._want_timer = QTimer(self, singleShot=True, interval=0)
        self._want_timer.timeout.connect(self._want_picture)

    @property
    def step(self) -> EditedStep:
        """The selected step, which the panels show."""
        return self.state.step

    @property
    def operation(self) -> str:
        """Key of the chosen operation; empty for convolution with the mask."""
        return self.step.operation

    @property
    def is_filtering(self) -> bool:
        """Whether the picture is filtered with the mask."""
        return not self.operation

    @property
    def is_chain(self) -> bool:
        """Whether there is more to do than one step with the picture."""
        return self.state.is_chain

    @property
    def mask(self) -> Mask:
        """The mask as typed."""
        return self.step.mask

    @property
    def settings(self) -> StepSettings:
        """The settings of the chosen operation."""
        return self.step.settings

    def edit(self, state: State, text: str, merge_key: Hashable = None) -> None:
        """Take another state, as a step that the history calls this; equal merge keys in a row are one."""
        if state != self.state:
            self.undo_stack.push(_Edit(self, state, text, merge_key))

    def begin_with(self, state: State) -> None:
        """Take the state that the window begins with: undo does not go behind it."""
        self._take(state)

    def edit_step(self, step: EditedStep, text: str, merge_key: Hashable = None) -> None:
        """Replace the selected step by another one."""
        key = None if merge_key is None else (self.state.selected, merge_key)
        self.edit(self.state.with_step(step), text, key)

    def select_step(self, at: int) -> None:
        """Let the panels show another step. It changes no step, so there is nothing to undo."""
        if at != self.state.selected and 0 <= at < len(self.state.steps):
            self._take(replace(self.state, selected=at))

    def choose(self, operation: str) -> None:
        """Choose an operation by its key, with the settings that it had before."""
        self.edit_step(self.step.with_operation(operation), f"Operation: {operation or 'convolution'}")

    def set_picture(self, picture: PictureHandle) -> None:
        """Show a picture. One that the state did not ask for is a step, but for the first."""
        if picture == self.picture:
            return
        self.view_middle = self._wanted = None
        self.region, self.filters_region = None, False
        self.picture = picture
        after, was_clean = replace(self.state, source=self._shown), self.undo_stack.isClean()
        if self.state.source is None:
            self.state = after
        else:
            self.edit(after, f"{'Open' if picture.crop is None else 'Crop'} {picture.title}")
            if was_clean:
                # Nothing is lost with a picture that is in its file.
                self.undo_stack.setClean()
        self.picture_changed.emit(picture)
        self.region_changed.emit()
        self.job_changed.emit()

    def keep_picture(self) -> None:
        """Stay with the picture that is shown: that of the state cannot be opened."""
        self._wanted = None
        self.state = replace(self.state, source=self._shown)

    def set_mask(
        self,
        mask: Mask,
        text: str = "Edit mask",
        merge_key: Hashable = None,
        *,
        is_new: bool = False,
        **fields: object,
    ) -> None:
        """Change the mask, and fields of the settings with it, as one step that can be undone.

        Whoever changes the mask wants to see what it does: convolution is chosen. `is_new`: it is no edit of
        the mask before.
        """
        self.edit_step(self.step.with_mask(mask, is_new=is_new).with_settings(**fields), text, merge_key)

    def change(self, **fields: object) -> None:
        """Change fields of the settings: `workspace.change(border=Border.WRAP)`. Numbers in a row merge."""
        self.edit_step(self.step.with_settings(**fields), *words_of_change(self.step, fields))

    def adopt(self, **fields: object) -> None:
        """Change fields of the settings that were not chosen, such as a default that has become known."""
        self._take(self.state.with_step(self.step.with_settings(**fields)))

    def select(self, region: Region | None) -> None:
        """Select a part of the picture; None for none."""
        if region != self.region:
            was_filtered, self.region = self.filters_region, region
            self.filters_region = was_filtered and region is not None
            self.region_changed.emit()
            if was_filtered:
                self.job_changed.emit()

    def filter_only_region(self, only: bool) -> None:
        """Filter the selected part alone, or all of the picture."""
        only = only and self.region is not None
        if only != self.filters_region:
            self.filters_region = only
            self.region_changed.emit()
            self.job_changed.emit()

    def set_only_step(
        self, mask: Mask, text: str, source: PictureSource | None = None, **fields: object
    ) -> int:
        """Filter with this mask alone, another `source` if given; return how many steps it replaced, or 0."""
        state = self.state
        step = replace(self.step, id=FIRST_ID, input="", second=PICTURE, on=True)
        step = step.with_mask(mask, is_new=True).with_settings(**fields)
        self.edit(State((step,), 0, source or state.source), text)
        return len(state.steps) if state.is_chain else 0

    def set_parameter(self, name: str, value: Any) -> None:
        self.change(parameters={**self.settings.parameters, name: value})

    @property
    def result_dtype(self) -> str:
        """Sample type of the results: that of the picture where "same" is chosen."""
        is_float = self.is_chain or (self.is_filtering and self.settings.result_type == "float32")
        if self.picture is None or is_float:
            return "float32"
        return self.picture.dtype

    @property
    def can_leave_range(self) -> bool:
        """Whether results can lie outside the picture's range: then a range mode says how they are shown."""
        return (self.is_filtering or self.is_chain) and self.result_dtype == "float32"

    @property
    def range_mode(self) -> RangeMode:
        """How results outside the picture's range are shown and saved; results of 8 or 16 bit are clipped."""
        return self.settings.range_mode if self.can_leave_range else "clip"

    def show_whole(self, whole: bool) -> None:
        """Show the result of the whole chain, or that of the selected step."""
        if whole != self.shows_whole:
            self.shows_whole = whole
            self.shows_whole_changed.emit()
            self.job_changed.emit()

    @property
    def shown_step(self) -> int | None:
        """Number of the step whose result is shown, from 1; None where that is the result of all steps."""
        at, count = self.state.selected, len(self.state.steps)
        return None if self.shows_whole or at == count - 1 else at + 1

    def job(self) -> PictureJob | None:
        """Return the job whose result is shown; None without a picture, or where `refusal` says why.

        Of a chain it ends with the selected step; where that reads the picture itself, it is the job of this
        step alone.
        """
        if self.is_chain:
            return self._chain_job(whole=self.shows_whole)
        self.refusal, job = None, self.step_job()
        if self.filters_region and job is not None and job.filter is not None:
            return structs.replace(job, region=self.region)
        return job

    def run_job(self) -> PictureJob | None:
        """Return the job that a run measures: of a chain all of it."""
        return self._chain_job(whole=True, alone=False) if self.is_chain else self.job()

    def step_job(self) -> PictureJob | None:
        """Return the job of the selected step on the picture, whatever it reads; None where it is none."""
        if self.picture is None or self.operation == COMBINE:
            return None
        return job_of(self.step, self.picture, self.range_mode)

    def _chain_job(self, *, whole: bool, alone: bool = True) -> PictureJob | None:
        self.refusal = None
        if self.picture is None:
            return None
        try:
            return chain_job(self.state, self.picture, self.range_mode, whole=whole, alone=alone)
        except EngineError as error:
            self.refusal = error
            return None

    def filter_job(self) -> PictureJob | None:
        """Return the job where that is a mask alone, else None."""
        job = self.job()
        return job if job is not None and job.filter is not None else None

    def _take(self, state: State) -> None:
        """Be in another state, and say what of it changed."""
        before, self.state = self.state, state
        old, new = before.step, state.step
        self._want_timer.start()
        if (before.selected, len(before.steps)) != (state.selected, len(state.steps)):
            self.steps_changed.emit()
        if new.operation != old.operation:
            self.operation_changed.emit()
        if (new.mask, new.title, new.typed) != (old.mask, old.title, old.typed):
            self.mask_changed.emit(new.mask)
        # What can be chosen differs with several steps.
        if new.settings != old.settings or before.is_chain != state.is_chain:
            self.settings_changed.emit(new.settings)
        if state.result_part != before.result_part:
            self.job_changed.emit()
        self.state_changed.emit()

    @property
    def _shown(self) -> PictureSource | None:
        return PictureSource.of(self.picture) if self.picture else None

    def _want_picture(self) -> None:
        wanted = self.state.source
        if wanted is not None and (wanted == self._shown or wanted.request is None):
            wanted = None
        if wanted != self._wanted:
            self._wanted = wanted
            self.picture_wanted.emit(wanted)
