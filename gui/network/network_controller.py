"""Each change of the drawing is recognised; on request stages run and held-out digits are classified."""

from PySide6.QtCore import QTimer

from engine.course.paper import CourseKernel
from engine.device_info import AUTO
from engine.errors import Cancelled, EngineError
from engine.host.request import Check, Preview, Run
from engine.host.shared_array import segments_of
from engine.tasks.network.messages import (
    DrawingRequest,
    NetworkFacts,
    NetworkRequest,
    Recognised,
    StageRequest,
)
from engine.tasks.network.problem import NetworkResult
from gui.engine_link.engine_link import EngineLink, Newest, is_reported_by_link, needs_no_message
from gui.engine_link.engine_state import EngineState
from gui.network.layers import kept_answer, kept_facts
from gui.network.network_state import NetworkState
from gui.page.jobs import Job, JobQueue
from gui.page.messages import PageMessages
from gui.page.variants_page import RunsController

NETWORK = "network"
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
        self._facts, self._answers = Newest(link), Newest(link)
        self._is_stale = True  # the drawing has changed since it was sent
        # The cells of a stroke that arrive together are one drawing.
        self._settle_timer = QTimer(self, singleShot=True, interval=0)
        self._settle_timer.timeout.connect(self._recognise)
        network.drawing.changed.connect(self._drawing_changed)
        state.running_changed.connect(self._settle_timer.start)

    @property
    def is_settled(self) -> bool:
        """Whether the answer is that of the drawing as it is."""
        return not self._is_stale and self._answers.in_flight is None

    def run(self) -> None:
        """Run the selected stage."""
        if self._network.settle():
            self._begin_jobs([self._run_stage(self._network.settings.stage)])

    def _load(self, kernel: CourseKernel) -> None:
        self._network.change(stage=kernel.variant)

    def _run_of(self, row: NetworkResult) -> Job:
        return self._run_stage(row.variant)

    def _run_stage(self, stage: str) -> Job:
        network, settings = self._network, self._network.settings
        known = network.known_stage(stage)
        # A stage on the CPU runs in the real host, whatever device is chosen.
        device = AUTO if known is not None and known.kind == "cpu" else settings.device
        request = Run(StageRequest(stage, settings.batch, device))
        return Job(stage, request, network.add, lambda error: network.fail(stage, error.failure))

    def _begin(self) -> None:
        if not self._was_shown:
            return
        if self._network.facts is None:
            self._describe()
        self._list()
        self._is_stale = self._is_stale or self._answers.in_flight is not None
        self._answers.forget()
        self._settle_timer.start()

    def _describe(self) -> None:
        def replied(facts: NetworkFacts) -> None:
            kept = kept_facts(facts)
            self._link.keeper.discard(segments_of(facts))
            self._network.set_facts(kept)
            drawing = self._network.drawing
            drawing.start_with(FIRST_DIGIT, kept.digits[FIRST_DIGIT])
            drawing.name_digit(self._network.digit_of(drawing.ink))

        def failed(error: EngineError) -> None:
            if not needs_no_message(error):
                self._messages.show_error(NETWORK, error)
                self._network.refuse_facts(str(error))

        self._facts.ask(NetworkRequest(), replied, failed)

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
        request = Preview(DrawingRequest(ink.tobytes()))

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
