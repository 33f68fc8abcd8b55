"""Explore, the main page: pictures in the middle, mask left, kernel right, plots and results below."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from PySide6.QtCore import QMimeData, Qt, QTimer
from PySide6.QtGui import QAction, QGuiApplication, QKeySequence, QShortcut
from PySide6.QtWidgets import QMenu

from engine.course.paper import CourseKernel
from engine.geometry.block import Layout
from engine.geometry.border import Border
from engine.host.protocol import TiledScreen
from engine.mask.mask import Mask
from engine.mask.presets import resolve_mask
from engine.work.messages import measured_shape
from gui.explore.explain.question import Question
from gui.explore.explain.selection import ExplainHead
from gui.explore.parts import ExploreParts
from gui.explore.picture_exchange import PictureExchange
from gui.explore.run_words import no_run_sentence
from gui.explore.sessions import Done, Failed
from gui.page.contract import Begin, Intent, OpenFiles, PageStatus, Services, Tool
from gui.page.panels import Panel, PanelTabs, Share, Shares
from gui.page.runs_page import RunsPage
from gui.page.slot import Slot
from gui.style.metrics import GRID, Turns, follow
from gui.widgets.panel_parts import boxed, choices_of, column

_TOOLS = ("save", "undo", "redo")
# Panels that are made when they are first visible: of the place with the runs, of Inspect, of Explain.
_OF_MASK = {"analysis": "Analysis"}
_OF_RUNS = {"blocks": "Block sizes"}
_INSPECT = {"lens": "Lens", "look": "Histogram", "history": "History"}
_EXPLAIN = {name: name.capitalize() for name in ("why", "launch", "tile", "code", "ablation", "roofline")}
# Shares of the page, and the least that each has at first with letters of the usual size: the mask's fields;
# the longest title of a kernel, its time and a scroll bar; five rows of runs under the answer.
_LEFT_SHARE, _LEAST_LEFT = 0.2, 35 * GRID
_RIGHT_SHARE, _LEAST_RIGHT = 0.2, 40 * GRID
_LOWER_SHARE, _LEAST_LOWER = 0.34, 32 * GRID
_RUNS_SHARE = 0.53
_RUN_CHAIN = (
    "Verifies the whole chain against one float64 reference of all its steps, then measures its time. Each "
    "step has the kernel that its row names."
)


class ExplorePage(ExploreParts):
    """Shows its parts, and answers the window. Plots come with `finish`, after the first paint."""

    table_actions: ClassVar = (*RunsPage.table_actions[:3], "show_recorded", "clear_results")
    sections: ClassVar = {
        "": "window.md#explore", "inspect": "window.md#explore", "explain": "window.md#explore",
        "mask": "window.md#mask", "kernel": "window.md#kernel", "analysis": "window.md#analysis",
        "history": "window.md#history", "picture": "window.md#picture", "results": "window.md#runs",
        "lens": "looking.md#the-lens", "look": "looking.md#look", "blocks": "measuring.md#block-sizes",
        "tile": "course.md#the-tile-of-a-block-cell-by-cell", "launch": "measuring.md#the-launch",
        "code": "cli.md#code", "why": "bounds.md#the-sentence", "ablation": "ablation.md#how-to-read-it",
        "roofline": "bounds.md#the-bounds-beside-the-time",
    }  # fmt: skip

    def __init__(self, services: Services) -> None:
        super().__init__(services)
        self.surface, self.undo_stack = self.picture_view.canvas, self.workspace.undo_stack
        self._lay_out()
        self.sessions.show_on(self.pictures, self.picture_view, self.panels)
        actions = services.actions
        self.tools = (Tool(actions["open"], self.commands.samples), *(Tool(actions[name]) for name in _TOOLS))
        self._connect()
        self._exchange_pictures(services)

    @property
    def status(self) -> PageStatus:
        picture, settings = self.workspace.picture, self.workspace.settings
        each_block = f" with block {settings.blocks[0]}" if settings.blocks else ""
        if len(settings.blocks) > 1:
            each_block = f" with each of {len(settings.blocks)} blocks"
        why_not, kernel = "", self.kernel_panel.variants.row(self.selection.kernel)
        if kernel is not None and not kernel.can_run and not self.workspace.is_chain:
            why_not = f"{kernel.title} cannot run: {kernel.reason}"
        # A kernel without blocks runs once.
        known = self._services.state.variant(settings.variant)
        own_block = each_block if known is None or known.uses_block else ""
        of_part = ""
        if picture is not None and isinstance(picture.screen, TiledScreen):
            height, width, _ = measured_shape(picture)
            of_part = f" Of this picture it measures {width:,} × {height:,} pixels in the middle of the view."
        one, each = f"{known.title if known else 'Automatic'}{own_block}", f"these settings{each_block}"
        run_does = f"Verifies {one} against the float64 reference, then measures its time.{of_part}"
        all_does = f"Verifies and times every variant that can run {each}, to compare them.{of_part}"
        no_run = no_run_sentence(self._services.state.is_ready, picture is not None)
        return replace(
            super().status,
            # What has run stands in the line over the panels.
            sentence=why_not or ("" if self.results.current else no_run),
            device=settings.device,
            run_does=_RUN_CHAIN if self.workspace.is_chain else run_does,
            run_all_does=_RUN_CHAIN if self.workspace.is_chain else all_does,
            why_no_run="" if picture else "Open a picture first (Ctrl+O).",
            why_not_one=why_not,
            document=picture.title if picture else "",
            caption=picture.description if picture else "",
            caption_tip=picture.path if picture else "",
        )

    @property
    def palette_actions(self) -> Sequence[QAction]:
        of_picture = self.picture_view.toolbar.range_box
        boxes = self.operation_choice.box, self.mask_panel.apply_controls.border_box, of_picture
        return [*self.mask_panel.presets.choices, *(one for box in boxes for one in choices_of(box))]

    @property
    def is_complete(self) -> bool:
        # Without its panel there is nothing to look at.
        questions = (one for one in vars(self).values() if isinstance(one, Question))
        return all(one.is_complete for one in questions) and self.picture_view.is_complete

    def run(self) -> None:
        self._with_what_is_typed(lambda: self._run_blocks(self.runs.run))

    def run_all(self) -> None:
        self._with_what_is_typed(lambda: self._run_blocks(self.runs.run_every_variant))

    def work(self) -> Callable[[], bytes]:
        return self.sessions.work()

    def restore_work(self, path: Path, done: Done, failed: Failed) -> None:
        self.sessions.open(path, done, failed, is_work=True)

    def save_work(self, then: Callable[[], None]) -> None:
        self.files.ask_to_save_session(then)

    @property
    def export_stem(self) -> str:
        return self.files.stem()

    def _with_what_is_typed(self, run: Callable[[], None]) -> None:
        # Ctrl+R and a click on Run take no focus, and a number that is being typed belongs to the run.
        if (editor := self.window().focusWidget()) is not None:
            editor.clearFocus()
        run()
        if editor is not None and editor.isVisible():
            editor.setFocus()

    def _run_blocks(self, run: Callable[[], None]) -> None:
        """Run, with the panel of block sizes in view if several are chosen; not while its list is refused."""
        panel, is_there = self.panel("blocks"), "blocks_panel" in vars(self)
        is_refused = is_there and self.workspace.is_filtering and self.blocks_panel.field.is_refused
        if self.workspace.settings.blocks or is_refused:
            panel.bring_to_front()
        if not is_refused:
            run()

    def cancel(self) -> None:
        self.pictures.cancel()
        self.previews.cancel()

    def take(self, intent: Intent) -> bool:
        if isinstance(intent, OpenFiles):
            self.files.open_dropped(intent.paths)
        elif isinstance(intent, QMimeData):
            self.exchange.take(intent, "Nothing was opened")
        elif isinstance(intent, Begin):
            if not self.sessions.begin(intent):
                # Not before the window shows it.
                QTimer.singleShot(0, self, lambda: self.completed.emit(None))
            if (first := intent.first) is not None:
                self._services.link.follow(self.pictures.newest_ask(first.request), first.future)
        elif isinstance(intent, Mask):
            self._load_alone(intent, intent.name)
        elif isinstance(intent, CourseKernel) and any(
            known.key == intent.variant for known in self._services.state.variants
        ):
            fields: dict[str, Any] = {"variant": intent.variant, "block": intent.block, "blocks": ()}
            fields |= {"border": Border(intent.border), "layout": Layout(intent.layout)}
            self._load_alone(resolve_mask(intent.mask), intent.name, result_type="float32", **fields)
        else:
            return False
        return True

    def _load_alone(self, mask: Mask, name: str, **fields: Any) -> None:
        """Filter as another page says, neither turned nor divided, and not as a step of a chain."""
        fields |= {"flip": False, "normalise": False}
        if count := self.workspace.set_only_step(mask, f"Load {name}", **fields):
            steps = "1 step" if count == 1 else f"{count} steps"
            what, remedy = f"{name} replaced the chain of {steps}", "Undo (Ctrl+Z) brings it back."
            self.own_messages.note("load", what, "", remedy)

    def finish(self) -> None:
        turns = Turns(self)
        for add in (self.operation_choice.fill, self._add_copying, self._add_steps):
            turns.ask(add)

    def _add_steps(self) -> None:
        self._add_chains()
        follow(self._follow_operation, self.workspace.steps_changed)

    def _lay_out(self) -> None:
        sides = Qt.Orientation
        self._mask = Panel("mask", "Mask", self.operation_choice)
        inspect = Panel("inspect", "Inspect", PanelTabs(*self._later("inspect", _INSPECT), are_parts=True))
        left = PanelTabs(self._mask, *self._later("inspect", _OF_MASK), inspect)
        right = PanelTabs(Panel("kernel", "Kernels", self.kernel_panel))
        runs = PanelTabs(Panel("results", "Runs", self.results_panel), *self._later("results", _OF_RUNS))
        segments = PanelTabs(*self._later("explain", _EXPLAIN), are_parts=True)
        self.explain_head = ExplainHead(self.selection, segments)
        explain = PanelTabs(Panel("explain", "Explain", segments, self.explain_head))
        middle = Share(self.picture_view, 1.0 - _LEFT_SHARE - _RIGHT_SHARE)
        outer = Share(left, _LEFT_SHARE, _LEAST_LEFT), middle, Share(right, _RIGHT_SHARE, _LEAST_RIGHT)
        upper = Share(Shares("upper", sides.Horizontal, *outer), 1.0 - _LOWER_SHARE)
        below = Shares("lower", sides.Horizontal, Share(runs, _RUNS_SHARE), Share(explain, 1.0 - _RUNS_SHARE))
        lower = Share(boxed(column(self.answer_line, (below, 1), spacing=0)), _LOWER_SHARE, _LEAST_LOWER)
        whole = Shares("page", sides.Vertical, upper, lower)
        self.fill(whole, self.picture_view, left, right, runs, explain)
        self.explain_head.enlarge.toggled.connect(partial(self.show_only, explain))

    def hide_panels(self, hidden: bool) -> None:
        self.explain_head.enlarge.setChecked(False)
        super().hide_panels(hidden)

    def bring_to_front(self, name: str) -> None:
        super().bring_to_front(name)
        if not self.panel(name).isVisible():
            self.explain_head.enlarge.setChecked(False)

    def _later(self, package: str, titles: Mapping[str, str]) -> list[Panel]:
        """Return panels of a package that are made when they are first visible."""
        panels = []
        for name, title in titles.items():
            made, module = partial(self._made_panel, package, name), f"{__package__}.{package}.{name}_panel"
            slot = Slot(made, "" if name == "history" else module)
            slot.visibility_changed.connect(partial(self._watch, name))
            panels.append(Panel(name, title, slot))
        return panels

    def _connect(self) -> None:
        actions, workspace = self._services.actions, self.workspace
        self.picture_view.empty_state.open_button.clicked.connect(actions["open"].trigger)
        self.picture_view.empty_state.sample_button.clicked.connect(self.commands.samples[0].trigger)
        self.mask_panel.fill_menu(actions)
        self.files.batch_wanted.connect(lambda folders: self.batch.begin(folders))
        for action in self.commands.samples:
            key = action.data()
            action.triggered.connect(lambda _on, key=key: self.pictures.open_sample(key))
        self.picture_view.result_gone.connect(self.previews.again)
        self.previews.shown.connect(lambda: self.completed.emit(None))
        self.previews.failed.connect(self.completed)
        workspace.operation_changed.connect(self._follow_operation)
        self._services.state.ready_changed.connect(self._choose_baseline)
        for changed in (self.selection.changed, self.kernel_panel.variants.dataChanged):
            changed.connect(self.status_changed)
        self.sessions.edited.connect(self.edited)
        self.display.outcome_changed.connect(self._show_mark)
        self.pictures.open_failed.connect(self.completed)
        self.results_panel.opening_wanted.connect(self.pictures.open_source)
        self.results_panel.stack.offer(actions["run_all"])
        self.picture_view.canvas.menu_wanted.connect(lambda at: self.picture_menu().popup(at))
        masks, view = self.mask_panel.presets, self.picture_view.canvas.view
        actions.connect_to(zoom_in=lambda: view.zoom_by(1), zoom_out=lambda: view.zoom_by(-1))
        actions.connect_to(zoom_fit=view.fit, zoom_actual=view.show_actual, blink=self.picture_view.blink)
        actions.connect_to(masks=masks.click, generate_mask=masks.generate, lens=self._show_lens)
        actions.connect_to(mask_as_text=self.mask_panel.edit_as_text, batch=lambda: self.batch.begin())

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

    def _exchange_pictures(self, services: Services) -> None:
        actions = services.actions
        of_page = self.workspace, self.background, self.pictures, self.mask_panel.grid
        show, name = lambda: actions[f"page:{self.objectName()}"].trigger(), self.files.result_stem
        self.exchange = exchange = PictureExchange(services, *of_page, show, name)
        actions.connect_to(
            paste=exchange.paste,
            copy_picture=exchange.copy,
            copy_original=partial(exchange.copy, original=True),
        )
        exchange.connect_handle(self.picture_view.drag_handle)
        by_key = QShortcut(QKeySequence.StandardKey.Copy, self.surface)
        by_key.setContext(Qt.ShortcutContext.WidgetShortcut)
        by_key.activated.connect(actions["copy_picture"].trigger)

    def _show_lens(self) -> None:
        self.bring_to_front("lens")
        self.picture_view.canvas.setFocus()

    def _follow_operation(self) -> None:
        of_step, has_several = (
            "Mask" if self.workspace.is_filtering else "Operation",
            len(self.workspace.state.steps) > 1,
        )
        self.operation_choice.steps_slot.setVisible(has_several)
        self._mask.rename("Chain" if has_several else of_step)
        self._choose_baseline()

    def _choose_baseline(self) -> None:
        """Choose the baseline of an operation that has none: its variant on the CPU, once it is listed."""
        if not self.workspace.settings.baseline:
            listed = self._services.state.variants_of(self.workspace.operation)
            self.workspace.adopt(baseline=next((one.key for one in listed if one.kind == "cpu"), ""))

    def _show_mark(self) -> None:
        result = self.display.operation_result
        score = next((f"{one.title} {one.text}" for one in result.quantities), "") if result else ""
        self.picture_view.canvas.show_scene(mark=result.mark if result else None, mark_text=score)


def build(services: Services) -> ExplorePage:
    """Make the page."""
    return ExplorePage(services)
