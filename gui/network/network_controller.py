"""Each change of the drawing is recognised; on request stages run and held-out digits are classified."""

from pathlib import Path

from PySide6.QtCore import QTimer

from engine.course.paper import CourseKernel
from engine.device_info import AUTO, SIMULATOR
from engine.errors import Cancelled, EngineError
from engine.host.request import Check, Preview, Run
from engine.host.shared_array import segments_of
from engine.tasks.network.messages import (
    DigitsRequest,
    DrawingRequest,
    NetworkFacts,
    NetworkRequest,
    NetworkRun,
    Recognised,
    StageRequest,
)
from engine.tasks.network.problem import Confusion, NetworkResult
from gui.engine_link.engine_link import EngineLink, is_reported_by_link, needs_no_message
from gui.engine_link.engine_state import EngineState
from gui.engine_link.newest import Newest
from gui.network.layers import kept_answer, kept_facts
from gui.network.network_state import NetworkState
from gui.network.session_part import number_of
from gui.page.jobs import Job, JobQueue
from gui.page.messages import PageMessages
from gui.page.runs_controller import RunsController

WEIGHTS = "weights"
# An 8: its strokes cross, so that every map has something to show.
FIRST_DIGIT = 8
NO_INK = "There is no ink yet. Draw a digit with the mouse, or choose one of the held-out digits."
_AFTER_RUN = "The drawing is recognised when the run is over."


class NetworkController(RunsController[NetworkState]):
    """Keeps the answer in step with the drawing, and runs what the person wants to see measured."""

    source = "stages"
    looking = "Checking what can run here"

    def __init__(
        self,
        network: NetworkState,
        state: EngineState,
        link: EngineLink,
        jobs: JobQueue,
        messages: PageMessages,
    ) -> None:
        super().__init__(network, link, jobs, messages)
        self._network = network
        self._state = state
        self._link = link
        # The file of weights that is wanted; empty for the program's own.
        self._weights = ""
        self._facts, self._answers = Newest(link), Newest(link)
        self._is_stale = True  # the drawing has changed since it was sent
        # The cells of a stroke that arrive together are one drawing.
        self._settle_timer = QTimer(self, singleShot=True, interval=0)
        self._settle_timer.timeout.connect(self._recognise)
        network.drawing.changed.connect(self._drawing_changed)
        state.running_changed.connect(self._settle_timer.start)

    @property
    def is_settled(self) -> bool:
        """Whether the answer is that of the drawing as it is, with the weights that are wanted."""
        has_weights = self._weights == self._network.weights
        return has_weights and not self._is_stale and self._answers.in_flight is None

    def run(self) -> None:
        """Run the selected stage."""
        if self._network.settle():
            self._begin_jobs([self._run_stage(self._network.settings.stage)])

    def classify_digits(self) -> None:
        """Classify every held-out digit, for the confusion matrix; the simulator takes no batch so large."""
        device = self._network.settings.device
        device = "cpu" if device == SIMULATOR else device
        weights = self._network.weights

        def classified(found: Confusion) -> None:
            if self._network.weights == weights:
                self._network.set_confusion(found)

        request = DigitsRequest(device=device, weights=weights)
        self._begin_jobs([Job("Held-out digits", request, classified)])

    def _load(self, kernel: CourseKernel) -> None:
        self._network.change(stage=kernel.variant)

    def open_weights(self, path: Path | None) -> None:
        """Take the weights of a file, or the program's own; those that cannot be read change nothing."""
        self._messages.clear(WEIGHTS)
        self._weights = "" if path is None else str(path)
        if self._was_shown:
            self._describe()

    def _run_of(self, row: NetworkResult) -> Job:
        return self._run_stage(row.variant)

    def _run_stage(self, stage: str) -> Job:
        network, settings = self._network, self._network.settings
        known = network.known_stage(stage)
        # A stage on the CPU runs in the real host, whatever device is chosen.
        device = AUTO if known is not None and known.kind == "cpu" else settings.device
        weights = network.weights

        def ran(run: NetworkRun) -> None:
            # Other weights that were wanted before the run may have arrived meanwhile.
            if network.weights == weights:
                network.add(run)

        request = Run(StageRequest(stage, settings.batch, device, weights=weights))
        return Job(stage, request, ran, lambda error: network.fail(stage, error.failure))

    def _begin(self) -> None:
        if not self._was_shown:
            return
        if self._network.facts is None or self._weights != self._network.weights:
            self._describe()
        self._list()
        self._is_stale = self._is_stale or self._answers.in_flight is not None
        self._answers.forget()
        self._settle_timer.start()

    def _describe(self) -> None:
        weights = self._weights

        def replied(facts: NetworkFacts) -> None:
            kept = kept_facts(facts)
            self._link.keeper.discard(segments_of(facts))
            is_other = weights != self._network.weights
            self._network.set_facts(kept, weights)
            drawing = self._network.drawing
            drawing.start_with(FIRST_DIGIT, kept.digits[FIRST_DIGIT])
            drawing.name_digit(number_of(self._network, drawing.ink))
            if is_other:
                self._drawing_changed()

        def failed(error: EngineError) -> None:
            if not needs_no_message(error):
                self._messages.show_error(WEIGHTS, error)
                self._weights = self._network.weights
                if weights and self._network.facts is None:
                    # The session's weights cannot be read: fall back to the program's own.
                    self._describe()
                else:
                    self._network.refuse_facts(str(error))

        self._facts.ask(NetworkRequest(weights), replied, failed)

    def _list_request(self) -> Check[StageRequest]:
        return Check(StageRequest(batch=self._network.settings.batch, device=self._network.settings.device))

    def _drawing_changed(self) -> None:
        self._is_stale = True
        self._settle_timer.start()

    def _recognise(self) -> None:
        """Send the drawing; one is on its way at a time, and what was drawn meanwhile follows it."""
        network = self._network
        if not self._was_shown or not self._is_stale:
            return
        if network.drawing.is_empty:
            self._is_stale = False
            network.set_answer(None, NO_INK)
            return
        if self._state.running:
            network.set_answer(None, _AFTER_RUN)
            return
        if self._answers.in_flight is not None or not self._state.is_ready:
            return
        self._is_stale = False
        if network.answer is None:
            # No longer why there was none; the first time its code is compiled, for some seconds.
            network.set_answer(None)
        ink = network.drawing.seen
        request = Preview(DrawingRequest(ink.tobytes(), network.weights))

        def replied(found: Recognised) -> None:
            if not network.drawing.is_empty:
                network.set_answer(kept_answer(found, ink))
            self._link.keeper.discard(segments_of(found))
            self._recognise()

        def failed(error: EngineError) -> None:
            if is_reported_by_link(error):
                # Sent again to the successor.
                self._is_stale = True
            elif not isinstance(error, Cancelled):
                # Such as weights that cannot be read; said where the maps would be.
                network.set_answer(None, str(error))
            self._recognise()

        self._answers.ask(request, replied, failed)
