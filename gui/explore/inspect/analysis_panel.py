"""The panel Analysis: frequency response and facts of the mask as applied, computed in another thread."""

import numpy as np
from PySide6.QtCore import QRectF
from PySide6.QtWidgets import QPushButton, QWidget

from engine.geometry.border import Border
from engine.mask.analysis import (
    Examination,
    FrequencyResponse,
    describe,
    describe_sum,
    examine,
    kept_in_a_corner,
    pixels_at_borders,
    reach,
)
from engine.mask.mask import Mask
from gui.explore.chain.chain_actions import split
from gui.explore.explain.question import Question
from gui.explore.workspace import Workspace
from gui.page.jobs import Background
from gui.style.metrics import EARLIER_OPACITY, GRID, HALF_GRID, follow
from gui.style.theme import HEAT, current_theme, theme_notifier
from gui.widgets.labels import Findings, NamedFinding
from gui.widgets.panel_parts import PANEL_MARGINS, boxed, column, folding_row, row, scrolled
from gui.widgets.plot import Plot, pg


class MaskAnalysis(Question):
    """The examination of the present mask, or of an earlier one while that is on its way."""

    def __init__(self, workspace: Workspace) -> None:
        changes = workspace.mask_changed, workspace.settings_changed, workspace.picture_changed
        super().__init__(*changes)
        self.workspace = workspace
        self.examination: Examination | None = None
        self._pending: Mask | None = None
        self._background = Background(self)

    @property
    def is_earlier(self) -> bool:
        """Whether what is shown is of an earlier mask."""
        shown = self.examination
        return shown is not None and shown.mask != self.workspace.step.applied_mask

    def split(self) -> None:
        """Replace the mask by two steps, the column and the row."""
        if self.examination is not None and (factors := self.examination.factors) is not None:
            self.workspace.edit(split(self.workspace.state, *factors), "Split into row and column")

    def _ask(self) -> None:
        mask = self.workspace.step.applied_mask
        if self.examination is not None and self.examination.mask == mask:
            self._pending = None
            self.changed.emit()
        elif mask != self._pending:
            self._pending = mask
            self.changed.emit()
            # The singular values of 63 x 63 cells take 2 to 190 ms, by load. Later edits wait behind.
            self._background.do(
                lambda: examine(mask) if mask is self._pending else None, self._take, lambda error: None
            )

    def _take(self, examination: Examination | None) -> None:
        if examination is not None and examination.mask is self._pending:
            self._pending, self.examination = None, examination
            self.changed.emit()


_TICKS = [(-0.5, "−½"), (-0.25, "−¼"), (0.0, "0"), (0.25, "¼"), (0.5, "½")]


class ResponsePlot(Plot):
    """Magnitudes over frequencies across and down, in cycles per pixel; 0 is in the middle."""

    def __init__(self) -> None:
        super().__init__()
        self.image = pg.ImageItem(axisOrder="row-major")
        colours = pg.ColorMap(np.linspace(0, 1, len(HEAT)), list(HEAT))
        self.image.setLookupTable(colours.getLookupTable(nPts=256))
        self.draw(self.image)
        # The word of the highest tick is whole.
        self.set_margins(GRID, GRID, GRID, HALF_GRID)
        self.box.setAspectLocked(True)
        self.box.invertY(True)
        self.box.setRange(QRectF(-0.5, -0.5, 1, 1), padding=0)
        for axis, label in zip(self.axes, ("down", "across"), strict=True):
            axis.setTicks([_TICKS])
            axis.setLabel(label)
            axis.setStyle(hideOverlappingLabels=False)
        self.setAccessibleName("Frequency response of the mask")
        self.setMinimumSize(19 * GRID, 17 * GRID)
        theme_notifier().changed.connect(self.colour)
        self.colour(current_theme())

    def show_response(self, response: FrequencyResponse, words: str, *, is_earlier: bool) -> None:
        """Draw a response; `words` say it to screen readers."""
        self.image.setImage(response.magnitude, levels=(0.0, response.largest or 1.0))
        # The first of the frequencies is -1/2; a cell is as wide as the step between two.
        step = 1 / len(response.magnitude)
        self.image.setRect(QRectF(-0.5 - step / 2, -0.5 - step / 2, 1, 1))
        self.image.setOpacity(EARLIER_OPACITY if is_earlier else 1.0)
        self.setAccessibleDescription(words)


_MOST_VALUES = 6
_LEAST_SHARE = 2.0**-24  # singular values below are 0 but for the rounding of the weights to float32


