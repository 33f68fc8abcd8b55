"""What the page Explore is made of: state, controllers, panels, and what is made when it is first wanted."""

from collections.abc import Callable
from functools import cached_property, partial
from importlib import import_module
from pathlib import Path
from typing import Any

from PySide6.QtWidgets import QMenu, QUndoView, QWidget

from engine.host.request import Seen
from engine.mask.presets import preset
from gui.explore.explain.roofline_state import RooflineState
from gui.explore.explain.selection import Selection
from gui.explore.explain.why_state import WhyState
from gui.explore.explore_actions import ExploreActions, RegionActions
from gui.explore.files import ExploreFiles, picture_filters
from gui.explore.jobs import comparable_of
from gui.explore.kernel.kernel_panel import KernelPanel
from gui.explore.mask.library_rows import MaskEffects
from gui.explore.mask.mask_panel import MaskPanel, OperationChoice
from gui.explore.picture.picture_controller import PictureController
from gui.explore.picture.picture_view import PictureView
from gui.explore.preview_controller import (
    ClipHint,
    ComputingMessages,
    Display,
    PreviewController,
    choose_simulator,
)
from gui.explore.results.blocks_panel import BlockCells, BlocksPanel
from gui.explore.results.results_model import RecordedRows, ResultsModel
from gui.explore.results.results_panel import AnswerLine, ResultsPanel
from gui.explore.run_controller import RunController
from gui.explore.sessions import Sessions
from gui.explore.workspace import Workspace
from gui.page.contract import Services
from gui.page.jobs import Background
from gui.page.runs_page import RunsPage
from gui.widgets.panel_parts import named

# Its result differs visibly from the original, and people want such a picture.
FIRST_MASK = "sharpen"
_HISTORY_TIP = "Click a line for the state after that edit. Later lines stay until you edit."
_SMALL_SAMPLE = "impulse"  # the simulator does it at once


def _made_later(made_by: str, of: Callable[[Any], tuple[Any, ...]]) -> Any:
    """Return a part that is made when it is first needed: "module:class" of what `of` returns."""
    module, _, name = made_by.partition(":")
    return cached_property(lambda page: getattr(import_module(f"{__package__}.{module}"), name)(*of(page)))


