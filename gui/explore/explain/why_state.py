"""The reason for the time of the selected run: asks the engine while nothing runs.

What comes is kept with the result. A question makes way for every run and preview, and is dropped when
another result is selected; it is sent again after that.
"""

from collections.abc import Hashable
from enum import StrEnum
from functools import partial
from typing import Any

from engine.device_info import RECORDED
from engine.errors import EngineError
from engine.explain.messages import TimeRequest
from engine.results.measurement import ExplainedTime, Measurement
from engine.results.metrics import Compared
from engine.work.messages import PictureJob
from gui.engine_link.engine_link import EngineLink, Newest, needs_no_message
from gui.explore.explain.question import Question
from gui.explore.explain.roofline_state import MEASURE, RooflineState
from gui.explore.explain.selection import Selection
from gui.explore.jobs import comparable_of, is_chain
from gui.explore.results.results_model import RecordedProblem, recorded_problem
from gui.explore.run_words import costs_words, run_title

_NO_RUN = (
    "Why a run takes its time: the least time for each thing that it must do, beside the time that was "
    "measured.\nPress Run (Ctrl+R), or select a row of the results. Compare … chooses another kernel."
)
_CANNOT_RUN = "{} cannot do this now. {}"
_NOT_RUN = "{} was not run yet: press Run (Ctrl+R), or select a run in the results."
_NO_FILTER = "Times are explained of convolutions only; this run was of another operation."
_NO_CHAIN = (
    "{} · {}.\nTimes are explained of a convolution by itself, not of a chain: to see what limits a mask, "
    "run it as the only step."
)
_NO_JOB = "What this run did is no longer known, only its numbers. Run it again to have its time explained."
_RECORDED_BESIDE_GPU = "Recorded runs are explained only where there is no GPU."
_RECORDED_FOR_ANOTHER = (
    "This run was recorded for {}, border {}. Its time is explained where picture, mask and border are those "
    "of a recorded run."
)
_NEEDS_GPU = "{} needs a GPU, and none is here. Runs that another machine's GPU recorded are explained too."
_OTHER_MACHINE = (
    "Another machine computed this run. It is explained while that one computes: choose it under Device."
)
_NO_RECORDED_CPU = (
    "The recording keeps what its GPU does per second at most, not what its CPU does: the time of this run "
    "cannot be explained."
)
_NO_PICTURE = "The picture of this run is no longer open. Open it and run again to have the time explained."
_NO_ENGINE = "The time is explained once the engine is up."
_BUSY = "The time is explained once nothing else runs."
_ASKING = "Finding the least time for each thing that this run must do, which takes a few seconds …"
_WHAT_LIMITS_ARE = "They are what it does per second at most; the least time of a run follows from them."


# The codes of reasons for which there are no bounds, or wrong ones.
_MEASURING_HELPS = "not-measured", "limits-left-out"


class Remedy(StrEnum):
    """What a person can do about a time that is not explained; the words of a button."""

    NOTHING = ""
    MEASURE = MEASURE
    SHOW = "Show the recorded run"
    SET = "Set"