def findings(known: Examination, border: Border, shape: tuple[int, int, int] | None) -> list[NamedFinding]:
    """Return the findings about a mask on a picture of (height, width, channels), or on none."""
    mask = known.mask
    about_rank, _, about_turn, _ = describe(mask)
    total, facts = describe_sum(mask), known.facts
    separable = ", separable" if facts.separable else ", not separable"
    costs = {"direct": mask.taps}
    if known.factors is not None:
        costs["as column and row"] = sum(mask.shape)
    values = known.singular_values
    kept = [value for value in values if value > _LEAST_SHARE * values[0]] or [0.0]
    shown = [f"{value:.3g}" for value in kept[:_MOST_VALUES]]
    shown += [f"and {len(kept) - _MOST_VALUES} more"] * (len(kept) > _MOST_VALUES)
    rows = [
        NamedFinding("Gain", gain_text(known), _GAIN_TIP),
        NamedFinding("Sum", total.short.removeprefix("The weights add up to "), total.sentence),
        NamedFinding("Rank", f"{facts.rank}{separable}" if facts.rank else "0", about_rank.sentence),
        NamedFinding("Singular values", ", ".join(shown), _VALUES_TIP),
        NamedFinding("Symmetry", _symmetry_text(known), about_turn.sentence),
        NamedFinding("Multiply-adds", _cost_text(costs, 1), _COST_TIP),
    ]
    if shape is not None:
        height, width, channels = shape
        rows.append(NamedFinding("For the picture", _cost_text(costs, height * width * channels), _COST_TIP))
        rows.append(NamedFinding("At borders", _border_text(known, border, height, width), border.sentence))
    return rows


_GAIN_TIP = (
    "How strong stripes of a frequency are in the result: dark is 0, bright the most. Frequencies are in\n"
    "cycles per pixel: 0 is an even area, ½ the finest stripes there are, one pixel bright and one dark."
)
_VALUES_TIP = (
    "The mask is a sum of products of a column and a row, each as strong as its singular value.\n"
    "With one of them the mask is separable."
)
_COST_TIP = (
    "Multiply-adds of a kernel that takes every cell, and of two passes along columns and rows.\n"
    "Transforms and running sums do with fewer."
)


def gain_text(known: Examination) -> str:
    """Return the gain at frequency 0, and the strongest frequency, in one line."""
    response = known.response
    across, down = response.strongest
    is_zero = describe_sum(known.mask).short.endswith(" 0")
    at_zero = f"{'0' if is_zero else f'{response.gain_at_zero:.3g}'} at frequency 0"
    if across == down == 0.0:
        return f"{at_zero}, the largest"
    return f"{at_zero}; largest {response.largest:.3g} at {across:.2g} across, {down:.2g} down"


def _symmetry_text(known: Examination) -> str:
    if known.facts.is_point_symmetric:
        return "symmetric: a 180° turn changes nothing"
    if known.facts.is_point_antisymmetric:
        return "antisymmetric: a 180° turn flips the sign"
    return "none: a 180° turn makes another mask"


def _cost_text(costs: dict[str, int], times: int) -> str:
    return ", ".join(f"{_short(count * times)} {way}" for way, count in costs.items())


def _short(count: int) -> str:
    for size, name in ((10**9, "billion"), (10**6, "million")):
        if count >= size:
            return f"{count / size:.3g} {name}"
    return f"{count:,}"


def _border_text(known: Examination, border: Border, height: int, width: int) -> str:
    above, below, left, right = sides = reach(known.mask)
    if not any(sides):
        return "reads no cell outside the picture"
    pixels = pixels_at_borders(known.mask, height, width)
    share = f"{100 * pixels / (height * width):.2g} %"
    reached = f"reaches {above} up, {below} down, {left} left, {right} right"
    if len(set(sides)) == 1:
        reached = f"reaches {above} to each side"
    kept = kept_in_a_corner(known.mask, border)
    dark = f"; a corner keeps {100 * kept:.3g} % of an even area" if kept is not None else ""
    return f"{pixels:,} pixels ({share}) read {border.value} cells: it {reached}{dark}"


_SPLIT_TIP = (
    "Two steps in the place of this one: its column, and then its row with the result. Up to rounding "
    "and the border they give the same with fewer multiply-adds. It can be undone."
)
_NOT_SEPARABLE = "Only a separable mask is the product of one column and one row."
# With less width the facts stand below the picture.
_BESIDE_FROM = 48 * GRID
_LINES = 4


class AnalysisPanel(QWidget):
    """Shows the examination of the mask. It is made when it is first visible, for its plot."""

    def __init__(self, analysis: MaskAnalysis) -> None:
        super().__init__(accessibleName="Mask analysis")
        self._analysis = analysis
        self.plot = ResponsePlot()
        self.split_button = QPushButton("Split into two steps")
        self.findings = Findings("What is known of the mask", _LINES, HALF_GRID)
        facts = boxed(column(row(self.split_button, 1), self.findings, 1))
        # Scrolled alone, so that the picture stays in view.
        halves = folding_row((self.plot, 2), (scrolled(facts), 3), spacing=2 * GRID, beside_from=_BESIDE_FROM)
        self.setLayout(column(halves, margins=PANEL_MARGINS))
        self.split_button.clicked.connect(analysis.split)
        follow(self._show, analysis.changed)

    def _show(self) -> None:
        known, workspace = self._analysis.examination, self._analysis.workspace
        self.split_button.setEnabled(known is not None and known.factors is not None)
        self.split_button.setToolTip(_SPLIT_TIP if self.split_button.isEnabled() else _NOT_SEPARABLE)
        if known is None:
            return
        picture = workspace.picture
        shape = (picture.height, picture.width, picture.channels) if picture is not None else None
        self.findings.show_findings(findings(known, workspace.settings.border, shape))
        self.findings.setEnabled(not self._analysis.is_earlier)
        self.plot.show_response(known.response, gain_text(known), is_earlier=self._analysis.is_earlier)
