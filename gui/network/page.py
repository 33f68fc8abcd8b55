"""Network: the drawing left, the maps of each layer in the middle, a value's origin right, stages below.

Each change of the drawing is recognised; stages run on request.
"""

from dataclasses import asdict, replace
from typing import ClassVar

import msgspec
import numpy as np
from PySide6.QtCore import Qt, QTimer

from engine.course.paper import CourseKernel
from engine.device_info import AUTO
from engine.errors import Cancelled, EngineError
from engine.host.request import Check, Preview, Run, segments_of
from engine.host.shared import attach
from engine.tasks.network import problem
from gui.engine_link.engine_link import Newest, is_reported_by_link, needs_no_message
from gui.network.cell_panel import CellPanel
from gui.network.drawing_panel import DrawingPanel
from gui.network.layers import Answer, Facts
from gui.network.maps_panel import MapsPanel
from gui.network.network_state import NetworkState
from gui.network.stages_panel import StagesPanel, TimelinePanel
from gui.page.contract import PageStatus, Services, Tool
from gui.page.jobs import Job
from gui.page.panels import Panel, PanelTabs, Share, Shares
from gui.page.runs_page import VariantsPage, run_sentence
from gui.page.slot import Slot
from gui.style.metrics import GRID, HALF_GRID
from gui.typed_json import Table

# Shares of the page, and the least that each has at first with letters of the usual size: all maps above the
# stages need no scrolling in a window of 1280 x 800.
_LEFT_SHARE, _LEAST_LEFT = 0.2, 34 * GRID
_LOWER_SHARE, _LEAST_LOWER = 0.33, 30 * GRID + HALF_GRID
_LEAST_RIGHT = 38 * GRID
# An 8: its strokes cross, so that every map has something to show.
FIRST_DIGIT = 8
NO_INK = "There is no ink yet. Draw a digit with the mouse, or choose one of the held-out digits."
_AFTER_RUN = "The drawing is recognised when the run is over."


