"""Runs: one variant, or every variant that can do the job, one after the other; each becomes a row of the results."""

from collections import deque
from dataclasses import replace

from PySide6.QtCore import QObject, Signal

from engine.device_info import AUTO
from engine.errors import Cancelled, EngineError, HostLost
from engine.host.protocol import Availability, CheckVariants, Filtered, FilterJob, Run
from engine.host.shared_array import segments_of
from gui.engine_link.engine_link import Ask, EngineLink
from gui.engine_link.engine_state import EngineState
from gui.explore.display import Display
from gui.explore.failed_run import failed_run
from gui.explore.results.results_model import ResultsModel
from gui.explore.workspace import Workspace
from gui.page.messages import Message, Messages, Severity

SOURCE = "run"


class RunController(QObject):
    """Verified and timed runs.

    Signals
    -------
    finished()
        The run, or the last of every variant, is over (also when it failed or was stopped).
    """

    finished = Signal()

    def __init__(
        self,
        workspace: Workspace,
        state: EngineState,
        link: EngineLink,
        messages: Messages,
        display: Display,
        results: ResultsModel,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._workspace = workspace
        self._state = state
        self._link = link
        self._messages = messages
        self._display = display
        self._results = results
        self._queue: deque[FilterJob] = deque()
        self._planned = 0
        self._current: Ask | None = None
        # What a run ended with is in its row; the message is about a job that is wanted no longer.
        workspace.job_changed.connect(lambda: messages.clear(SOURCE))

    def run(self) -> None:
        """Run the job as it is now."""
        job = self._workspace.job()
        if job is not None and not self._state.running:
            self._begin([job])

    def run_every_variant(self) -> None:
        """Run each variant that can do the job as it is now."""
        job = self._workspace.job()
        if job is None or self._state.running:
            return
        self._messages.clear(SOURCE)
        self._state.set_running(True)
        self._current = self._link.ask(
            Ask(CheckVariants(job), lambda found: self._begin_every(job, found), self._check_failed)
        )

    def cancel(self) -> None:
        """Stop the run that goes on and those that wait."""
        if self._state.running and self._current is not None:
            self._queue.clear()
            self._state.set_running(True, cancelling=True)
            self._link.cancel(self._current)

    def _begin_every(self, job: FilterJob, availability: tuple[Availability, ...]) -> None:
        able = [entry.variant for entry in availability if not entry.reason and entry.variant != AUTO]
        if not able:
            reason = availability[0].reason if availability else "there are none"
            self._messages.show(
                Message(
                    SOURCE,
                    Severity.WARNING,
                    "No variant can do this",
                    reason,
                    "Choose another block or device.",
                )
            )
            self._finish()
            return
        self._begin([replace(job, variant=variant) for variant in able])

    def _begin(self, jobs: list[FilterJob]) -> None:
        if self._state.cancelling:
            self._finish()
            return
        self._messages.clear(SOURCE)
        self._queue.extend(jobs)
        self._planned = len(jobs)
        self._state.set_running(True)
        self._next()

    def _next(self) -> None:
        if not self._queue:
            self._finish()
            return
        job = self._queue.popleft()
        number = self._planned - len(self._queue)
        title = self._title(job.variant)
        prefix = f"{title} ({number} of {self._planned}): " if self._planned > 1 else f"{title}: "

        def tell(stage: str, fraction: float = 0.0) -> None:
            self._state.set_task(SOURCE, prefix + stage, (number - 1 + fraction) / self._planned)

        tell("waiting for the engine")
        self._current = self._link.ask(
            Ask(
                Run(job),
                lambda filtered: self._replied(job, filtered),
                lambda error: self._failed(job, error),
                lambda step: tell(step.stage, step.fraction),
            )
        )

    def _replied(self, job: FilterJob, filtered: Filtered) -> None:
        result = filtered.result
        if result is not None:
            self._results.add(result)
            verified = result.verification is not None and result.verification.passed
            if result.failure or not verified:
                self._messages.show(
                    Message(SOURCE, Severity.ERROR, f"{result.title} gave no time", result.reason)
                )
        if filtered.values is not None and self._shows_what_is_wanted(job):
            self._display.show_filtered(filtered)
        else:
            self._link.keeper.discard(segments_of(filtered))
        self._next()

    def _failed(self, job: FilterJob, error: EngineError) -> None:
        if isinstance(error, Cancelled):
            self._queue.clear()
        else:
            self._results.add(failed_run(job, self._state.variant(job.variant), error))
            # That the host was lost is told once, by the link's message; of the simulator's the link says nothing.
            if not isinstance(error, HostLost) or Run(job).wants_simulator:
                self._messages.show_error(SOURCE, error)
        self._next()

    def _check_failed(self, error: EngineError) -> None:
        if not isinstance(error, Cancelled):
            self._messages.show_error(SOURCE, error)
        self._finish()

    def _finish(self) -> None:
        self._current = None
        self._queue.clear()
        self._state.end_task(SOURCE)
        self._state.set_running(False)
        self.finished.emit()

    def _shows_what_is_wanted(self, job: FilterJob) -> bool:
        """Whether the result of a job is what the workspace asks for, by whatever variant."""
        wanted = self._workspace.job()
        return wanted is not None and wanted == replace(job, variant=wanted.variant)

    def _title(self, key: str) -> str:
        variant = self._state.variant(key)
        return variant.title if variant else key
