"""Previews and runs of operations other than convolution."""

from dataclasses import replace

from PySide6.QtCore import QObject, QTimer, Signal

from engine.device_info import AUTO
from engine.errors import Cancelled, EngineError
from engine.host.protocol import Availability
from engine.host.shared_array import segments_of
from engine.host.verbs import Check, Describe, Preview, Run
from engine.tasks.operation.messages import Operated, OperationJob, OperationsRequest
from gui.engine_link.engine_link import Ask, EngineLink, is_reported_by_link
from gui.engine_link.engine_state import EngineState
from gui.explore.display import Display
from gui.explore.operation.operation_state import OperationState
from gui.explore.results.results_model import ResultsModel
from gui.explore.small_picture import ComputingMessages
from gui.page.jobs import Job, JobQueue
from gui.page.messages import Message, Severity

SOURCE, RUN_SOURCE = "operation", "run"
# A preview that is no longer wanted is stopped after so long: that may cost a new host.
PATIENCE_MS = 1000


class OperationController(QObject):
    """Keeps what is shown in step with the state; one preview is in flight, the newest wins."""

    shown = Signal()  # the preview of the present job is shown
    failed = Signal(object)  # the EngineError of the preview of the present job

    def __init__(
        self,
        operations: OperationState,
        state: EngineState,
        link: EngineLink,
        jobs: JobQueue,
        messages: ComputingMessages,
        display: Display,
        results: ResultsModel,
    ) -> None:
        super().__init__()
        self._operations = operations
        self._state = state
        self._link = link
        self._jobs = jobs
        self._messages = messages
        self._display = display
        self._results = results
        self._wanted: OperationJob | None = None
        self._in_flight: Ask | None = None
        self._shown: OperationJob | None = None
        self._settle_timer = QTimer(self, singleShot=True, interval=0)
        self._settle_timer.timeout.connect(self._settle)
        self._patience_timer = QTimer(self, singleShot=True, interval=PATIENCE_MS)
        self._patience_timer.timeout.connect(self._leave_stale)
        operations.chosen.connect(self._begin_another)
        operations.changed.connect(self._settle_timer.start)
        state.running_changed.connect(self._send)
        link.ready.connect(self._begin_anew)

    def run(self) -> None:
        """Run the job as it is now."""
        job = self._operations.job()
        if job is not None:
            self._jobs.begin(RUN_SOURCE, [self._run_of(job)], self._messages)

    def run_every_variant(self) -> None:
        """Run each variant of the operation that can do the job as it is now."""
        job = self._operations.job()
        if job is None:
            return

        def checked(found: tuple[Availability, ...]) -> None:
            able = [entry.variant for entry in found if not entry.reason]
            self._jobs.add([self._run_of(replace(job, variant=variant)) for variant in able])
            if not able:
                why = str(found[0].reason) if found else "there are none"
                what = "No variant can do this"
                self._messages.show(Message(RUN_SOURCE, Severity.WARNING, what, why))

        ask = Job("Looking for what can run here", Check(job), checked, is_counted=False)
        self._jobs.begin(RUN_SOURCE, [ask], self._messages)

    def cancel(self) -> None:
        """Stop the preview that is being made."""
        self._wanted = None
        if self._in_flight is not None:
            self._link.cancel(self._in_flight)

    def _forget_shown(self) -> None:
        self._shown = None

    def _begin_another(self) -> None:
        self._forget_shown()
        self._messages.clear(SOURCE)

    def _begin_anew(self) -> None:
        self._forget_shown()
        self._settle_timer.start()

    def _settle(self) -> None:
        job = self._operations.job()
        if job is not None:
            self._display.follow_job()
        if job is None or not self._state.is_ready:
            self._wanted = self._shown = None
            return
        if not self._operations.is_listed:
            self._link.ask(Ask(Describe(OperationsRequest()), self._operations.set_infos, self._report))
        # Also for the job that is shown: another one may have been asked for since.
        self._link.ask(Ask(Check(job), self._operations.set_availability, lambda error: None))
        self._wanted = job if job != self._shown else None
        self._send()

    def _send(self) -> None:
        if self._wanted is None or self._state.running:
            return
        if self._in_flight is not None:
            self._patience_timer.start()
            return
        job, self._wanted = self._wanted, None
        ask = Ask(
            Preview(job),
            lambda found: self._replied(ask, job, found),
            lambda error: self._failed(ask, job, error),
            lambda step: self._state.set_task(SOURCE, step.stage, step.fraction),
        )
        self._in_flight = ask
        self._state.set_task(SOURCE, "computing")
        self._link.ask(ask)

    def _leave_stale(self) -> None:
        if self._in_flight is not None and self._wanted is not None:
            self._link.cancel(self._in_flight)

    def _end_wait(self, ask: Ask) -> bool:
        """Return whether this was the preview in flight, which is over."""
        if self._in_flight is not ask:
            return False
        self._in_flight = None
        self._patience_timer.stop()
        self._state.end_task(SOURCE)
        return True

    def _replied(self, ask: Ask, job: OperationJob, found: Operated) -> None:
        self._end_wait(ask)
        if job == self._operations.job():
            self._shown = job
            self._messages.clear(SOURCE)
            self._display.show_filtered(found.shown)
            self._operations.show_found(found)
            self.shown.emit()
        else:
            self._link.keeper.discard(segments_of(found))
        self._send()

    def _failed(self, ask: Ask, job: OperationJob, error: EngineError) -> None:
        self._end_wait(ask)
        if job == self._operations.job() and not isinstance(error, Cancelled):
            # What was found before is not shown any more: the former job needs its preview again.
            self._forget_shown()
            self._display.show_age()
            self._operations.show_found(None, str(error) if error.is_refusal else "")
            is_in_panel = error.is_refusal and not self._messages.have_a_way_out
            if not (is_in_panel or is_reported_by_link(error)):
                self._report(error)
            self.failed.emit(error)
        self._send()

    def _report(self, error: EngineError) -> None:
        if not isinstance(error, Cancelled):
            self._messages.show_error(SOURCE, error)

    def _run_of(self, job: OperationJob) -> Job:
        variant = next((one for one in self._operations.variants if one.key == job.variant), None)
        title = variant.title if variant else "Automatic" if job.variant == AUTO else job.variant
        return Job(title, Run(job), lambda found: self._ran(job, found))

    def _ran(self, job: OperationJob, found: Operated) -> None:
        result = found.result
        if result is not None:
            self._operations.add_run(job, result)
            self._results.add(result)
            if not result.is_proven:
                what = f"{result.title} gave no time"
                self._messages.show(Message(RUN_SOURCE, Severity.ERROR, what, result.status))
        wanted = self._operations.job()
        is_wanted = wanted is not None and wanted == replace(job, variant=wanted.variant)
        if found.shown.values is not None and is_wanted:
            self._display.show_filtered(found.shown)
            self._operations.show_found(found)
        else:
            self._link.keeper.discard(segments_of(found))
