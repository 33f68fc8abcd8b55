"""Network: the drawing left, the maps of each layer in the middle, a value's origin right, stages below."""

from collections.abc import Callable
from dataclasses import asdict, replace
from typing import ClassVar

import msgspec
import numpy as np
from PySide6.QtCore import Qt, QTimer
from PySide6.QtWidgets import QLabel, QPushButton, QWidget

from engine.course.paper import CourseKernel
from engine.device_info import AUTO
from engine.errors import Cancelled, EngineError
from engine.host.request import Check, Preview, Run, segments_of
from engine.host.shared import attach
from engine.mask.mask import Mask
from engine.tasks.network import problem
from gui.engine_link.engine_link import Newest, is_reported_by_link, needs_no_message
from gui.network.drawing_panel import DrawingPanel
from gui.network.layers import Facts, NetworkAnswer, cell_name, is_pool, is_vector, name_of, where_from
from gui.network.maps_panel import MapsPanel
from gui.network.network_state import NetworkState
from gui.network.stages_panel import StagesPanel, TimelinePanel
from gui.page.contract import PageStatus, Services, Tool
from gui.page.jobs import RequestedRun
from gui.page.panels import Panel, PanelTabs, Share, Shares
from gui.page.runs_page import VariantsPage, run_sentence
from gui.page.slot import Slot
from gui.style.metrics import GRID, HALF_GRID, follow, number_font, scaled_font
from gui.typed_json import Table
from gui.widgets.fields import NumberBox
from gui.widgets.labels import ElidedLabel
from gui.widgets.number_table import ValueTable, number
from gui.widgets.panel_parts import RefusalLabel, boxed, column, label_for, named, row, scrolled

_EMPTY = (
    "Point at a cell of a map, or walk there with the arrow keys: the window that its value comes from is "
    "shown here. A click keeps the cell."
)
_TO_EXPLORE = "Filter to Explore"
_TEACHES = (
    "Take the weights of this filter as the mask of the page Explore, to see what it does to a picture. "
    "The network correlates, so nothing is flipped."
)


