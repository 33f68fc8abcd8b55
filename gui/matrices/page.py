"""Matrices: P = M N; the product left, the plot of tiles in the middle, the lecture right, results below."""

from dataclasses import replace
from functools import cached_property
from typing import Annotated, ClassVar

import msgspec
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QPushButton, QWidget

from engine.device_info import SIMULATOR_SIDE
from engine.results.metrics import Compared, metric
from engine.tasks.product.columns import variant_name
from engine.tasks.product.problem import LARGEST_TILE, SMALLEST_TILE, MatrixProduct, ProductResult, tile_of
from gui.matrices.matmul_state import LARGEST_SIDE, SMALL_SIDE, MatmulController, MatmulState
from gui.matrices.product_panel import LecturePanel, ProductPanel
from gui.page.contract import Intent, LoadKernel, PageStatus, Services
from gui.page.panels import Panel, PanelTabs, Share, Shares
from gui.page.runs_page import Change, VariantsPage, run_sentence
from gui.page.slot import Slot
from gui.runs.panel import RunsPanel
from gui.style.metrics import GRID, HALF_GRID
from gui.typed_json import Reading, Table
from gui.widgets.labels import ElidedLabel
from gui.widgets.panel_parts import column, row

_EMPTY = "The variants are listed here once the engine is ready, with what can be counted of each."
_TRY_SMALL = f"Try {SMALL_SIDE} × {SMALL_SIDE} in the simulator"

# What the page is about; the columns of the others are in the menu over the table.
_SHOWN = {"kernel_p20_ms": False, "kernel_p80_ms": False, "end_to_end_median_ms": False, "speed_up": False}
# All columns fit a window of 1280 pixels, with the reason that most machines show.
_TYPICAL = {"variant": "■  numpy (BLAS)", "proof": "verified, simulated"}
_Side = Annotated[int, msgspec.Meta(ge=1, le=LARGEST_SIDE)]
_Tile = Annotated[int, msgspec.Meta(ge=SMALLEST_TILE, le=LARGEST_TILE)]
# What a session keeps beside the runs.
_PART = {
    "product": tuple[_Side, _Side, _Side],
    "square": bool,
    "tiles": Annotated[list[_Tile], msgspec.Meta(min_length=1, max_length=LARGEST_TILE)],
    "device": str,
}
_SIDES = "rows", "inner", "columns"
# At first, with letters of the usual size.
_LEAST_LEFT, _LEAST_RIGHT = 36 * GRID, 39 * GRID


class MatmulResultsPanel(RunsPanel):
    """Every variant with every tile."""

    def __init__(self, matmul: MatmulState) -> None:
        super().__init__(matmul, _EMPTY, name="Products of matrices", shown=_SHOWN, typical=_TYPICAL)
        self._matmul = matmul
        self.reasons = ElidedLabel(small=True)
        self.try_small = QPushButton(_TRY_SMALL)
        self.try_small.setToolTip(
            "Run them in the simulator, which interprets the same kernels, to check them without a GPU. "
            f"It takes sides up to {SIMULATOR_SIDE}, and no times are shown."
        )
        # Empty, the reasons are hidden; the button stays on the right.
        line = row((self.reasons, 1), 0, self.try_small, self.more)
        self.setLayout(
            column(line, (self.stack, 1), spacing=HALF_GRID, margins=(GRID, HALF_GRID, GRID, GRID))
        )
        matmul.rows_changed.connect(self._refresh)
        matmul.running_changed.connect(self._refresh)
        self._refresh()

    def _refresh(self) -> None:
        rows = self._matmul.results()
        reasons = self._matmul.refusals
        self.reasons.setText(reasons)
        self.reasons.setVisible(bool(reasons))
        failures = [result.failure for result in rows if tile_of(result) is not None]
        none_runs = bool(failures) and all(failures)
        self.try_small.setVisible(none_runs and not self._matmul.running)


class MatricesPage(VariantsPage):
    """Its state, controller and panels. Built when it is first shown; the plot comes with `finish`."""

    title = "Matrices"
    sections: ClassVar = {"": "cli.md#matmul", "products": "measuring.md#the-durations"}

    def __init__(self, services: Services) -> None:
        super().__init__()
        state = services.state
        self.matmul = matmul = MatmulState()
        self.products = MatmulController(matmul, services.link, services.jobs, services.messages.on(self))
        self.show_state(services, matmul)
        product = PanelTabs(Panel("product", "Product", Slot(lambda: ProductPanel(matmul, state))))
        plot = Slot(self._made_plot, f"{__package__}.tile_plot")
        said = Slot(lambda: LecturePanel(matmul, state))
        lecture = PanelTabs(Panel("lecture", "What the lecture says", said))
        results = PanelTabs(Panel("products", "Results", Slot(lambda: self.results_panel)))
        upper = Shares(
            "upper",
            Qt.Orientation.Horizontal,
            Share(product, 0.22, _LEAST_LEFT),
            Share(plot, 0.54),
            Share(lecture, 0.24, _LEAST_RIGHT),
        )
        whole = Shares("page", Qt.Orientation.Vertical, Share(upper, 0.54), Share(results, 0.46))
        self.fill(whole, plot, product, lecture, results)

    @cached_property
    def results_panel(self) -> MatmulResultsPanel:
        """The table of products; made when it is first looked at, as the other panels are."""
        made = MatmulResultsPanel(self.matmul)
        made.try_small.clicked.connect(self._try_small)
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
        self.products.run_all()

    @property
    def export_stem(self) -> str:
        return f"product-{self.matmul.settings.product.size_text.replace(' × ', 'x')}"

    def own_part(self) -> Table:
        settings = self.matmul.settings
        sides = [getattr(settings.product, side) for side in _SIDES]
        parts = {"square": settings.square, "tiles": settings.tiles, "device": settings.device}
        return {"product": sides, **parts}

    def take_own_part(self, part: Table, reading: Reading) -> Change | None:
        fields = reading.fields(part, _PART)
        if "product" in fields:
            fields["product"] = MatrixProduct(*fields["product"])
        if "tiles" in fields:
            fields["tiles"] = tuple(sorted(set(fields["tiles"])))
        self.matmul.change(**fields)
        return None

    def take(self, intent: Intent) -> bool:
        if not (isinstance(intent, LoadKernel) and intent.kernel.is_product):
            return False
        self.products.load(intent.kernel)
        return True

    def _made_plot(self) -> QWidget:
        from gui.matrices.tile_plot import TilePlot

        return TilePlot(self.matmul)

    def _try_small(self) -> None:
        self.matmul.try_small()
        self.products.run_all()


build = MatricesPage