class ExploreParts(RunsPage):
    """A page that has its parts, and does not show them yet."""

    def __init__(self, services: Services) -> None:
        super().__init__()
        self._make_controllers(services)
        workspace, state, results = self.workspace, services.state, self.results
        self.own_messages = messages = services.messages.on(self)
        self.picture_view = PictureView(workspace, services, messages)
        self.mask_panel = MaskPanel(workspace)
        self.mask_panel.presets.effects = MaskEffects(workspace, services.link)
        self.results_panel = ResultsPanel(results, workspace, state)
        self.show_runs(services, results, workspace.picture_changed, workspace.settings_changed)
        self.take_panel(self.results_panel)
        self.kernel_panel = KernelPanel(self.selection, self.take_small_picture)
        self.operation_choice = OperationChoice(
            self.mask_panel, workspace, self.display, lambda: self.chain_list
        )
        self.operation_choice.patch_wanted.connect(self._ask_for_patch)
        self.answer_line = AnswerLine(results, workspace)
        self.regions = RegionActions(services, workspace, self.pictures, self.picture_view)
        services.actions.connect_to(region_measure=self._measure_region)
        # What explains the time of a run; what other panels show is made with them, below.
        self.roofline = RooflineState(self.selection, services.link, services.jobs, messages)
        self.why = WhyState(self.selection, services.link, self.roofline)
        self.roofline.save_wanted.connect(partial(self.save_drawing, "roofline"))

    def _make_controllers(self, services: Services) -> None:
        state, link = services.state, services.link
        self.workspace = workspace = Workspace(preset(FIRST_MASK))
        listed = state.variants_of
        self.results = results = ResultsModel(lambda: [one.key for one in listed(workspace.operation)])
        self.selection = Selection(workspace, state, results)
        workspace.job_changed.connect(self._follow_problem)
        self.recorded = RecordedRows(workspace, state, link, results)
        self.cells = BlockCells(results, self)
        self.commands = ExploreActions(services.actions, workspace, state)
        self.display = display = Display(workspace, state, link.keeper)
        display.seen = self._seen
        self.pictures = PictureController(workspace, services, display)
        behind = ComputingMessages(services, self, workspace, self.take_small_picture)
        self.clip_hint = ClipHint(workspace, state, behind)
        computing = workspace, services, behind, display
        self.previews = PreviewController(*computing)
        self.runs = RunController(*computing, self.cells)
        self.background = Background(self)
        self.sessions = Sessions(workspace, results, services, self.background)
        self.files = ExploreFiles(services, workspace, self.pictures, self.sessions)
        self.files.connect_actions(services.actions)

    def _seen(self) -> Seen | None:
        """Return the visible part of a result, where another machine is to send only that."""
        return self.picture_view.seen if self._services.link.is_remote else None

    def _follow_problem(self) -> None:
        job = self.workspace.run_job()
        self.results.follow(job and comparable_of(job))

    # What panels show.
    tile = _made_later("explain.tile_panel:TileState", lambda page: (page.selection, page._services.link))
    launch = _made_later(
        "explain.launch_panel:LaunchState", lambda page: (page.selection, page._services.link)
    )
    code = _made_later("explain.code_panel:CodeState", lambda page: (page.selection, page._services.link))
    ablation = _made_later(
        "explain.ablation_panel:AblationState",
        lambda page: (page.selection, page._services.jobs, page.own_messages),
    )
    lens = _made_later("inspect.lens_panel:LensState", lambda page: (page.display, *page._of_picture))
    look = _made_later("inspect.look_panel:LookState", lambda page: page._of_picture)
    analysis = _made_later("inspect.analysis_panel:MaskAnalysis", lambda page: (page.workspace,))
    # A dialog, and the list of steps, which comes with the second one.
    batch = _made_later(
        "batch.batch_dialog:BatchDialog",
        lambda page: (page.window(), page.workspace, page._services, page.own_messages),
    )
    chain_list = _made_later("chain.chain_list:ChainList", lambda page: (page.chain, page._services.actions))

    @cached_property
    def blocks_panel(self) -> BlocksPanel:
        """Made when it is first visible."""
        run = self._services.actions["run"]
        return BlocksPanel(self.selection, self.cells, run, self.kernel_panel.simulate)

    @property
    def _of_picture(self) -> tuple[Any, ...]:
        return self.workspace, self._services.state, self._services.link, self.picture_view

    def _add_chains(self) -> None:
        """Add what makes a chain of several steps; its list is made with the second step."""
        from gui.explore.chain.chain_actions import ChainActions, ChainState

        services, choice = self._services, self.operation_choice
        self.chain = ChainState(self.workspace, self.display, services.link)
        self.chain_actions = ChainActions(services, self.chain, self.files.stem, self.background)
        self.files.chain_dropped.connect(self.chain_actions.open)
        self.previews.shown.connect(self.chain_actions.ask_for_ready)
        if services.state.last_result is not None:
            self.chain_actions.ask_for_ready()
        menu = QMenu(choice.add_button)
        menu.aboutToShow.connect(lambda: self.chain_actions.fill(menu))
        choice.add_button.setMenu(menu)

    def _add_copying(self) -> None:
        """Add the entries of menus that take the settings elsewhere; they take 15 ms to import."""
        from gui.explore.copy_as import CopyAs, OtherPrograms

        services = self._services
        self.copy_as = CopyAs(services, self.workspace, self.display, self.files.result_stem)
        self.programs = OtherPrograms(services, self.workspace, self.mask_panel)
        self.mask_panel.programs.addActions(self.programs.actions)

    def _made_panel(self, package: str, name: str) -> QWidget:
        if name == "blocks":
            return self.blocks_panel
        if name == "history":
            # A click on a line goes back, or forward, to the state after an edit.
            edits = QUndoView(self.workspace.undo_stack, emptyLabel="At the start")
            edits.setSpacing(2)
            return named(edits, "History of edits", _HISTORY_TIP)
        module = import_module(f".{package}.{name}_panel", __package__)
        made: QWidget = getattr(module, f"{name.capitalize()}Panel")(getattr(self, name))
        return made

    def _watch(self, name: str, is_visible: bool) -> None:
        # These ask nothing of the engine.
        if name not in ("blocks", "history"):
            getattr(self, name).watch(is_visible)

    def take_small_picture(self) -> None:
        """Crop the picture to what the simulator does soon, or open a small one; choose the simulator."""
        workspace, state = self.workspace, self._services.state
        if workspace.picture is not None:
            self.regions.simulate()
        else:
            self.pictures.open_sample(_SMALL_SAMPLE, lambda _: choose_simulator(workspace, state))

    def _ask_for_patch(self) -> None:
        def take(path: Path) -> None:
            self.workspace.change(patch_path=str(path))

        self._services.files.ask_to_open("Open a patch", picture_filters(), take)

    def _measure_region(self) -> None:
        self.look.choose("histogram")
        self.bring_to_front("look")
