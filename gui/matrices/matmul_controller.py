"""Products of matrices: counted whenever something changes, run cell by cell on request."""

from dataclasses import replace

from PySide6.QtCore import QObject

from engine.course.paper import Configuration
from engine.errors import EngineError
from engine.host.verbs import Describe, Run
from engine.tasks.product.columns import variant_name
from engine.tasks.product.messages import ProductGrid, ProductRequest
from engine.tasks.product.results import ProductResult, tile_of
from gui.engine_link.engine_link import EngineLink, needs_no_message
from gui.engine_link.newest import Newest
from gui.matrices.matmul_state import MatmulState
from gui.page.jobs import Job, JobQueue
from gui.page.messages import Message, PageMessages, Severity

SOURCE = "products"


class MatmulController(QObject):
    """Counts and runs the products of the page Matrices."""

    def __init__(self, matmul: MatmulState, link: EngineLink, jobs: JobQueue, messages: PageMessages) -> None:
        super().__init__()
        self._matmul = matmul
        self._counts = Newest(link)
        self._jobs = jobs
        self._messages = messages
        self._was_shown = False
        matmul.shown.connect(self._shown)
        matmul.settings_changed.connect(self._settings_changed)
        # A lost host does not reply; its successor gets the request again.
        link.ready.connect(self._count)

    def run(self) -> None:
        """Run all possible cells one after the other, after counting them for these settings."""
        if not self._matmul.settle():
            return

        def counted(rows: tuple[ProductResult, ...]) -> None:
            self._matmul.set_counted(rows)
            self._jobs.add(map(self._run_of, self._matmul.runnable))

        count = Job("Counting what can run here", self._count_request(), counted, is_counted=False)
        if self._jobs.begin(SOURCE, [count], self._messages, lambda: self._matmul.set_running(False)):
            self._matmul.set_running(True)

    def load(self, here: Configuration) -> None:
        """Show a paper's kernel: its tile alone, its rows marked. A product that is being run stays."""
        if self._matmul.running:
            what, why = f"{here.variant} was not loaded", "the settings stay as they are during a run"
            remedy = "Load it again when the run is over, or press Esc."
            self._messages.show(Message(SOURCE, Severity.WARNING, what, why, remedy))
        elif here.block is not None:
            self._matmul.load(here.variant, here.block.x)

    def _shown(self) -> None:
        self._was_shown = True
        self._count()

    def _settings_changed(self) -> None:
        self._messages.clear(SOURCE)
        self._count()

    def _count_request(self) -> Describe[ProductGrid]:
        settings = self._matmul.settings
        return Describe(ProductGrid(settings.product, settings.tiles, settings.device))

    def _count(self) -> None:
        """Request the counts."""

        def failed(error: EngineError) -> None:
            if not needs_no_message(error):
                self._messages.show_error(SOURCE, error)

        if self._was_shown:
            self._counts.ask(self._count_request(), self._matmul.set_counted, failed)

    def _run_of(self, cell: ProductResult) -> Job:
        # NumPy runs on the CPU, in the real host, whatever device is chosen.
        device = "auto" if tile_of(cell) is None else self._matmul.settings.device
        name = variant_name(cell)
        return Job(
            f"{name}, tile {tile_of(cell)}" if tile_of(cell) else name,
            Run(ProductRequest(cell.problem, cell.variant, tile_of(cell), device)),
            self._matmul.add,
            lambda error: self._matmul.add(replace(cell, failure=error.failure)),
        )
