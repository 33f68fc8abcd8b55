"""Explore, the main page: pictures in the middle, mask left, kernel right, plots and results below."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from PySide6.QtCore import Qt, QTimer
from PySide6.QtGui import QAction, QGuiApplication, QKeySequence, QShortcut, QUndoStack
from PySide6.QtWidgets import QMenu, QWidget

from engine.errors import EngineError
from engine.geometry.border import Border
from engine.geometry.layout import Layout
from engine.host.protocol import PictureHandle
from engine.host.request import Seen
from engine.host.tiles import TiledScreen
from engine.mask.mask import Mask
from engine.mask.presets import preset
from engine.mask.resolve import resolve_mask
from engine.work.measured_part import measured_shape
from gui.explore.ablation.ablation_state import AblationState
from gui.explore.blocks.block_cells import BlockCells
from gui.explore.clip_hint import ClipHint
from gui.explore.display import Display
from gui.explore.doctor.doctor_state import DoctorState
from gui.explore.explain_head import ExplainHead
from gui.explore.explore_actions import ExploreActions
from gui.explore.files import ExploreFiles, picture_filters
from gui.explore.kernel.kernel_panel import KernelPanel
from gui.explore.launch.launch_state import LaunchState
from gui.explore.lens.lens_marks import LensMarks
from gui.explore.lens.lens_state import LensState
from gui.explore.look.look_state import HISTOGRAM, LookState
from gui.explore.mask.effects import MaskEffects
from gui.explore.mask.mask_panel import MaskPanel
from gui.explore.operation.operation_choice import OperationChoice
from gui.explore.picture.picture_controller import PictureController
from gui.explore.picture.picture_view import PictureView
from gui.explore.picture_exchange import PictureExchange
from gui.explore.picture_job import comparable_of
from gui.explore.preview_controller import PreviewController
from gui.explore.region_actions import RegionActions
from gui.explore.results.answer_line import AnswerLine
from gui.explore.results.recorded_rows import RecordedRows
from gui.explore.results.results_model import ResultsModel
from gui.explore.results.results_panel import ResultsPanel
from gui.explore.results.row_actions import RowActions
from gui.explore.results.shown_difference import ShownDifference
from gui.explore.roofline.roofline_state import RooflineState
from gui.explore.run_controller import RunController
from gui.explore.run_words import no_run_sentence
from gui.explore.selection import Selection
from gui.explore.session_view import SessionView
from gui.explore.sessions import Part, Sessions
from gui.explore.small_picture import ComputingMessages, choose_simulator
from gui.explore.tile.tile_state import TileState
from gui.explore.why.why_state import WhyState
from gui.explore.workspace import Workspace
from gui.page.background import Background
from gui.page.contract import PageStatus, Services, Tool, Unsaved
from gui.page.intents import Begin, Intent, LoadKernel, LoadMask, OpenFiles, TakeContent
from gui.page.messages import Message, PageMessages, Severity
from gui.page.panels import Panel, PanelTabs
from gui.page.runs_page import RunsPage
from gui.page.shares import Share, Shares
from gui.page.slot import Slot
from gui.style.letters import follow_letters
from gui.style.metrics import GRID
from gui.widgets.panel_parts import choices_of, column
from gui.widgets.turns import Turns

if TYPE_CHECKING:
    from gui.explore.batch.batch_dialog import BatchDialog
    from gui.explore.blocks.blocks_panel import BlocksPanel
    from gui.explore.chain.chain_list import ChainList
    from gui.explore.code.code_state import CodeState

# Its result differs visibly from the original, and people want such a picture.
FIRST_MASK = "sharpen"
# The simulator does it at once.
_SMALL_SAMPLE = "impulse"
_TOOLS = ("save", "undo", "redo")
# Panels that are made when they are first looked at: of the place with the runs, of Inspect, of Explain.
_OF_MASK = {"doctor": "Analysis"}
_OF_RUNS = {"blocks": "Block sizes"}
_INSPECT = {"lens": "Lens", "look": "Histogram", "history": "History"}
_EXPLAIN = {
    "why": "Why",
    "launch": "Launch",
    "tile": "Tile",
    "code": "Code",
    "ablation": "Ablation",
    "roofline": "Roofline",
}
# Shares of the page, and the least that each has at first with letters of the usual size: the mask's fields;
# the longest title of a kernel, its time and a scroll bar; five rows of runs under the answer.
_LEFT_SHARE, _LEAST_LEFT = 0.2, 35 * GRID
_RIGHT_SHARE, _LEAST_RIGHT = 0.2, 40 * GRID
_LOWER_SHARE, _LEAST_LOWER = 0.34, 32 * GRID
_LEAST_ANSWER = 4 * GRID + 4
_RUNS_SHARE = 0.53
_RUN_CHAIN = (
    "Verifies the whole chain against one float64 reference of all its steps, then measures its time. Each "
    "step has the kernel that its row names."
)
_NO_BLOCKS = (
    "Block sizes are compared for convolutions only.\nChoose Convolution under Operation; another "
    "operation takes the block of the panel Kernel."
)


class ExplorePage(RunsPage):
    """State, controllers and panels of the page. Plots come with `finish`, after the first paint."""

    table_actions: ClassVar = (*RunsPage.table_actions[:3], "show_recorded", "clear_results")
    sections: ClassVar = {
        "": "window.md#explore",
        "mask": "window.md#mask",
        "kernel": "window.md#kernel",
        "doctor": "window.md#analysis",
        "inspect": "window.md#explore",
        "explain": "window.md#explore",
        "history": "window.md#history",
        "lens": "looking.md#the-lens",
        "look": "looking.md#look",
        "results": "window.md#runs",
        "blocks": "measuring.md#block-sizes",
        "tile": "course.md#the-tile-of-a-block-cell-by-cell",
        "launch": "measuring.md#the-launch",
        "code": "cli.md#code",
        "why": "bounds.md#the-sentence",
        "roofline": "bounds.md#the-bounds-beside-the-time",
        "ablation": "ablation.md#how-to-read-it",
        "picture": "window.md#picture",
    }

    def __init__(self, services: Services) -> None:
        super().__init__()
        self._make_controllers(services)
        workspace, state, results = self.workspace, services.state, self.results
        self.picture_view = PictureView(workspace, state, services.link, services.messages.on(self))
        self.mask_panel = MaskPanel(workspace)
        self.mask_panel.presets.effects = MaskEffects(workspace, services.link)
        self.results_panel = ResultsPanel(results, workspace, state, self.row_actions)
        self.show_runs(services, results, workspace.picture_changed, workspace.settings_changed)
        self.take_panel(self.results_panel)
        self.kernel_panel = KernelPanel(workspace, state, results, self.selection, self.take_small_picture)
        self.operation_choice = OperationChoice(
            self.mask_panel,
            workspace,
            self.display,
            lambda take: services.files.ask_to_open("Open a patch", picture_filters(), take),
            lambda: self.chain_list,
        )
        self.answer_line = AnswerLine(results, workspace)
        self.regions = RegionActions(
            services.actions, workspace, state, self.pictures, self.picture_view, self._measure_region
        )
        self._make_states(services)
        self._lay_out()
        shown = self.picture_view, results, self.panels
        self.session_view = SessionView(workspace, self.pictures, *shown)
        actions = services.actions
        self.tools = (Tool(actions["open"], self.commands.samples), *(Tool(actions[name]) for name in _TOOLS))
        self._connect()
        self._exchange_pictures(services)

    @property
    def surface(self) -> QWidget:
        return self.picture_view.canvas

    @property
    def undo_stack(self) -> QUndoStack:
        return self.workspace.undo_stack

    @property
    def status(self) -> PageStatus:
        picture, settings = self.workspace.picture, self.workspace.settings
        each_block = f" with block {settings.blocks[0]}" if settings.blocks else ""
        if len(settings.blocks) > 1:
            each_block = f" with each of {len(settings.blocks)} blocks"
        # A kernel without blocks runs once.
        known = self._services.state.variant(settings.variant)
        own_block = each_block if known is None or known.uses_block else ""
        chosen = "chosen " if settings.kernels else ""
        of_part = ""
        if picture is not None and isinstance(picture.screen, TiledScreen):
            height, width, _ = measured_shape(picture)
            of_part = f" Of this picture it measures {width:,} × {height:,} pixels in the middle of the view."
        is_ready = self._services.state.is_ready
        return replace(
            super().status,
            # What has run stands in the line over the panels.
            sentence="" if self.results.current else no_run_sentence(is_ready, picture is not None),
            device=settings.device,
            run_does=_RUN_CHAIN
            if self.workspace.is_chain
            else f"Verifies the chosen kernel{own_block} against the float64 reference, then measures "
            f"its time.{of_part}",
            run_all_does=_RUN_CHAIN
            if self.workspace.is_chain
            else f"Verifies and times every {chosen}variant that can run these settings{each_block}, "
            f"to compare them.{of_part}",
            why_no_run="" if picture else "Open a picture first (Ctrl+O).",
            document=picture.title if picture else "",
            caption=picture.description if picture else "",
            caption_tip=picture.path if picture else "",
        )

    @property
    def palette_actions(self) -> Sequence[QAction]:
        boxes = self.operation_choice.box, self.mask_panel.apply_controls.border_box
        return [*self.mask_panel.presets.choices, *(one for box in boxes for one in choices_of(box))]

    @property
    def is_settled(self) -> bool:
        return self.why.is_settled and self.look.is_settled and self.picture_view.is_settled

    def run(self) -> None:
        self._with_what_is_typed(lambda: self._run_blocks(self.runs.run))

    def run_all(self) -> None:
        self._with_what_is_typed(lambda: self._run_blocks(self.runs.run_every_variant))

    def clear_results(self) -> None:
        self.results_panel.clear()

    @property
    def unsaved(self) -> Unsaved:
        return super().unsaved._replace(results=self.sessions.unsaved_results)

    def work(self) -> Callable[[], bytes]:
        return self.sessions.work()

    def restore_work(
        self, path: Path, done: Callable[[], None], failed: Callable[[EngineError], None]
    ) -> None:
        self.sessions.restore(path, done, failed)

    def save_work(self, then: Callable[[], None]) -> None:
        self.files.ask_to_save_session(self._services.files, then)

    @property
    def export_stem(self) -> str:
        return self.files.stem()

    def _with_what_is_typed(self, run: Callable[[], None]) -> None:
        # Ctrl+R and a click on Run take no focus, and a number that is being typed belongs to the run.
        editor = self.window().focusWidget()
        if editor is not None:
            editor.clearFocus()
        run()
        if editor is not None and editor.isVisible():
            editor.setFocus()

    def _run_blocks(self, run: Callable[[], None]) -> None:
        """Run, with the panel of block sizes in view if several are chosen; not while its list is refused."""
        panel = self.panel("blocks")
        is_there = isinstance(panel.content, Slot) and panel.content.widget is not None
        is_refused = is_there and self.workspace.is_filtering and self.blocks_panel.is_refused
        if self.workspace.settings.blocks or is_refused:
            panel.bring_to_front()
        if not is_refused:
            run()

    def cancel(self) -> None:
        self.pictures.cancel()
        self.previews.cancel()
        self.why.cancel()

    def take(self, intent: Intent) -> bool:
        if isinstance(intent, OpenFiles):
            self.files.open_dropped(intent.paths)
        elif isinstance(intent, TakeContent):
            self.exchange.take(intent.content, "Nothing was opened")
        elif isinstance(intent, Begin):
            if not self.sessions.begin(intent):
                # Not before the window shows it.
                QTimer.singleShot(0, self, lambda: self.settled.emit(None))
            if intent.first is not None:
                ask = self.pictures.asked(intent.first.request)
                self._services.link.follow(ask, intent.first.future)
        elif isinstance(intent, LoadMask):
            # As the weights are: neither turned nor divided by their sum.
            self._load_alone(intent.mask, intent.mask.name, flip=False, normalise=False)
        elif isinstance(intent, LoadKernel) and self._has_kernel(intent.here.variant):
            here = intent.here
            border, layout = Border(here.border), Layout(here.layout)
            # The papers neither turn the mask nor divide it by its sum.
            fields: dict[str, Any] = {
                "result_type": "float32",
                "flip": False,
                "normalise": False,
                "blocks": (),
            }
            fields |= {"variant": here.variant, "block": here.block, "border": border, "layout": layout}
            self._load_alone(resolve_mask(here.mask), intent.name, **fields)
        else:
            return False
        return True

    def _load_alone(self, mask: Mask, name: str, **fields: Any) -> None:
        """Filter as another page says, and not as a step between others of a chain."""
        if count := self.workspace.set_only_step(mask, f"Load {name}", **fields):
            steps = "1 step" if count == 1 else f"{count} steps"
            what, remedy = f"{name} replaced the chain of {steps}", "Undo (Ctrl+Z) brings it back."
            self._services.messages.on(self).show(Message("load", Severity.INFO, what, "", remedy))

    def finish(self) -> None:
        turns = Turns(self)
        for add in (self.operation_choice.fill, self._add_copying, self._add_chains):
            turns.ask(add)

    @cached_property
    def blocks_panel(self) -> "BlocksPanel":
        """The panel Block sizes, made when it is first looked at."""
        from gui.explore.blocks.blocks_panel import BlocksPanel

        made = BlocksPanel(self.workspace, self._services.state, self.selection, self.cells)
        made.run_wanted.connect(self._services.actions["run"].trigger)
        made.cure_wanted.connect(self.kernel_panel.simulate)

        def allow() -> None:
            made.explain("" if self.workspace.is_filtering else _NO_BLOCKS)

        self.workspace.operation_changed.connect(allow)
        allow()
        return made

    def _add_chains(self) -> None:
        """Add what makes a chain of several steps; its list is made with the second step."""
        services, choice = self._services, self.operation_choice
        room = f"{__package__}.chain"
        state, of_actions = (import_module(f"{room}.{name}") for name in ("chain_state", "chain_actions"))
        self.chain = state.ChainState(self.workspace, self.display, services.link)
        self.chain_actions = of_actions.ChainActions(
            services.actions,
            self.chain,
            services.link,
            services.messages,
            services.files,
            self.files.stem,
            self.background,
        )
        self.files.chain_dropped.connect(self.chain_actions.open)
        self.previews.shown.connect(self.chain_actions.ask_for_ready)
        if services.state.last_result is not None:
            self.chain_actions.ask_for_ready()
        menu = QMenu(choice.add_button)
        menu.aboutToShow.connect(lambda: self.chain_actions.fill(menu))
        choice.add_button.setMenu(menu)
        self.workspace.steps_changed.connect(self._show_steps)
        self._show_steps()

    @cached_property
    def chain_list(self) -> "ChainList":
        """The list of steps, made with the second one."""
        made: ChainList = import_module(f"{__package__}.chain.chain_list").ChainList(
            self.chain, self._services.actions
        )
        return made

    def _show_steps(self) -> None:
        self.operation_choice.steps_slot.setVisible(len(self.workspace.state.steps) > 1)
        self._follow_operation()

    def _add_copying(self) -> None:
        """Add the entries of menus that take the settings elsewhere; they take 15 ms to import."""
        services = self._services
        given = services.actions, self.workspace
        copy_as, other_programs = (
            import_module(f"{__package__}.{name}") for name in ("copy_as", "mask.other_programs")
        )
        self.copy_as = copy_as.CopyAs(
            *given, services.state, services.messages, self.display, self.files.result_stem
        )
        self.programs = other_programs.OtherPrograms(*given, services.messages, self.mask_panel)
        self.mask_panel.programs.addActions(self.programs.actions)

    def _lay_out(self) -> None:
        answer, sides = self.answer_line, Qt.Orientation
        follow_letters(answer, lambda: answer.setFixedHeight(max(_LEAST_ANSWER, answer.needed_height)))
        self._mask = Panel("mask", "Mask", self.operation_choice)
        inspect = Panel("inspect", "Inspect", PanelTabs(*self._later(_INSPECT), are_parts=True))
        left = PanelTabs(self._mask, *self._later(_OF_MASK), inspect)
        right = PanelTabs(Panel("kernel", "Kernels", self.kernel_panel))
        runs = PanelTabs(Panel("results", "Runs", self.results_panel), *self._later(_OF_RUNS))
        segments = PanelTabs(*self._later(_EXPLAIN), are_parts=True)
        self.explain_head = ExplainHead(self.selection, segments)
        explain = PanelTabs(Panel("explain", "Explain", segments, self.explain_head))
        upper = Shares(
            "upper",
            sides.Horizontal,
            Share(left, _LEFT_SHARE, _LEAST_LEFT),
            Share(self.picture_view, 1.0 - _LEFT_SHARE - _RIGHT_SHARE),
            Share(right, _RIGHT_SHARE, _LEAST_RIGHT),
        )
        lower = QWidget()
        below = Shares("lower", sides.Horizontal, Share(runs, _RUNS_SHARE), Share(explain, 1.0 - _RUNS_SHARE))
        lower.setLayout(column(answer, (below, 1), spacing=0))
        whole = Shares(
            "page",
            sides.Vertical,
            Share(upper, 1.0 - _LOWER_SHARE),
            Share(lower, _LOWER_SHARE, _LEAST_LOWER),
        )
        self.fill(whole, self.picture_view, left, right, runs, explain)
        self.explain_head.room.toggled.connect(partial(self.show_only, explain))

    def hide_panels(self, hidden: bool) -> None:
        self.explain_head.room.setChecked(False)
        super().hide_panels(hidden)

    def bring_to_front(self, name: str) -> None:
        super().bring_to_front(name)
        if not self.panel(name).isVisible():
            self.explain_head.room.setChecked(False)

    def _later(self, titles: Mapping[str, str]) -> list[Panel]:
        """Return panels that are made when they are first looked at."""
        panels = []
        for name, title in titles.items():
            slot = Slot(partial(self._made_panel, name), f"{__package__}.{name}.{name}_panel")
            slot.looked_at.connect(partial(self._watch, name))
            panels.append(Panel(name, title, slot))
        return panels

    def _teaching_order(self) -> list[str]:
        return [one.key for one in self._services.state.variants_of(self.workspace.operation)]

    def _make_controllers(self, services: Services) -> None:
        state, link, actions, answers = services.state, services.link, services.actions, services.messages
        self.workspace = workspace = Workspace(preset(FIRST_MASK))
        self.results = results = ResultsModel(self._teaching_order)
        self.selection = Selection(workspace, state, results)
        workspace.job_changed.connect(self._follow_problem)
        self.recorded = RecordedRows(workspace, state, link, results)
        self.cells = BlockCells(results, self)
        self.commands = ExploreActions(actions, workspace, state)
        self.display = display = Display(workspace, state, link.keeper)
        self.pictures = PictureController(workspace, state, link, answers, display)
        behind = ComputingMessages(answers, self, workspace, state, self.take_small_picture)
        self.clip_hint = ClipHint(workspace, state, behind)
        self.previews = PreviewController(workspace, state, link, behind, display, self._seen)
        running = (workspace, state, services.jobs, link.keeper, behind)
        self.runs = RunController(*running, display, results, self.cells, self._seen)
        pages = Part(services.session_parts, services.take_session_parts, services.saving)
        view = Part(lambda: self.session_view.read(), lambda kept: self.session_view.give(kept))
        self.background = Background(self)
        self.sessions = Sessions(workspace, results, answers, self.background, pages, view)
        self.files = ExploreFiles(workspace, self.pictures, answers, self.sessions, services.recent)
        self.row_actions = RowActions(results, workspace, self)
        self.shown_difference = ShownDifference(
            self.row_actions, state, link, display, self.previews, answers.on(self)
        )
        self.files.connect_actions(actions, services.files)

    def _make_states(self, services: Services) -> None:
        """Make the states of the panels behind others."""
        state, link, messages, workspace = services.state, services.link, services.messages, self.workspace
        self.tile = TileState(self.selection, state, link)
        self.launch = LaunchState(self.selection, state, link)
        asking = state, link, services.jobs
        saving = services.files, messages.on(self), self.files.stem
        self.roofline = RooflineState(self.selection, self.results, *asking, *saving)
        self.why = WhyState(self.selection, self.results, workspace, state, link, self.roofline)
        for explaining in (self.why, self.roofline):
            explaining.chosen.connect(self.results.describe)
        self.ablation = AblationState(self.selection, state, services.jobs, PageMessages(messages, self))
        self.history = self.workspace.undo_stack
        self.lens = LensState(workspace, self.display, state, link, lambda: self.picture_view.values)
        self.picture_view.values_arrived.connect(self.lens.refresh)
        self.lens_marks = LensMarks(self.lens, self.picture_view.canvas)
        self.look = LookState(workspace, state, link, self.picture_view)
        self.doctor = DoctorState(self.workspace)

    @cached_property
    def code(self) -> "CodeState":
        """What the panel Code shows; made with it, since what is known of code takes 60 ms to import."""
        from gui.explore.code.code_state import CodeState
        from gui.page.slides_saving import save_slides

        services, results = self._services, self.results
        code = CodeState(self.selection, services.state, services.link, self.tile, results)
        answers = services.messages.on(self)
        code.wants_slides.connect(
            lambda: save_slides(services, [run.result for run in results.tried()], answers)
        )
        return code

    @cached_property
    def batch(self) -> "BatchDialog":
        """The dialog Batch, made when it is first asked for."""
        services = self._services
        made: BatchDialog = import_module(".batch.batch_controller", __package__).batch_dialog(
            self.window(), self.workspace, services, services.messages.on(self)
        )
        return made

    def _made_panel(self, name: str) -> QWidget:
        if name == "blocks":
            return self.blocks_panel
        module = import_module(f".{name}.{name}_panel", __package__)
        made: QWidget = getattr(module, f"{name.capitalize()}Panel")(getattr(self, name))
        return made

    def _watch(self, name: str, is_visible: bool) -> None:
        # These ask nothing of the engine.
        if name not in ("blocks", "history"):
            getattr(self, name).watch(is_visible)

    def _connect(self) -> None:
        actions, workspace = self._services.actions, self.workspace
        self.picture_view.empty_state.open_button.clicked.connect(actions["open"].trigger)
        self.picture_view.empty_state.sample_button.clicked.connect(self.commands.samples[0].trigger)
        self.mask_panel.load.triggered.connect(actions["load_mask"].trigger)
        self.mask_panel.save.triggered.connect(actions["save_mask"].trigger)
        actions["batch"].triggered.connect(lambda: self.batch.begin())
        self.files.batch_wanted.connect(lambda folders: self.batch.begin(folders))
        actions["masks"].triggered.connect(self.mask_panel.presets.click)
        actions["generate_mask"].triggered.connect(self.mask_panel.presets.generate)
        actions["mask_as_text"].triggered.connect(self.mask_panel.edit_as_text)
        for action in self.commands.samples:
            key = action.data()
            action.triggered.connect(lambda _on, key=key: self.pictures.open_sample(key))
        self.picture_view.result_gone.connect(self.previews.again)
        self.previews.shown.connect(lambda: self.settled.emit(None))
        self.previews.failed.connect(self.settled)
        workspace.operation_changed.connect(self._follow_operation)
        self._services.state.ready_changed.connect(self._choose_baseline)
        self.sessions.edited.connect(self.edited)
        self.display.found_changed.connect(self._show_mark)
        self.pictures.open_failed.connect(self.settled)
        self.row_actions.picture_wanted.connect(self._open_for)
        self.results_panel.stack.offer(actions["run_all"])
        self.picture_view.canvas.menu_asked.connect(lambda at: self.picture_menu().popup(at))
        view = self.picture_view.canvas.view
        actions["zoom_fit"].triggered.connect(lambda: view.fit())
        actions["zoom_actual"].triggered.connect(lambda: view.show_actual())
        self.kernel_panel.small_picture.clicked.connect(self.take_small_picture)
        actions["lens"].triggered.connect(self._show_lens)
        actions["blink"].triggered.connect(self.picture_view.blink)
        actions["zoom_in"].triggered.connect(lambda: view.zoom_by(1))
        actions["zoom_out"].triggered.connect(lambda: view.zoom_by(-1))

    def picture_menu(self) -> QMenu:
        """Return what can be done with the picture."""
        menu, actions = QMenu(self), self._services.actions
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.addActions([actions[name] for name in ("zoom_fit", "zoom_actual", "zoom_in", "zoom_out")])
        menu.addSeparator()
        copy = menu.addAction("Copy what is seen")
        copy.setEnabled(self.workspace.picture is not None)
        canvas = self.picture_view.canvas
        copy.triggered.connect(lambda: QGuiApplication.clipboard().setPixmap(canvas.grab()))
        menu.addAction(actions["save"])
        return menu

    def _open_for(self, picture: PictureHandle, then: Callable[[], None]) -> None:
        """Open the picture of a run, then have its settings again."""

        def opened(is_open: bool) -> None:
            if is_open:
                then()

        if picture.sample:
            self.pictures.open_sample(picture.sample, opened)
        else:
            self.pictures.open_path(Path(picture.path), opened)

    def _exchange_pictures(self, services: Services) -> None:
        """Paste pictures, copy them, drag them out."""
        actions = services.actions
        self.exchange = exchange = PictureExchange(
            self.workspace,
            services.state,
            services.link,
            services.messages,
            self.background,
            self.pictures,
            self.mask_panel.grid,
            lambda: actions[f"page:{self.objectName()}"].trigger(),
            self.files.result_stem,
        )
        actions["paste"].triggered.connect(exchange.paste)
        actions["copy_picture"].triggered.connect(lambda: exchange.copy())
        actions["copy_original"].triggered.connect(lambda: exchange.copy(original=True))
        exchange.connect_handle(self.picture_view.drag_handle)
        by_key = QShortcut(QKeySequence.StandardKey.Copy, self.surface)
        by_key.setContext(Qt.ShortcutContext.WidgetShortcut)
        by_key.activated.connect(actions["copy_picture"].trigger)

    def take_small_picture(self) -> None:
        """Crop the picture to what the simulator does soon, or open a small one; choose the simulator."""
        if self.workspace.picture is not None:
            self.regions.simulate()
            return
        workspace, state = self.workspace, self._services.state
        self.pictures.open_sample(_SMALL_SAMPLE, lambda _: choose_simulator(workspace, state))

    def _measure_region(self) -> None:
        """Show the numbers of the region, or of the whole picture."""
        self.look.choose(HISTOGRAM)
        self.bring_to_front("look")

    def _show_lens(self) -> None:
        self.bring_to_front("lens")
        self.picture_view.canvas.setFocus()

    def _seen(self) -> Seen | None:
        """Return what is seen of a result, where another machine is to send only that."""
        return self.picture_view.seen if self._services.link.is_remote else None

    def _has_kernel(self, key: str) -> bool:
        return any(known.key == key for known in self._services.state.variants)

    def _follow_problem(self) -> None:
        job = self.workspace.run_job()
        self.results.follow(job and comparable_of(job))

    def _follow_operation(self) -> None:
        of_step = "Mask" if self.workspace.is_filtering else "Operation"
        self._mask.rename("Chain" if len(self.workspace.state.steps) > 1 else of_step)
        self._choose_baseline()

    def _choose_baseline(self) -> None:
        """Choose the baseline of an operation that has none: its variant on the CPU, once it is listed."""
        if not self.workspace.settings.baseline:
            listed = self._services.state.variants_of(self.workspace.operation)
            self.workspace.adopt(baseline=next((one.key for one in listed if one.kind == "cpu"), ""))

    def _show_mark(self) -> None:
        found = self.display.found
        score = next((f"{one.title} {one.text}" for one in found.quantities), "") if found else ""
        self.picture_view.canvas.set_mark(found.mark if found else None, score)


def build(services: Services) -> ExplorePage:
    """Make the page."""
    return ExplorePage(services)