class NetworkPage(VariantsPage):
    """Keeps the answer in step with the drawing, and runs what the person wants to see measured."""

    title, source, looking = "Network", "stages", "Checking what can run here"
    invites = "press Run (Ctrl+R) to verify and measure the selected stage, Run all for all."
    sections: ClassVar = {
        "": "network.md#the-page-network",
        "stages": "network.md#stages",
        "timeline": "measuring.md#chunks-and-the-timeline",
    }

    def __init__(self, services: Services) -> None:
        self.network = network = NetworkState()
        super().__init__(services, network)
        self._facts, self._answers = Newest(services.link), Newest(services.link)
        self._is_stale = True  # the drawing has changed since it was sent
        self._ran_one = False
        self.tools = tuple(Tool(services.actions[name]) for name in ("undo", "redo"))
        self._lay_out()
        # The cells of a stroke that arrive together are one drawing.
        self._settle_timer = QTimer(self, singleShot=True, interval=0)
        self._settle_timer.timeout.connect(self._recognise)
        network.drawing.changed.connect(self._drawing_changed)
        services.state.running_changed.connect(self._settle_timer.start)
        network.running_changed.connect(self._show_timeline)
        network.facts_changed.connect(self.status_changed)

    def _lay_out(self) -> None:
        network, sides = self.network, Qt.Orientation
        drawing = PanelTabs(Panel("drawing", "Drawing", Slot(lambda: DrawingPanel(network))))
        maps = Slot(lambda: MapsPanel(network))
        value = PanelTabs(
            Panel("cell", "Origin", Slot(lambda: CellPanel(network, self._services.offer))),
            Panel("timeline", "Timeline", Slot(lambda: TimelinePanel(network))),
        )
        table = Slot(lambda: self.take_panel(StagesPanel(network, self._services.state)))
        stages = PanelTabs(Panel("stages", "Stages", table))
        upper = Shares("upper", sides.Horizontal, Share(maps, 0.7), Share(value, 0.3, _LEAST_RIGHT))
        lower = Share(stages, _LOWER_SHARE, _LEAST_LOWER)
        right = Shares("right", sides.Vertical, Share(upper, 1.0 - _LOWER_SHARE), lower)
        left = Share(drawing, _LEFT_SHARE, _LEAST_LEFT)
        whole = Shares("page", sides.Horizontal, left, Share(right, 1.0 - _LEFT_SHARE))
        self.fill(whole, maps, drawing, value, stages)

    @property
    def status(self) -> PageStatus:
        network = self.network
        size = f"{network.settings.batch:,} drawing{'s' if network.settings.batch != 1 else ''}"
        status = super().status
        if network.facts is None:
            why_not = network.why_no_facts or "The engine has not described the network yet."
            status = replace(status, why_no_run=why_not)
        return replace(
            status,
            run_does="Verifies the selected stage against the float64 reference, then measures it by layer.",
            run_all_does="Verifies and times every stage that can run this batch, one after the other.",
            caption=f"Batch of {size}",
        )

    @property
    def is_settled(self) -> bool:
        has_facts = self.network.facts is not None or bool(self.network.why_no_facts)
        return has_facts and not self._is_stale and self._answers.in_flight is None

    def run(self) -> None:
        self._ran_one = True
        if self.network.settle():
            self._begin_jobs([self._run_stage(self.network.settings.stage)])

    def run_all(self) -> None:
        self._ran_one = False
        super().run_all()

    @property
    def export_stem(self) -> str:
        return f"network-batch-{self.network.settings.batch}"

    def words_of(self, last: problem.NetworkResult) -> str:
        return run_sentence(f"Last run: {last.title}, {last.problem.size_text}", last)

    def load(self, kernel: CourseKernel) -> None:
        self.network.change(stage=kernel.variant)

    def table_of(self, run: problem.NetworkRun) -> Table:
        layers, timeline = ([asdict(one) for one in parts] for parts in (run.layers, run.timeline))
        return {"result": run.result.as_json(), "layers": layers, "timeline": timeline}

    def run_in(self, table: Table) -> problem.NetworkRun:
        kinds = {"layers": tuple[problem.LayerTime, ...], "timeline": tuple[problem.ChunkSpan, ...]}
        times = (msgspec.convert(table.get(name, []), kind) for name, kind in kinds.items())
        return problem.NetworkRun(super().run_in(table), *times)

    def list_request(self) -> Check[problem.StageRequest]:
        return Check(
            problem.StageRequest(batch=self.network.settings.batch, device=self.network.settings.device)
        )

    def job_of(self, variant: problem.NetworkResult) -> Job:
        return self._run_stage(variant.variant)

    def _run_stage(self, stage: str) -> Job:
        network, settings = self.network, self.network.settings
        known = network.known_stage(stage)
        # A stage on the CPU runs in the real host, whatever device is chosen.
        device = AUTO if known is not None and known.kind == "cpu" else settings.device
        request = Run(problem.StageRequest(stage, settings.batch, device))
        return Job(stage, request, network.add, lambda error: network.fail(stage, error.failure))

    def _show_timeline(self) -> None:
        """Bring the chunks to the front when the selected stage has run by itself and works in some."""
        run = self.network.runs.get(self.network.settings.stage)
        if self._ran_one and not self.network.running and run is not None and run.timeline:
            self.bring_to_front("timeline")

    def _ask(self) -> None:
        if not self._was_shown:
            return
        if self.network.facts is None:
            self._facts.ask(problem.NetworkRequest(), self._take_facts, self._facts_failed)
        self._list()
        self._is_stale = self._is_stale or self._answers.in_flight is not None
        self._answers.forget()
        self._settle_timer.start()

    def _take_facts(self, facts: problem.NetworkFacts) -> None:
        shared = facts.first_filters, facts.second_filters, facts.hidden_weights, facts.output_weights
        keys = (layer.key for layer in facts.layers if layer.multiply_adds)
        weights = {key: attach(one).copy() for key, one in zip(keys, shared, strict=True)}
        kept = Facts(facts.layers, facts.stages, weights, attach(facts.digits).copy(), facts.labels)
        self._services.link.keeper.discard(segments_of(facts))
        self.network.set_facts(kept)
        drawing = self.network.drawing
        drawing.start_with(FIRST_DIGIT, kept.digits[FIRST_DIGIT])
        # The ink of a session that was there before.
        if (number := self.network.digit_of(drawing.ink)) is not None:
            drawing.show(drawing.ink, number)

    def _facts_failed(self, error: EngineError) -> None:
        if not needs_no_message(error):
            self._own_messages.show_error("network", error)
            self.network.set_facts(None, str(error))

    def _drawing_changed(self) -> None:
        self._is_stale = True
        self._settle_timer.start()

    def _recognise(self) -> None:
        """Send the drawing; one is on its way at a time, and what was drawn meanwhile follows it."""
        network, state = self.network, self._services.state
        if not self._was_shown or not self._is_stale:
            return
        if network.drawing.is_empty:
            self._is_stale = False
            network.set_answer(None, NO_INK)
            return
        if state.running:
            network.set_answer(None, _AFTER_RUN)
            return
        if self._answers.in_flight is not None or not state.is_ready:
            return
        self._is_stale = False
        if network.answer is None:
            # No longer why there was none; the first time its code is compiled, for some seconds.
            network.set_answer(None)
        ink = network.drawing.seen

        def replied(found: problem.Recognised) -> None:
            if not network.drawing.is_empty:
                values = tuple(attach(layer.values).copy() for layer in found.layers)
                drawing = ink.astype(np.float32) / np.float32(255.0)
                answer = Answer(values, found.probabilities, found.digit, found.elapsed_ms, drawing)
                network.set_answer(answer)
            self._services.link.keeper.discard(segments_of(found))
            self._recognise()

        def failed(error: EngineError) -> None:
            if is_reported_by_link(error):
                # Sent again to the successor.
                self._is_stale = True
            elif not isinstance(error, Cancelled):
                # Such as weights that cannot be read; said where the maps would be.
                network.set_answer(None, str(error))
            self._recognise()

        self._answers.ask(Preview(problem.DrawingRequest(ink.tobytes())), replied, failed)


build = NetworkPage