class CellPanel(QWidget):
    """The right panel; `take_mask` gets a filter as a mask."""

    def __init__(self, network: NetworkState, take_mask: Callable[[Mask], object]) -> None:
        super().__init__()
        self._network = network
        flags = Qt.TextInteractionFlag.TextSelectableByMouse | Qt.TextInteractionFlag.TextSelectableByKeyboard
        self.cell_name = QLabel(wordWrap=True, textInteractionFlags=flags)
        self.sentence = named(QLabel(wordWrap=True, textInteractionFlags=flags), "Where the value comes from")
        self.before = NumberBox("Input map", 0, 0, "a whole number")
        self.refusal = RefusalLabel()
        self.before.refused.connect(self.refusal.say)
        # They are cut where the panel is narrow, and do not widen what is in it.
        self.adds = ElidedLabel()
        self.window_title, self.filter_title = ElidedLabel(small=True), ElidedLabel(small=True)
        self.window_table = ValueTable("Window", is_signed=False)
        self.filter_table = ValueTable("Weights", is_signed=True)
        self.to_explore = QPushButton(_TO_EXPLORE)
        self.cell_name.setFont(scaled_font(1.0, bold=True))
        self.before.setToolTip("Which input map is shown in figures; at first the one that adds the most.")
        self.adds.setFont(number_font())
        self.to_explore.setToolTip(_TEACHES)
        self._which = boxed(row(label_for("&Input map", self.before), self.before, (self.adds, 1)))
        window = column(self.window_title, self.window_table, spacing=HALF_GRID)
        weights = column(self.filter_title, self.filter_table, spacing=HALF_GRID)
        parts = self.cell_name, self.sentence, self._which, self.refusal, window, weights, self.to_explore
        margins = (GRID, GRID, GRID, HALF_GRID)
        self.setLayout(column(scrolled(boxed(column(*parts, 1, spacing=HALF_GRID, margins=margins)))))
        self.before.valueChanged.connect(lambda: network.show_origin_map(self.before.value()))
        self._take_mask = take_mask
        self.to_explore.clicked.connect(self._give_filter)
        follow(self._show, network.cell_changed, network.answer_changed, network.facts_changed)

    def _give_filter(self) -> None:
        facts, cell, origin = self._network.facts, self._network.cell, self._network.shown_origin
        if facts is not None and cell is not None and origin is not None and origin.weights is not None:
            of_map = f", map {origin.map}" if origin.maps > 1 else ""
            name = f"{facts.layers[cell.layer].title}, filter {cell.map}{of_map}"
            self._take_mask(Mask(origin.weights, name=name))

    def _show(self) -> None:
        network = self._network
        facts, cell, origin = network.facts, network.cell, network.shown_origin
        has_cell = facts is not None and cell is not None and origin is not None
        for part in (self.cell_name, self._which, self.window_title, self.filter_title, self.to_explore):
            part.setVisible(has_cell)
        if facts is None or cell is None or origin is None:
            self.sentence.setText(_EMPTY)
            self.window_table.show_values(None, 1.0)
            self.filter_table.show_values(None, 1.0)
            return
        layer = facts.layers[cell.layer]
        self.cell_name.setText(cell_name(facts.layers, cell))
        self.sentence.setText(where_from(facts, cell, network.value_of(cell), network.all_origins()))
        self._which.setVisible(origin.maps > 1)
        self.refusal.say("")
        self.before.show_place(origin.map, origin.maps)
        self.adds.setText(f"adds {number(origin.adds)}")
        of_map = "" if origin.maps == 1 and not is_pool(layer) else f", map {origin.map}"
        name = name_of(facts.layers, origin.before)
        rows, columns = origin.rows, origin.columns
        window = f"rows {rows[0]}–{rows[-1]}, columns {columns[0]}–{columns[-1]}"
        self.window_title.setText(f"{name[:1].upper()}{name[1:]}{of_map}: {window}")
        answer, weights = network.answer, origin.weights
        # What has the strongest colour in the layer before, as its maps have it.
        largest = float(answer.values[origin.before].max()) if answer and origin.before >= 0 else 1.0
        self.window_table.show_values(origin.values, largest)
        self.filter_title.setVisible(weights is not None)
        self.filter_table.show_values(weights, 1.0 if weights is None else float(abs(weights).max()))
        of_filter = f"Weights of value {cell.column}" if is_vector(layer) else f"Filter {cell.map}"
        self.filter_title.setText(f"{of_filter}{of_map if origin.maps > 1 else ''}")
        self.to_explore.setVisible(not is_pool(layer) and not is_vector(layer))


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
        self._recognise_timer = QTimer(self, singleShot=True, interval=0)
        self._recognise_timer.timeout.connect(self._recognise)
        network.drawing.changed.connect(self._drawing_changed)
        services.state.running_changed.connect(self._recognise_timer.start)
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
    def is_complete(self) -> bool:
        has_facts = self.network.facts is not None or bool(self.network.why_no_facts)
        return has_facts and not self._is_stale and self._answers.in_flight is None

    def run(self) -> None:
        self._ran_one = True
        if self.network.enter_typed():
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
        settings = self.network.settings
        return Check(problem.StageRequest(batch=settings.batch, device=settings.device))

    def job_of(self, variant: problem.NetworkResult) -> RequestedRun:
        return self._run_stage(variant.variant)

    def _run_stage(self, stage: str) -> RequestedRun:
        network, settings = self.network, self.network.settings
        known = network.known_stage(stage)
        # A stage on the CPU runs in the real host, whatever device is chosen.
        device = AUTO if known is not None and known.kind == "cpu" else settings.device
        request = Run(problem.StageRequest(stage, settings.batch, device))
        return RequestedRun(stage, request, network.add, lambda error: network.fail(stage, error.failure))

    def _show_timeline(self) -> None:
        """Bring the chunks to the front when the selected stage has run by itself and works in some."""
        run = self.network.runs.get((self.network.settings.stage, None))
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
        self._recognise_timer.start()

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
        self._recognise_timer.start()

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

        def replied(reply: problem.Recognised) -> None:
            if not network.drawing.is_empty:
                values = tuple(attach(layer.values).copy() for layer in reply.layers)
                drawing = ink.astype(np.float32) / np.float32(255.0)
                answer = NetworkAnswer(values, reply.probabilities, reply.digit, reply.elapsed_ms, drawing)
                network.set_answer(answer)
            self._services.link.keeper.discard(segments_of(reply))
            self._recognise()

        def failed(error: EngineError) -> None:
            if is_reported_by_link(error):
                # Sent again to the successor.
                self._is_stale = True
            elif not isinstance(error, Cancelled):
                # Such as weights that cannot be read; shown where the maps would be.
                network.set_answer(None, str(error))
            self._recognise()

        self._answers.ask(Preview(problem.DrawingRequest(ink.tobytes())), replied, failed)


build = NetworkPage
