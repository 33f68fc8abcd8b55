"""Products of matrices: counted whenever something changes, run cell by cell when the person says so."""

from collections import deque
from dataclasses import replace

from PySide6.QtCore import QObject, Signal

from engine.course.paper import Configuration
from engine.errors import Cancelled, EngineError, HostLost
from engine.host.matmul_requests import CountMatmul, RunMatmul
from engine.results.columns import variant_name
from engine.results.measurement import ProductResult
from gui.engine_link.engine_link import Ask, EngineLink, is_told_by_the_link
from gui.engine_link.engine_state import EngineState
from gui.matrices.matmul_state import LoadedProduct, MatmulState
from gui.page.messages import Message, Messages, Severity

SOURCE = "matrices"


class MatmulController(QObject):
    """Does what the page Matrices asks for.

    Signals
    -------
    finished()
        The last cell of a run is over (also when it failed or was stopped).
    """

    finished = Signal()

    def __init__(
        self,
        matmul: MatmulState,
        state: EngineState,
        link: EngineLink,
        messages: Messages,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._matmul = matmul
        self._state = state
        self._link = link
        self._messages = messages
        self._is_looked_at = False
        self._counting: CountMatmul | None = None
        self._is_waiting_for_count = False
        self._queue: deque[ProductResult] = deque()
        self._planned = 0
        self._current: Ask | None = None
        matmul.count_wanted.connect(self._look)
        matmul.settings_changed.connect(self._settings_changed)
        # A host that was lost took the question along; its successor is asked again.
        link.ready.connect(self._count)

    def run(self) -> None:
        """Run every cell that can run here, one after the other; what changed just now is counted before."""
        if self._state.running or not self._matmul.settle():
            return
        if self._counting is None and not self._matmul.runnable:
            return
        self._messages.clear(SOURCE)
        self._state.set_running(True)
        self._matmul.set_running(True)
        if self._counting is None:
            self._begin()
        else:
            self._is_waiting_for_count = True
            self._state.set_task(SOURCE, "counting what can run here")

    def cancel(self) -> None:
        """Stop the cell that goes on and those that wait; results that are finished stay."""
        if self._is_waiting_for_count:
            self._finish()
        elif self._current is not None:
            self._queue.clear()
            self._state.set_running(True, cancelling=True)
            self._link.cancel(self._current)

    def load(self, here: Configuration) -> None:
        """Take over a course paper's kernel: its tile alone, its rows marked. A product that is being run stays."""
        if self._matmul.running:
            self._messages.show(
                Message(
                    SOURCE,
                    Severity.WARNING,
                    f"{here.variant} was not loaded",
                    "a run goes on, and its settings stay as they are meanwhile",
                    "Load it again when the run is over, or press Esc.",
                )
            )
        elif here.block is not None:
            self._matmul.load(LoadedProduct(here.variant, here.block.x))

    def _look(self) -> None:
        self._is_looked_at = True
        self._count()

    def _settings_changed(self) -> None:
        self._messages.clear(SOURCE)
        if self._is_looked_at:
            self._count()

    def _count(self) -> None:
        """Ask for what can be counted; only the answer to the newest question is taken."""
        if not self._is_looked_at:
            return
        settings = self._matmul.settings
        request = self._counting = CountMatmul(settings.product, settings.tiles, settings.device)

        def replied(rows: tuple[ProductResult, ...]) -> None:
            if self._counting is request:
                self._counting = None
                self._matmul.set_counted(rows)
                if self._is_waiting_for_count:
                    self._begin()

        def failed(error: EngineError) -> None:
            if self._counting is not request:
                return
            self._counting = None
            if not (isinstance(error, Cancelled) or is_told_by_the_link(error)):
                self._messages.show_error(SOURCE, error)
            if self._is_waiting_for_count:
                self._finish()

        self._link.ask(Ask(request, replied, failed))

    def _begin(self) -> None:
        self._is_waiting_for_count = False
        self._queue.extend(self._matmul.runnable)
        self._planned = len(self._queue)
        self._next()

    def _next(self) -> None:
        if not self._queue:
            self._finish()
            return
        cell = self._queue.popleft()
        number = self._planned - len(self._queue)
        tile = f", tile {cell.tile}" if cell.tile else ""
        prefix = f"{variant_name(cell)}{tile} ({number} of {self._planned}): "

        def tell(stage: str, fraction: float = 0.0) -> None:
            self._state.set_task(SOURCE, prefix + stage, (number - 1 + fraction) / self._planned)

        tell("waiting for the engine")
        # NumPy runs on the CPU, in the real host, whatever device is chosen.
        device = "auto" if cell.tile is None else self._matmul.settings.device
        request = RunMatmul(cell.problem, cell.variant, cell.tile, device)
        self._current = self._link.ask(
            Ask(
                request,
                self._replied,
                lambda error: self._failed(request, cell, error),
                lambda step: tell(step.stage, step.fraction),
            )
        )

    def _replied(self, result: ProductResult) -> None:
        self._matmul.add(result)
        self._next()

    def _failed(self, request: RunMatmul, cell: ProductResult, error: EngineError) -> None:
        if isinstance(error, Cancelled):
            self._queue.clear()
        else:
            self._matmul.add(replace(cell, failure=str(error)))
            # That the host was lost is told once, by the link's message; of the simulator's the link says nothing.
            if not isinstance(error, HostLost) or request.wants_simulator:
                self._messages.show_error(SOURCE, error)
        self._next()

    def _finish(self) -> None:
        self._current = None
        self._is_waiting_for_count = False
        self._queue.clear()
        self._state.end_task(SOURCE)
        self._state.set_running(False)
        self._matmul.set_running(False)
        self.finished.emit()