class WhyState(Question):
    """The selected run and the reason for its time, or why there is none."""

    def __init__(self, selection: Selection, link: EngineLink, roofline: RooflineState) -> None:
        workspace, state, results = selection.workspace, selection.state, selection.results
        of_engine = state.availability_changed, state.ready_changed
        super().__init__(selection.changed, results.described_changed, workspace.picture_changed, *of_engine)
        self.workspace, self.state, self.results = workspace, state, results
        self.selection, self._roofline = selection, roofline
        self._asks = self._times = Newest(link)
        self._was_busy = False
        self._result: Measurement[Any] | None = None
        self._requested_before: Measurement[Any] | None = None
        # Of that result: what came, why nothing else will, and whether what it knows no longer holds.
        self._reply: ExplainedTime | None = None
        self._why_not = ""
        self._is_outdated = False
        state.progress_changed.connect(self._make_way)
        roofline.measured.connect(self._ask_anew)
        self._wanted = ""  # the kernel whose recorded run is to be selected once it is there
        results.present_changed.connect(self._choose_wanted)

    @property
    def run(self) -> Compared | None:
        return self.selection.run

    @property
    def explained(self) -> ExplainedTime | None:
        """The reason for its time; None with `words`."""
        own = self.run.result.explained if self.run else None
        return own if own is not None and own.bounds else self._reply or own

    @property
    def before(self) -> Compared | None:
        """The newest run of the kernel to compare with that did the same on the same device."""
        run, other = self.run, self.selection.other
        if run is None or other is None:
            return None
        did = run.result.device, _problem_of(run.result)
        others = [one for one in self.results.rows() if one.result.variant == other.key]
        same = (one for one in reversed(others) if (one.result.device, _problem_of(one.result)) == did)
        return next(same, None)

    @property
    def words(self) -> str:
        """Why there are no bounds; empty where there are."""
        run, explained = self.run, self.explained
        if run is None:
            known = self.selection.known
            if known is not None and self._is_for_gpu:
                note = self.results.recorded_note if self.step is Remedy.SET else ""
                return " ".join(filter(None, (_NEEDS_GPU.format(known.title), note)))
            availability = self.state.availability.get(self._kernel)
            if known is not None and availability is not None and availability.reason:
                return _CANNOT_RUN.format(known.title, availability.reason)
            is_other = self.results.described is not None and known is not None
            return _NOT_RUN.format(known.title) if is_other and known else _NO_RUN
        if explained is not None:
            if explained.bounds:
                return ""
            # What a person can do about it is the button's to say.
            why_not = explained.not_explained if self.step is Remedy.MEASURE else None
            return f"{why_not.sentence} {_WHAT_LIMITS_ARE}" if why_not else explained.words
        if self._times.in_flight is not None:
            return _ASKING
        return self._why_not or self._why_no_question(run.result) or self._why_not_now

    @property
    def step(self) -> Remedy:
        """What the person can do about it."""
        explained, device = self.explained, self.run.result.device if self.run else ""
        reason = explained.not_explained if explained else None
        if reason is not None and reason.code in _MEASURING_HELPS and self._roofline.can_measure(device):
            return Remedy.MEASURE
        if self.run is not None:
            is_other = self._is_recorded_for_another(self.run.result)
            return Remedy.SET if is_other else Remedy.NOTHING
        if not self._is_for_gpu:
            return Remedy.NOTHING
        is_there = not self.state.shows_recorded or self._recorded_run(self._kernel) is not None
        return Remedy.SHOW if is_there else Remedy.SET

    def take_step(self) -> None:
        step = self.step
        if step is Remedy.MEASURE and self.run is not None:
            self._roofline.measure(self.run.result.device)
        elif step in (Remedy.SHOW, Remedy.SET):
            self._wanted = self._kernel
            if step is Remedy.SET:
                self.recorded_problem.set_in(self.workspace)
            self.state.show_recorded(True)
            self._choose_wanted()

    def follow_remedy(self, key: str) -> None:
        """Choose the variant that the sentence names; of a recorded run, its own recorded one."""
        is_recorded = self.run is not None and self.run.result.device == RECORDED
        if is_recorded and (recorded := self._recorded_run(key)) is not None:
            self.results.describe(recorded)
        else:
            self.workspace.change(variant=key)

    def watch(self, is_visible: bool) -> None:
        if not is_visible:
            self._timer.stop()
            self._drop()
        super().watch(is_visible)

    def _ask(self) -> None:
        result = self.run.result if self.run else None
        if result is not self._result:
            self._drop()
            self._result, self._reply, self._why_not, self._is_outdated = result, None, "", False
        if result is not None:
            has_bounds = result.explained is not None and result.explained.bounds
            is_known = self._reply is not None or (has_bounds and not self._is_outdated)
            why_not = self._why_not or self._why_no_question(result) or self._why_not_now
            if not (is_known or why_not or self._times.in_flight):
                self._explain(result)
            elif is_known and not (self._times.in_flight or self._why_not_now):
                self._explain_before()
        self.changed.emit()

    def _explain_before(self) -> None:
        """Have the run explained that it is compared with; once, since it may have no bounds."""
        before = self.before.result if self.before else None
        if before is not None and before.explained is None and before is not self._requested_before:
            self._requested_before = before
            if not self._why_no_question(before):
                self._explain(before)

    def _explain(self, result: Measurement[Any]) -> None:
        job = self._job_of(result)
        assert job is not None
        # As it ran, where "auto" chose.
        job = job.changed(variant=result.variant, block=result.block or job.block, device=result.device)
        self._times.ask(TimeRequest(job, result.kernel_ms), partial(self._replied, result), self._failed)

    def _replied(self, result: Measurement[Any], explained: ExplainedTime) -> None:
        is_shown = result is self._result
        if explained.bounds or explained.transactions_per_request is not None:
            result = self.results.explain(result, explained)
        if is_shown:
            self._result, self._reply, self._is_outdated = result, explained, False
        self.refresh()

    def _failed(self, error: EngineError) -> None:
        # Not that of the run that it is compared with; a lost host's successor is asked once it is ready.
        if self.explained is None and not needs_no_message(error):
            self._why_not = str(error)
        self.refresh()

    def _make_way(self) -> None:
        """Let runs and previews pass: the engine does one thing at a time."""
        if self.state.busy != self._was_busy:
            self._was_busy = self.state.busy
            if self._was_busy:
                self._drop()
            self.refresh()

    def _drop(self) -> None:
        self._requested_before = None
        if self._times.in_flight is not None:
            self._times.cancel()
            self._times.forget()

    def _ask_anew(self, device: str) -> None:
        if self._result is not None and self._result.device == device:
            self._reply, self._why_not, self._is_outdated = None, "", True
        self.refresh()

    def _job_of(self, result: Measurement[Any]) -> PictureJob | None:
        """Return the job that a run did; of a recorded one the present job, where that is the same.

        Where no GPU is, the engine explains such a job by the limits of the recorded one.
        """
        if result.device != RECORDED:
            return self.results.job_of(result)
        job, recorded = self.workspace.filter_job(), _problem_of(result)
        return job if job is not None and comparable_of(job) == recorded and not self.state.has_gpu else None

    @property
    def _kernel(self) -> str:
        return self.selection.known.key if self.selection.known else ""

    @property
    def _is_for_gpu(self) -> bool:
        """Whether the selected kernel has no run and can have none here, but a recorded one."""
        known = self.selection.known
        is_cuda = known is not None and known.kind == "cuda" and self.workspace.is_filtering
        return is_cuda and self.run is None and self.state.lacks_gpu

    def _recorded_run(self, key: str) -> Measurement[Any] | None:
        return next((run.result for run in self.results.recorded if run.result.variant == key), None)

    @property
    def recorded_problem(self) -> RecordedProblem:
        """What `Remedy.SET` sets."""
        return recorded_problem(self.workspace, self.run.result if self.run else None)

    def _is_recorded_for_another(self, result: Measurement[Any]) -> bool:
        is_of_gpu = result.device == RECORDED and self._roofline.limits_are_of(result)
        return is_of_gpu and not self.state.has_gpu and self._job_of(result) is None

    def _choose_wanted(self) -> None:
        """Select the recorded run that a button has promised, once it is there."""
        run = self._recorded_run(self._wanted) if self._wanted == self._kernel else None
        if run is not None:
            self._wanted = ""
            self.results.describe(run)
        self.refresh()

    @property
    def _why_not_now(self) -> str:
        if not self.state.is_ready:
            return _NO_ENGINE
        return _BUSY if self.state.busy else ""

    def _why_no_question(self, result: Measurement[Any]) -> str:
        """Return why the time of a run cannot be explained; empty if the engine may know."""
        if result.is_refuted:
            return f"There is no time to explain: {result.status}"
        if not self._roofline.limits_are_of(result):
            return _NO_RECORDED_CPU if result.device == RECORDED else _OTHER_MACHINE
        if self._is_recorded_for_another(result):
            problem = result.problem
            words = f"{problem.picture_text}, mask {result.mask_name}", problem.border
            return _RECORDED_FOR_ANOTHER.format(*words)
        job = self._job_of(result)
        if job is None:
            return _RECORDED_BESIDE_GPU if result.device == RECORDED else _NO_JOB
        if is_chain(job) and self.run is not None and self.run.result is result:
            return _NO_CHAIN.format(run_title(self.run), costs_words(self.run))
        if job.filter is None:
            return _NO_FILTER
        return "" if job.picture == self.workspace.picture else _NO_PICTURE


def _problem_of(result: Measurement[Any]) -> Hashable:
    return result.task, result.problem.comparable, result.weights_digest
