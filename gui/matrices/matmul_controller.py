"""Products of matrices: counted whenever something changes, run cell by cell on request."""

from dataclasses import replace

from engine.course.paper import CourseKernel
from engine.host.request import Run
from engine.tasks.product.columns import variant_name
from engine.tasks.product.messages import ProductGrid, ProductRequest
from engine.tasks.product.problem import ProductResult, tile_of
from gui.matrices.matmul_state import MatmulState
from gui.page.jobs import Job
from gui.page.runs_controller import RunsController


class MatmulController(RunsController[MatmulState]):
    """Counts and runs the products of the page Matrices."""

    source = "products"
    looking = "Counting what can run here"

    def _load(self, kernel: CourseKernel) -> None:
        # Its tile alone, its rows marked.
        if kernel.block is not None:
            self._runs.load(kernel.variant, kernel.block.x)

    def _list_request(self) -> ProductGrid:
        settings = self._runs.settings
        return ProductGrid(settings.product, settings.tiles, settings.device)

    def _run_of(self, cell: ProductResult) -> Job:
        # NumPy runs on the CPU, in the real host, whatever device is chosen.
        device = "auto" if tile_of(cell) is None else self._runs.settings.device
        name = variant_name(cell)
        return Job(
            f"{name}, tile {tile_of(cell)}" if tile_of(cell) else name,
            Run(ProductRequest(cell.problem, cell.variant, tile_of(cell), device)),
            self._runs.add,
            lambda error: self._runs.add(replace(cell, failure=error.failure)),
        )
