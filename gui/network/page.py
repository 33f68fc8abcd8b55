"""Network: the drawing left, the maps of each layer in the middle, a value's origin right, stages below."""

from dataclasses import asdict, replace
from functools import cached_property
from typing import ClassVar

import msgspec
from PySide6.QtCore import Qt

from engine.tasks.network.messages import NetworkRun
from engine.tasks.network.problem import ChunkSpan, ForwardPass, LayerTime, NetworkResult
from gui.network.cell_panel import CellPanel
from gui.network.drawing_panel import DrawingPanel
from gui.network.maps_panel import MapsPanel
from gui.network.network_controller import NetworkController
from gui.network.network_state import NetworkState
from gui.network.stages_panel import StagesPanel
from gui.network.timeline_panel import TimelinePanel
from gui.page.contract import PageStatus, Services, Tool
from gui.page.intents import Intent, LoadKernel, LoadMask
from gui.page.panels import Panel, PanelTabs
from gui.page.runs_page import run_sentence
from gui.page.shares import Share, Shares
from gui.page.slot import Slot
from gui.page.variants_page import Change, VariantsPage
from gui.style.metrics import GRID, HALF_GRID
from gui.typed_json import Reading, Table

# Shares of the page, and the least that each has at first with letters of the usual size: all maps above the
# stages need no scrolling in a window of 1280 x 800.
_LEFT_SHARE, _LEAST_LEFT = 0.2, 34 * GRID
_LOWER_SHARE, _LEAST_LOWER = 0.33, 30 * GRID + HALF_GRID
_LEAST_RIGHT = 38 * GRID


class NetworkPage(VariantsPage):
    """Its state, controller and panels. Built when it is first shown."""

    title = "Network"
    invites = "press Run (Ctrl+R) to verify and measure the selected stage, Run all for all."
    sections: ClassVar = {
        "": "network.md#the-page-network",
        "drawing": "network.md#the-page-network",
        "cell": "network.md#the-page-network",
        "stages": "network.md#stages",
        "timeline": "measuring.md#chunks-and-the-timeline",
    }

    def __init__(self, services: Services) -> None:
        super().__init__()
        self._state = state = services.state
        self.network = network = NetworkState()
        parts = network, state, services.link, services.jobs, services.messages.on(self)
        self.stages = NetworkController(*parts)
        self.show_state(services, network)
        self._lay_out()
        self._ran_one = False
        self.tools = tuple(Tool(services.actions[name]) for name in ("undo", "redo"))
        network.running_changed.connect(self._show_timeline)
        network.facts_changed.connect(self.status_changed)

    @cached_property
    def drawing_panel(self) -> DrawingPanel:
        """What is drawn; made when it is first looked at, as the other panels are."""
        return DrawingPanel(self.network)

    @cached_property
    def stages_panel(self) -> StagesPanel:
        """What is run, and the table of stages."""
        made = StagesPanel(self.network, self._state)
        self.take_panel(made)
        return made

    @cached_property
    def maps_panel(self) -> MapsPanel:
        """What each layer makes of the drawing."""
        return MapsPanel(self.network)

    @cached_property
    def cell_panel(self) -> CellPanel:
        """Where a value comes from."""
        made = CellPanel(self.network)
        made.mask_wanted.connect(lambda mask: self._services.offer(LoadMask(mask)))
        return made

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
        return self.stages.is_settled and has_facts

    def run(self) -> None:
        self._ran_one = True
        self.stages.run()

    def run_all(self) -> None:
        self._ran_one = False
        self.stages.run_all()

    @property
    def export_stem(self) -> str:
        return f"network-batch-{self.network.settings.batch}"

    def take(self, intent: Intent) -> bool:
        if not (isinstance(intent, LoadKernel) and intent.kernel.task == ForwardPass.task):
            return False
        self.stages.load(intent.kernel)
        return True

    def own_part(self) -> Table:
        return self.network.own_part()

    def take_own_part(self, part: Table, reading: Reading) -> Change | None:
        return self.network.take_own_part(part, reading)

    def table_of(self, run: NetworkRun) -> Table:
        layers, timeline = ([asdict(one) for one in parts] for parts in (run.layers, run.timeline))
        return {"result": run.result.as_json(), "layers": layers, "timeline": timeline}

    def run_in(self, table: Table) -> NetworkRun:
        kinds = {"layers": tuple[LayerTime, ...], "timeline": tuple[ChunkSpan, ...]}
        times = (msgspec.convert(table.get(name, []), kind) for name, kind in kinds.items())
        return NetworkRun(super().run_in(table), *times)

    def _lay_out(self) -> None:
        network, sides = self.network, Qt.Orientation
        drawing = PanelTabs(Panel("drawing", "Drawing", Slot(lambda: self.drawing_panel)))
        maps = Slot(lambda: self.maps_panel)
        value = PanelTabs(
            Panel("cell", "Origin", Slot(lambda: self.cell_panel)),
            Panel("timeline", "Timeline", Slot(lambda: TimelinePanel(network))),
        )
        stages = PanelTabs(Panel("stages", "Stages", Slot(lambda: self.stages_panel)))
        upper = Shares(
            "upper",
            sides.Horizontal,
            Share(maps, 0.7),
            Share(value, 0.3, _LEAST_RIGHT),
        )
        right = Shares(
            "right",
            sides.Vertical,
            Share(upper, 1.0 - _LOWER_SHARE),
            Share(stages, _LOWER_SHARE, _LEAST_LOWER),
        )
        whole = Shares(
            "page",
            sides.Horizontal,
            Share(drawing, _LEFT_SHARE, _LEAST_LEFT),
            Share(right, 1.0 - _LEFT_SHARE),
        )
        self.fill(whole, maps, drawing, value, stages)

    def _show_timeline(self) -> None:
        """Bring the chunks to the front when the selected stage has run by itself and works in some."""
        run = self.network.runs.get(self.network.settings.stage)
        if self._ran_one and not self.network.running and run is not None and run.timeline:
            self.bring_to_front("timeline")

    def words_of(self, last: NetworkResult) -> str:
        return run_sentence(f"Last run: {last.title}, {last.problem.size_text}", last)


build = NetworkPage
