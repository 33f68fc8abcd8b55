"""Matrices: P = M N; the product left, the plot of tiles in the middle, the lecture right, results below."""

from dataclasses import replace
from functools import cached_property
from typing import ClassVar

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QPushButton, QWidget

from engine.course.paper import CourseKernel
from engine.device_info import AUTO, SIMULATOR_SIDE
from engine.host.request import Run
from engine.results.metrics import Compared, metric
from engine.tasks.product.problem import (
    MatrixProduct,
    ProductGrid,
    ProductRequest,
    ProductResult,
    tile_of,
    variant_name,
)
from gui.matrices.product import SMALL_SIDE, LecturePanel, MatmulState, ProductPanel, limit_words, tile_figure
from gui.page.contract import PageStatus, Services
from gui.page.jobs import RequestedRun
from gui.page.panels import Panel, PanelTabs, Share, Shares
from gui.page.runs_page import VariantsPage, run_sentence
from gui.page.slot import Slot
from gui.runs.table import RunsPanel, RunsTable
from gui.style.metrics import GRID, HALF_GRID, at_present_letters, follow
from gui.widgets.labels import ElidedLabel
from gui.widgets.panel_parts import column, row

_EMPTY = "The variants are listed here once the engine is ready, with what can be counted of each."
_NO_PLOT = (
    "GFLOPS of each variant over the side of its tile.\n"
    "Choose sizes and tiles, then press Multiply matrices (F5)."
)
_TRY_SMALL = f"Try {SMALL_SIDE} × {SMALL_SIDE} in the simulator"

# What the page is about; the columns of the others are in the menu over the table.
_SHOWN = {"kernel_p20_ms": False, "kernel_p80_ms": False, "end_to_end_median_ms": False, "speed_up": False}
# All columns fit a window of 1280 pixels, with the reason that most machines show.
_TYPICAL = {"variant": "■  numpy (BLAS)", "proof": "verified, simulated"}
# At first, with letters of the usual size.
_LEAST_LEFT, _LEAST_RIGHT, _MOST_RIGHT = 36 * GRID, 39 * GRID, 45 * GRID


class MatmulResultsPanel(RunsPanel):
    """Every variant with every tile."""

    def __init__(self, matmul: MatmulState) -> None:
        super().__init__(matmul, RunsTable(matmul, "Products of matrices", _SHOWN, _TYPICAL), _EMPTY)
        self._matmul = matmul
        self.reasons = ElidedLabel(small=True)
        self.try_small = QPushButton(_TRY_SMALL)
        self.try_small.setToolTip(
            "Run them in the simulator, which interprets the same kernels, to check them without a GPU. "
            f"It takes sides up to {SIMULATOR_SIDE}, and no times are shown."
        )
        # Empty, the reasons are hidden; the button stays on the right.
        line = row((self.reasons, 1), 0, self.try_small, self.more)
        margins = GRID, HALF_GRID, GRID, GRID
        self.setLayout(column(line, (self.stack, 1), spacing=HALF_GRID, margins=margins))
        follow(self._refresh, matmul.rows_changed, matmul.running_changed)

    def _refresh(self) -> None:
        self.reasons.say(self._matmul.refusals)
        failures = [row.failure for row in self._matmul.results() if tile_of(row) is not None]
        self.try_small.setVisible(bool(failures) and all(failures) and not self._matmul.running)


class MatricesPage(VariantsPage):
    """Counts and runs products. Built when it is first shown; the plot comes with `finish`."""

    title, source, looking = "Matrices", "products", "Counting what can run here"
    sections: ClassVar = {"": "cli.md#matmul", "products": "measuring.md#the-durations"}

    def __init__(self, services: Services) -> None:
        self.matmul = matmul = MatmulState()
        super().__init__(services, matmul)
        state = services.state
        product = PanelTabs(Panel("product", "Product", Slot(lambda: ProductPanel(matmul, state))))
        plot = Slot(self._made_plot, "gui.widgets.plot")
        words = Slot(lambda: LecturePanel(matmul, state))
        lecture = PanelTabs(Panel("lecture", "What the lecture says", words))
        results = PanelTabs(Panel("products", "Results", Slot(lambda: self.results_panel)))
        # With large letters the words of the lecture wrap, and the plot has the room.
        right = Share(lecture, 0.24, lambda: min(at_present_letters(_LEAST_RIGHT), _MOST_RIGHT))
        areas = Share(product, 0.22, _LEAST_LEFT), Share(plot, 0.54), right
        upper = Shares("upper", Qt.Orientation.Horizontal, *areas)
        whole = Shares("page", Qt.Orientation.Vertical, Share(upper, 0.54), Share(results, 0.46))
        self.fill(whole, plot, product, lecture, results)

    @cached_property
    def results_panel(self) -> MatmulResultsPanel:
        """The table of products; made when it is first visible, as the other panels are."""
        made = MatmulResultsPanel(self.matmul)
        made.try_small.clicked.connect(self.matmul.try_small)
        made.try_small.clicked.connect(self.run_all)
        self.take_panel(made)
        return made

    @property
    def status(self) -> PageStatus:
        return replace(
            super().status,
            caption=f"P = M N, {self.matmul.settings.product.size_text}",
            run_does="Verifies and times every matrix kernel at each selected tile size.",
        )

    def words_of(self, last: ProductResult) -> str:
        tile = f", tile {tile_of(last)}" if tile_of(last) else ""
        rate = metric("gflops", MatrixProduct).words(Compared(last))
        what = f"Last product: {variant_name(last)}{tile}, {last.problem.size_text}"
        return run_sentence(what, last, rate)

    def run(self) -> None:
        self.run_all()

    def list_request(self) -> ProductGrid:
        settings = self.matmul.settings
        return ProductGrid(settings.product, settings.tiles, settings.device)

    def job_of(self, variant: ProductResult) -> RequestedRun:
        tile, name = tile_of(variant), variant_name(variant)
        # NumPy runs on the CPU, in the real host, whatever device is chosen.
        device = AUTO if tile is None else self.matmul.settings.device
        request = Run(ProductRequest(variant.problem, variant.variant, tile, device))
        add, title = self.matmul.add, f"{name}, tile {tile}" if tile else name
        return RequestedRun(title, request, add, lambda error: add(replace(variant, failure=error.failure)))

    def load(self, kernel: CourseKernel) -> None:
        # Its tile alone, its rows marked.
        if kernel.block is not None:
            self.matmul.load(kernel.variant, kernel.block.x)

    @property
    def export_stem(self) -> str:
        return f"product-{self.matmul.settings.product.size_text.replace(' × ', 'x')}"

    def _made_plot(self) -> QWidget:
        from gui.widgets.plot import FigurePlot

        plot = FigurePlot(_NO_PLOT)
        plot.setObjectName("tile plot")

        def show() -> None:
            rows = self.matmul.results()
            plot.show_figure(tile_figure(rows) if rows else None, limit_words(rows))

        follow(show, self.matmul.rows_changed)
        return plot


build = MatricesPage
