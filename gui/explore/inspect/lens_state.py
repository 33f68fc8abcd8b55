"""Which pixel the lens looks at, and what it sees there: it follows the mouse until a click pins it.

The window reads the few cells itself, from the memory that picture and result share with the engine; what is
not there is asked for, such as the result that a step of a chain reads. In which order the kernel adds is
asked once for each kernel and mask.
"""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from msgspec.structs import replace
from PySide6.QtCore import Signal

from engine.errors import EngineError
from engine.host.protocol import TiledScreen
from engine.results.measurement import StepTime
from engine.results.problem import Mark
from engine.work.filtering.sum_order import SumOrder
from engine.work.messages import PictureJob, SumOrderRequest
from engine.work.steps import PICTURE, AnyStep, Chain, CombineStep, MaskStep
from gui.engine_link.engine_link import EngineLink, Newest, needs_no_message
from gui.engine_link.engine_state import EngineState
from gui.explore.explain.question import Question
from gui.explore.inspect.lens import CombineLens, FilterLens, InChain, Lens, Looked, OperationLens
from gui.explore.jobs import is_chain
from gui.explore.picture.picture_view import PictureView
from gui.explore.picture.tiled import AskedValues, NotYet
from gui.explore.preview_controller import Display
from gui.explore.state import title_of
from gui.explore.workspace import Workspace


class ShownStep(NamedTuple):
    """A step with all that its result depends on."""

    step: AnyStep
    reads: tuple[PictureJob | None, ...]  # the jobs whose results it reads; None is the picture
    words: InChain
    alone: PictureJob | None  # what it would be on the picture; None where it makes one result of two


def shown_step(job: PictureJob, ran: Sequence[StepTime], device: str) -> ShownStep:
    """Return the step whose result a job's is, computed on a device; `ran` says which variants did it.

    What it reads is asked for by the same variants, so that it has the same bits.
    """
    keys = {one.id: one.variant for one in ran}
    needed = job.chain.needed(job.shown)
    chain = replace(
        needed,
        steps=tuple(
            one if one.kind == CombineStep.kind else replace(one, variant=keys.get(one.id, one.variant))
            for one in needed.steps
        ),
    )
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
    step: Any = next(step for step in chain.steps if step.id == id_)
    if step.kind == MaskStep.kind:
        title = title_of(step.mask) or step.title
    else:
        title = step.title if step.kind == CombineStep.kind else step.operation.replace("-", " ")
        title = title.capitalize()
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
        self._orders = Newest(link)
        self._order: tuple[SumOrderRequest, SumOrder] | None = None
        self._refused = ""
        # The results that are read now.
        self._inputs: dict[PictureJob, AskedValues] = {}
        self._step: tuple[PictureJob, tuple[StepTime, ...], ShownStep] | None = None
        self._link = link
        self.pixel: tuple[int, int] | None = None
        self.is_pinned = False
        self.channel = 0
        self.seen: Lens | None = None
        self.words = _NO_PICTURE
        """Why nothing is seen; empty where something is."""
        workspace.picture_changed.connect(self._forget_pixel)
        state.ready_changed.connect(self._ask_again)
        view.values_arrived.connect(self.refresh)
        canvas = self._canvas
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
        if not self.is_visible:
            return
        if self.is_pinned and pixel == self.pixel:
            self.let_go()
            return
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
        """Show the sum of another channel."""
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
        """Look at the result of a mask or of an operation."""
        if at.job.operation is not None:
            return (None, _NO_PATCH) if at.job.patch_path else (OperationLens(at), "")
        asked = SumOrderRequest(at.job, reads_floats=reads_floats)
        if self._order is None or self._order[0] != asked:
            self._ask_order(asked)
            return None, self._refused or _ASKING
        return FilterLens(at, self._order[1]), ""

    def _look_at_step(self, at: Looked, device: str) -> tuple[Lens | None, str]:
        if self._link.is_remote:
            return None, _ON_A_SERVER
        ran = self._display.shown_steps
        if self._step is None or self._step[0] is not at.job or self._step[1] is not ran:
            self._step = at.job, ran, shown_step(at.job, ran, device)
        shown = self._step[2]
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
        self.pixel, self._order, self._step = None, None, None
        self._keep_to(())
        self.let_go()
        self._timer.start()

    def _frame(self) -> None:
        """Frame the window of the pixel, and the pixel, on the picture."""
        if not self.is_visible or self.pixel is None:
            self._canvas.set_frames(None, None)
            return
        (row, column), seen = self.pixel, self.seen
        pixel = Mark(row, column, 1, 1)
        if isinstance(seen, FilterLens):
            (up, left), mask = seen.step.applied.anchor, seen.step.applied
            window = Mark(row - up, column - left, mask.rows, mask.columns)
        elif isinstance(seen, OperationLens) and seen.cells is not None:
            half = seen.cells.shape[0] // 2
            window = Mark(row - half, column - half, 2 * half + 1, 2 * half + 1)
        else:
            window = pixel
        self._canvas.set_frames(window, pixel if window != pixel else None)
