"""The panel Lens: the cells of a pixel, their products, and the steps to the value on the screen.

It follows the mouse until a click pins it. The window reads the few cells itself, from the memory that
picture and result share with the engine; what is missing is requested, such as the result that a step of a
chain reads. In which order the kernel adds is requested once for each kernel and mask.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from msgspec.structs import replace
from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QLabel, QSizePolicy, QWidget

from engine.errors import EngineError
from engine.host.protocol import TiledScreen
from engine.results.answer import Mark
from engine.results.measurement import StepTime
from engine.work.filtering.sum_order import SumOrder
from engine.work.messages import PictureJob, SumOrderRequest
from engine.work.steps import PICTURE, AnyStep, Chain, CombineStep, MaskStep
from gui.engine_link.engine_link import EngineLink, Newest, needs_no_message
from gui.engine_link.engine_state import EngineState
from gui.explore.explain.question import Question
from gui.explore.inspect.lens import (
    CELLS,
    PRODUCTS,
    RESULT,
    WEIGHTS,
    CombineLens,
    FilterLens,
    InChain,
    Lens,
    LensStep,
    Looked,
    OperationLens,
    channel_name,
    place,
)
from gui.explore.jobs import is_chain
from gui.explore.picture.picture_view import PictureView
from gui.explore.picture.tiled import AskedValues, NotYet
from gui.explore.preview_controller import Display
from gui.explore.state import title_of
from gui.explore.workspace import Workspace
from gui.style.metrics import GRID, HALF_GRID, follow, number_font, scaled_font
from gui.style.theme import current_theme, theme_notifier
from gui.widgets.labels import ElidedLabel
from gui.widgets.number_table import ValueTable, cell_number
from gui.widgets.panel_parts import (
    PANEL_MARGINS,
    NarrowBox,
    PlaceholderStack,
    boxed,
    column,
    fill_box,
    named,
    row,
    scrolled,
)


class ShownStep(NamedTuple):
    """A step with all that its result depends on."""

    step: AnyStep
    reads: tuple[PictureJob | None, ...]  # the jobs whose results it reads; None is the picture
    words: InChain
    alone: PictureJob | None  # what it would be on the picture; None where it makes one result of two


def shown_step(job: PictureJob, ran: Sequence[StepTime], device: str) -> ShownStep:
    """Return the step whose result a job's is, computed on a device; `ran` says which variants did it.

    What it reads is requested of the same variants, so that it has the same bits.
    """
    keys, needed = {one.id: one.variant for one in ran}, job.chain.needed(job.shown)
    steps = (
        one if one.kind == CombineStep.kind else replace(one, variant=keys.get(one.id, one.variant))
        for one in needed.steps
    )
    chain = replace(needed, steps=tuple(steps))
    step = chain.steps[-1]
    reads = tuple(
        None if id_ == PICTURE else replace(job, chain=chain.needed(id_), shown="", device=device)
        for id_ in step.inputs
    )
    names = tuple(_name(job.chain, id_) for id_ in step.inputs)
    alone: PictureJob | None = None
    if step.kind != CombineStep.kind:
        only = replace(job.chain, steps=(replace(step, input=""),))
        alone = replace(job, chain=only, shown="", device=device, result_type=step.result_type)
    return ShownStep(step, reads, InChain(_number(job.chain, step.id), names), alone)


def _number(chain: Chain, id_: str) -> str:
    return f"step {[step.id for step in chain.steps].index(id_) + 1}"


def _name(chain: Chain, id_: str) -> str:
    if id_ == PICTURE:
        return "the picture"
    step = next(step for step in chain.steps if step.id == id_)
    if isinstance(step, MaskStep):
        title = title_of(step.mask) or step.title
    else:
        words = step.title if isinstance(step, CombineStep) else step.operation.replace("-", " ")
        title = words.capitalize()
    return f"{_number(chain, id_)} ({title})"


_NO_PICTURE = "Open a picture. Then point at it: how a pixel of the result comes about is shown here."
_POINT = "Point at the picture: how that pixel of the result comes about is shown here. A click pins it."
_ON_A_SERVER = (
    "This step reads the result of another one, which the server does not keep: select a step that reads the "
    "picture itself, or compute on this computer."
)
_NO_RESULT = "There is no result of these settings yet."
_READING = "Reading the cells."
_ASKING = "Finding out in which order the kernel adds."
_NO_PATCH = "What is found of a patch from a file is shown in the panel Operation."


class LensState(Question):
    """What the panel shows, and which pixel it is of."""

    pinned_changed = Signal()

    def __init__(
        self, display: Display, workspace: Workspace, state: EngineState, link: EngineLink, view: PictureView
    ) -> None:
        super().__init__(state.filtered, workspace.job_changed)
        self._workspace, self._display, self._state = workspace, display, state
        self._view, self._canvas = view, view.canvas
        self._link, self._orders = link, Newest(link)
        self._order: tuple[SumOrderRequest, SumOrder] | None = None
        self._refused = ""
        self._inputs: dict[PictureJob, AskedValues] = {}  # the results that are read now
        self.pixel: tuple[int, int] | None = None
        self.is_pinned = False
        self.channel = 0
        self.seen: Lens | None = None
        self.words = _NO_PICTURE  # why nothing is seen; empty where something is
        workspace.picture_changed.connect(self._forget_pixel)
        state.ready_changed.connect(self._ask_again)
        view.values_arrived.connect(self.refresh)
        canvas = view.canvas
        canvas.pixel_hovered.connect(self.point)
        canvas.pixel_clicked.connect(self.pin)
        canvas.walked.connect(self.walk)
        canvas.let_go.connect(self.let_go)

    def watch(self, is_visible: bool) -> None:
        if is_visible != self.is_visible:
            self._keep_to(())
            super().watch(is_visible)
            # Also to take the frames away.
            self._timer.start()

    def point(self, pixel: tuple[int, int] | None) -> None:
        """Look at a pixel (row, column), unless one is pinned; beside the picture the last one stays."""
        if self.is_visible and not self.is_pinned and pixel is not None and pixel != self.pixel:
            self.pixel = pixel
            self._timer.start()

    def pin(self, pixel: tuple[int, int]) -> None:
        """Keep to a pixel; the one that is pinned lets go."""
        if self.is_pinned and pixel == self.pixel:
            self.let_go()
        elif self.is_visible:
            self.pixel = pixel
            self._set_pinned(True)
            self._canvas.setFocus()

    def let_go(self) -> None:
        """Follow the mouse again."""
        if self.is_pinned:
            self._set_pinned(False)

    def _set_pinned(self, is_pinned: bool) -> None:
        self.is_pinned = self._canvas.is_pinned = is_pinned
        self.pinned_changed.emit()
        self._timer.start()

    def walk(self, down: int, across: int) -> None:
        """Go on to a neighbour, at most to the edge of the picture."""
        values = self._view.values
        if self.pixel is not None and values is not None:
            rows, columns = values.shape[:2]
            row, column = self.pixel
            self.pixel = min(max(row + down, 0), rows - 1), min(max(column + across, 0), columns - 1)
            self._timer.start()

    def choose_channel(self, channel: int) -> None:
        self.channel = max(channel, 0)
        self.changed.emit()

    def _ask(self) -> None:
        if self.is_visible:
            self._look_or_wait()
        self._frame()

    def _look_or_wait(self) -> None:
        try:
            self.seen, self.words = self._look()
        except NotYet:
            if self.seen is not None:
                # That stays until the other pixel has come, a moment later.
                return
            self.words = _READING
        except EngineError as error:
            self.seen, self.words = None, str(error)
        self.changed.emit()

    def _look(self) -> tuple[Lens | None, str]:
        values, job, result = self._view.values, self._display.job, self._state.last_result
        if not is_chain(job):
            self._keep_to(())
        if self._workspace.picture is None or values is None:
            return None, _NO_PICTURE
        if self.pixel is None:
            return None, _POINT
        if job is None or (job.operation is None and (result is None or values.result is None)):
            return None, _NO_RESULT
        at = Looked(job, self.pixel, [values.original], values.result)
        if job.operation is not None or result is None:
            return self._look_alone(at)
        if is_chain(job):
            return self._look_at_step(at, result.device)
        return self._look_alone(at._replace(job=job.changed(variant=result.variant, device=result.device)))

    def _look_alone(self, at: Looked, *, reads_floats: bool = False) -> tuple[Lens | None, str]:
        if at.job.operation is not None:
            return (None, _NO_PATCH) if at.job.patch_path else (OperationLens(at), "")
        request = SumOrderRequest(at.job, reads_floats=reads_floats)
        if self._order is None or self._order[0] != request:
            self._ask_order(request)
            return None, self._refused or _ASKING
        return FilterLens(at, self._order[1]), ""

    def _look_at_step(self, at: Looked, device: str) -> tuple[Lens | None, str]:
        if self._link.is_remote:
            return None, _ON_A_SERVER
        shown = shown_step(at.job, self._display.shown_steps, device)
        self._keep_to([one for one in shown.reads if one is not None])
        (original,) = at.read
        read = [original if one is None else self._inputs[one] for one in shown.reads]
        at = at._replace(read=read, chain=shown.words)
        if shown.alone is not None:
            return self._look_alone(at._replace(job=shown.alone), reads_floats=shown.reads[0] is not None)
        assert isinstance(shown.step, CombineStep)
        return CombineLens(at, shown.step), ""

    def _keep_to(self, jobs: Iterable[PictureJob]) -> None:
        """Read the results of these jobs; the squares of others are dropped."""
        before, self._inputs = self._inputs, {}
        for job in jobs:
            if job in before:
                self._inputs[job] = before.pop(job)
            elif job not in self._inputs:
                screen = TiledScreen("", ((job.picture.height, job.picture.width),))
                self._inputs[job] = AskedValues(screen, job.picture.pixels.shape, self._link, job)
                self._inputs[job].updated.connect(self.refresh)
        for values in before.values():
            values.updated.disconnect(self.refresh)

    def _ask_order(self, request: SumOrderRequest) -> None:
        if self._orders.in_flight == request:
            return
        self._refused = ""

        def replied(order: SumOrder) -> None:
            self._order = request, order
            self._timer.start()

        self._orders.ask(request, replied, self._failed)

    def _failed(self, error: EngineError) -> None:
        self._refused = _ASKING if needs_no_message(error) else str(error)
        self.seen, self.words = None, self._refused
        self.changed.emit()

    def _ask_again(self) -> None:
        self._refused = ""
        # What another engine computes may have other bits.
        self._keep_to(())
        self.refresh()

    def _forget_pixel(self) -> None:
        self.pixel = self._order = None
        self._keep_to(())
        self.let_go()
        self._timer.start()

    def _frame(self) -> None:
        """Frame the window of the pixel, and the pixel, on the picture."""
        if not self.is_visible or self.pixel is None:
            self._canvas.set_frames(None, None)
            return
        (row, column), seen, (up, left), shape = self.pixel, self.seen, (0, 0), (1, 1)
        if isinstance(seen, FilterLens):
            (up, left), shape = seen.step.applied.anchor, seen.step.applied.shape
        elif isinstance(seen, OperationLens) and seen.cells is not None:
            up = left = seen.cells.shape[0] // 2
            shape = 2 * up + 1, 2 * up + 1
        window, pixel = Mark(row - up, column - left, *shape), Mark(row, column, 1, 1)
        self._canvas.set_frames(window, pixel if window != pixel else None)


def table_of(steps: Sequence[LensStep]) -> str:
    """Return a line for each step as rich text: its name, what it adds, the total so far."""
    quiet = f"style='color: {current_theme().muted}; white-space: pre'"
    lines = "".join(
        f"<tr><td {quiet}>{step.name}</td><td {quiet} align='right'>{step.adds}</td><td align='right' style="
        f"'font-weight: {700 if step.is_end or step.name.startswith(RESULT) else 400}'>{step.total}</td></tr>"
        for step in steps
    )
    table = f"<table width='100%' cellspacing='0' cellpadding='{HALF_GRID // 2}'>"
    return f"{table}{lines}</table>" if steps else ""


_TABLES = {PRODUCTS: "Products", CELLS: "Cells", WEIGHTS: "Weights"}
_TABLE_TIP = "What the table has: each cell of the window times its weight, the cells, or the weights."
_PINNED = "Pinned. Arrow keys walk; Esc or a click lets go."
_FOLLOWS = "Follows the mouse. A click pins it."
_MOST_ROWS = 7


class LensPanel(QWidget):
    """How the value of one pixel comes about."""

    def __init__(self, lens: LensState) -> None:
        super().__init__()
        self._lens = lens
        self.title = ElidedLabel(is_plain=True)
        self.channel = NarrowBox("Channel of the lens", "Whose sum is shown.", 6)
        self.table_choice = NarrowBox("Table of the lens", _TABLE_TIP, 7, _TABLES)
        self.hint, self.size_text = ElidedLabel(small=True), ElidedLabel()
        self.table = ValueTable("Window of the pixel", is_signed=True, most_rows=_MOST_ROWS)
        self.table.text = cell_number
        self.steps = named(QLabel(), "Steps from the cells to the screen")
        self.steps.setFont(number_font())
        # Beside the choice of the table its size stands in the middle.
        for label in (self.size_text, self.steps):
            label.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.border, self.order = (ElidedLabel(most=lines, small=True) for lines in (4, 7))
        self.verdict = QLabel()
        for label in (self.title, self.verdict):
            label.setFont(scaled_font(1.0, bold=True))
        head = row((self.title, 1), self.channel)
        head.setAlignment(self.title, Qt.AlignmentFlag.AlignVCenter)
        which = row(self.table_choice, (self.size_text, 1))
        parts = head, self.hint, which, self.table, self.steps, self.verdict, self.order, self.border, 1
        self.stack = PlaceholderStack(scrolled(boxed(column(*parts, spacing=HALF_GRID))))
        self.setLayout(column((self.stack, 1), margins=PANEL_MARGINS))
        self.channel.chosen.connect(lens.choose_channel)
        self.table_choice.chosen.connect(self._show)
        follow(self._show, lens.changed, lens.pinned_changed, theme_notifier().changed)

    def sizeHint(self) -> QSize:
        return QSize(35 * GRID, 50 * GRID)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._show_table()

    @property
    def shown_channel(self) -> int:
        """The channel that is shown: the chosen one, where the picture has it."""
        seen = self._lens.seen
        return 0 if seen is None else min(self._lens.channel, seen.channels - 1)

    def _show(self) -> None:
        lens, seen, channel = self._lens, self._lens.seen, self.shown_channel
        self.stack.say("" if seen is not None else lens.words)
        if seen is None:
            self.setAccessibleDescription(lens.words)
            return
        self.title.setText(place(seen.pixel))
        self.hint.setText(_PINNED if lens.is_pinned else _FOLLOWS)
        names = {at: channel_name(at, seen.channels).capitalize() for at in range(seen.channels)}
        fill_box(self.channel, names, channel)
        self.channel.setVisible(seen.channels > 1)
        self.table_choice.setVisible(bool(seen.border_words))
        self.size_text.setText(seen.heading)
        self.steps.setText(table_of(seen.steps(channel)))
        self.border.say(seen.border_words)
        self.order.setText(seen.words(channel))
        colour = current_theme().good if seen.is_equal else current_theme().muted
        self.verdict.setVisible(bool(seen.verdict))
        self.verdict.setText(f"<span style='color:{colour}'>= {seen.verdict}</span>")
        verdict = f"{seen.verdict}. " if seen.verdict else ""
        self.setAccessibleDescription(f"{seen.place}: {verdict}{self.order.text()}")
        self._show_table()

    def _show_table(self) -> None:
        """Show samples in grey with their white, unless some are negative; other values by their signs."""
        seen = self._lens.seen
        if seen is None:
            return
        shown = seen.table(self.table_choice.currentData(), self.shown_channel)
        if shown is None:
            self.table.show_values(None, 1.0)
            return
        values, hatched = shown.values, shown.hatched
        is_grey = shown.white is not None and not (values < 0).any()
        self.table.is_hatched = lambda r, c: hatched is not None and bool(hatched[r, c])
        self.table.is_signed, self.table.is_grey = not is_grey, is_grey
        largest = shown.white if is_grey else float(np.abs(values).max())
        self.table.show_values(values, largest or 1.0)
        self.table.framed = self.table.texts.index(*shown.framed)
        if len(values) > _MOST_ROWS:
            self.table.scrollTo(self.table.framed, self.table.ScrollHint.PositionAtCenter)
