"""The panel Ablation: a waterfall of what each cost of the kernel takes, run on a click and never before."""

import math
from collections.abc import Sequence

from msgspec import structs
from PySide6.QtCore import Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QPushButton, QWidget

from engine.device_info import SIMULATOR
from engine.explain.ablation_results import (
    INSTEAD,
    ON_PURPOSE,
    OVERLAPPING,
    Ablation,
    Cost,
    CostStep,
    amount_and_share,
    amount_text,
    most_sentence,
)
from engine.explain.messages import AblationJob
from engine.host.request import Run
from engine.results.text_forms import rate_text, tick_text
from engine.work.messages import PictureJob
from gui.explore.explain.question import Question
from gui.explore.explain.selection import Selection
from gui.page.jobs import JobQueue, RequestedRun
from gui.page.messages import PageMessages
from gui.style.metrics import GRID, HALF_GRID, follow
from gui.style.theme import current_theme, series_for, theme_notifier
from gui.widgets.charts import Bar, BarChart, BarRow
from gui.widgets.labels import ElidedLabel
from gui.widgets.panel_parts import PANEL_MARGINS, PlaceholderStack, boxed, column, folding_row, row, scrolled

SOURCE = "ablation"
BUDGET_S = 0.3
"""For the samples of the kernel and of each altered one, seconds: they take 3 s together."""
_NO_FILTER = "Ablations are of convolutions only.\nChoose Convolution under Operation."
_NO_PICTURE = "Open a picture: what each cost of the chosen kernel takes is found on it."
_NO_ENGINE = "The engine is not up yet."
_ON_CPU = (
    "The costs are those of CUDA kernels, and {} runs on the CPU.\n"
    "Select a CUDA kernel in the list of kernels."
)
_INVITATION = (
    "What each cost of the kernel takes: border test, loads, stores, barrier.\n"
    "Each is taken out of the kernel's own source, and {}. Press Run ablation."
)


class AblationState(Question):
    """The ablation of the selected kernel, and that of the one that it is compared with."""

    def __init__(self, selection: Selection, jobs: JobQueue, messages: PageMessages) -> None:
        super().__init__(selection.changed, selection.state.running_changed)
        self.selection, self._state = selection, selection.state
        self._jobs, self._messages = jobs, messages
        self._ablations: dict[AblationJob | None, Ablation] = {}

    @property
    def ablation(self) -> Ablation | None:
        """That of the selected kernel on this picture with this mask; None before it ran."""
        return self._ablations.get(self._job(self.selection.job))

    @property
    def other(self) -> Ablation | None:
        """The same of the kernel that it is compared with."""
        return self._ablations.get(self._job(self.selection.other_job))

    @property
    def times(self) -> bool:
        """Whether a device is there that gives times."""
        job = self.selection.job
        is_simulated = job is not None and job.device == SIMULATOR
        return not is_simulated and self._state.has_gpu

    @property
    def words(self) -> str:
        """What stands in the place of a chart; empty where there is one."""
        if self.ablation is not None:
            return "" if next(self.ablation.steps(), None) is not None else self.ablation.reason
        done = "what is left is timed" if self.times else "the instructions that are left are counted"
        return self.why_not or _INVITATION.format(done)

    @property
    def not_compared(self) -> str:
        """Why the kernel to compare with has no bars beside the others; empty for none, and where it has."""
        other = self.selection.other
        if other is None or (self.other is not None and next(self.other.steps(), None) is not None):
            return ""
        if other.kind != "cuda":
            return f"{other.key} runs on the CPU: it has none of these costs."
        return self.other.reason if self.other is not None else f"Run ablation: it runs {other.key} too."

    @property
    def why_not(self) -> str:
        """Why nothing can be run for the selected kernel; empty if it can."""
        why_not = self.selection.why_not(_NO_ENGINE, _NO_FILTER, _NO_PICTURE)
        job = self.selection.job
        known = self._state.variant(job.variant) if job else None
        if why_not or known is None or known.kind == "cuda":
            return why_not
        return _ON_CPU.format(known.key)

    @property
    def why_not_now(self) -> str:
        """Why the button does nothing now; empty if it does."""
        return self.why_not or self._state.why_no_run

    def run(self) -> None:
        """Run the kernel and the altered ones, and those of the kernel to compare with."""
        if self.why_not_now:
            return
        other = self.selection.other
        jobs = self.selection.job, self.selection.other_job if other and other.kind == "cuda" else None
        ablation_jobs = [made for job in jobs if (made := self._job(job)) is not None]
        self._jobs.begin(SOURCE, map(self._run_of, ablation_jobs), self._messages)

    def _run_of(self, job: AblationJob) -> RequestedRun:
        def replied(ablation: Ablation) -> None:
            self._ablations[job] = ablation
            self.changed.emit()

        known = self._state.variant(job.variant)
        title = f"Ablation of {known.title if known else job.variant}"
        return RequestedRun(title, Run(job, BUDGET_S), replied)

    @staticmethod
    def _job(job: PictureJob | None) -> AblationJob | None:
        if job is None:
            return None
        # How a result is shown does not matter: none is.
        plain = structs.replace(job, chain=structs.replace(job.chain, range="clip"))
        return AblationJob(**structs.asdict(plain))

    def _ask(self) -> None:
        # Nothing runs before a click.
        self.changed.emit()


_MOST_TICKS = 3
_LEFT = "What is left when each saving is taken off: the arithmetic, and what costs hide of one another."
_WHOLE, _REST = -1, len(Cost)  # places of the whole kernel and of the rest around those of the costs


def waterfall_rows(*ablations: Ablation) -> list[BarRow]:
    """Return a row for each step; those of a second kernel stand below the first one's, with marks."""
    low, high = _extent(ablations)
    steps = [(one, step) for one in ablations for step in one.steps()]
    rows = []
    for one, step in sorted(steps, key=lambda of: _place(of[1])):
        begin, end = ((at - low) / (high - low) for at in sorted((step.begin, step.end)))
        bar, series = Bar(begin, end, _colour(one, step), words=_words(one, step)), series_for(one.variant)
        glyph = (series.glyph, series.colour) if len(ablations) > 1 else ("", "")
        is_second, is_strong = one is not ablations[0], _place(step) in (_WHOLE, _REST)
        rows.append(BarRow(step.name, (bar,), amount_and_share(one, step), glyph, is_second, is_strong))
    return rows


def waterfall_ticks(*ablations: Ablation) -> list[tuple[float, str]]:
    """Return round values below the bars, as shares of their width, with their words."""
    low, high = _extent(ablations)
    raw, is_timed = (high - low) / _MOST_TICKS, ablations[0].is_timed
    magnitude = 10.0 ** math.floor(math.log10(raw))
    pace = next(factor * magnitude for factor in (1.0, 2.0, 5.0, 10.0) if factor * magnitude >= raw)
    return [
        ((value - low) / (high - low), tick_text(value) if value and is_timed else rate_text(value))
        for value in (number * pace for number in range(math.floor(high / pace) + 1))
    ]


def difference_sentence(ablation: Ablation, other: Ablation) -> str:
    """Say which cost differs most between two kernels."""
    own = {step.name: step.amount for step in ablation.steps()}
    whole, *costs, _rest = other.steps()
    unit = "" if other.is_timed else " instructions for a tap"
    takes = f"{other.variant} takes {amount_text(other, whole.amount)}{unit}"
    shared = [step for step in costs if step.name in own]
    if not shared:
        return f"{takes}."
    most = max(shared, key=lambda step: abs(step.amount - own[step.name]))
    amounts = amount_text(other, most.amount), amount_text(ablation, own[most.name])
    return f"{takes}; the {most.name} differs most: {' instead of '.join(amounts)}."


def _place(step: CostStep) -> int:
    if step.altered is None:
        return _REST
    return _WHOLE if step.altered.cost is None else list(Cost).index(step.altered.cost)


def _extent(ablations: Sequence[Ablation]) -> tuple[float, float]:
    ends = [end for one in ablations for step in one.steps() for end in (step.begin, step.end)]
    return min(0.0, *ends), max(ends)


def _colour(ablation: Ablation, step: CostStep) -> str:
    theme = current_theme()
    if step.altered is None:
        return theme.outline
    if step.altered.cost is None:
        return series_for(ablation.variant).colour
    return theme.warning if step.amount < 0 else theme.accent


def _words(ablation: Ablation, step: CostStep) -> str:
    """Return what a bar is: what stands in the place of a cost, and how long the kernel takes without it."""
    altered = step.altered
    if altered is None:
        return _LEFT
    amount = altered.amount
    text = amount_text(ablation, amount or 0.0)
    samples = f", the median of {len(altered.kernel.samples_ms)} samples" if altered.kernel else ""
    unit = "" if ablation.is_timed else " instructions for a tap"
    if altered.cost is None:
        return f"The kernel as it is: {text}{unit}{samples}."
    return f"Without {altered.cost.words}: {text}{unit}{samples}. {INSTEAD[altered.cost]}"


_RUN_TIP = "Runs five altered kernels; their pictures are wrong on purpose and are not shown."
_COUNT_TIP = (
    "Runs five altered kernels in the interpreter of PTX and counts their instructions: no GPU is here that "
    "could time them."
)
# With less width the words stand above the chart, not beside it.
_BESIDE_FROM = 58 * GRID
_WORDS_SHARE, _CHART_SHARE = 3, 7


class AblationPanel(QWidget):
    """The costs of the last ablation."""

    def __init__(self, ablation: AblationState) -> None:
        super().__init__()
        self._state = ablation
        self.run_button = QPushButton("Run ablation")
        self.sentence = ElidedLabel(most=8, is_plain=True, name="Which cost takes most")
        self.note = ElidedLabel(most=8, small=True, name="What the chart shows")
        self.chart = BarChart("What each cost takes", row=2 * GRID, bar=GRID + 2)
        self.chart.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        words, drawn = column(self.sentence, self.note, 1, spacing=HALF_GRID), (self.chart, _CHART_SHARE)
        self._body = folding_row(boxed(words), drawn, spacing=2 * GRID, beside_from=_BESIDE_FROM)
        # Figures keep off the scroll bar.
        self._body.setContentsMargins(0, 0, HALF_GRID, 0)
        self.stack = PlaceholderStack(scrolled(boxed(self._body)))
        head = row(1, self.run_button)
        self.setLayout(column(head, (self.stack, 1), spacing=HALF_GRID, margins=PANEL_MARGINS))
        self.run_button.clicked.connect(ablation.run)
        follow(self._show, ablation.changed, theme_notifier().changed)

    def _show(self) -> None:
        state, ablation, why_not = self._state, self._state.ablation, self._state.why_not_now
        self.run_button.setEnabled(not why_not)
        tips = _RUN_TIP if state.times else _COUNT_TIP, why_not
        self.run_button.setToolTip("\n\n".join(filter(None, tips)))
        self.stack.say(state.words)
        if ablation is None or self.stack.text:
            self.chart.show_rows(())
            return
        drawn = (ablation, state.other) if state.other is not None and not state.not_compared else (ablation,)
        sentences = [most_sentence(ablation)]
        sentences += [difference_sentence(ablation, one) for one in drawn[1:]] or [state.not_compared]
        sentence = " ".join(filter(None, sentences))
        # A number stays with its unit.
        self.sentence.setText(sentence.replace(" ms", "\u00a0ms").replace(" %", "\u00a0%"))
        # What has to be known of a chart.
        overlapping = OVERLAPPING if [*ablation.steps()][-1].amount < 0 else ""
        absent = (one.why_not for one in ablation.altered)
        self.note.setText(" ".join(filter(None, (ablation.reason, ON_PURPOSE, overlapping, *absent))))
        what = f"{ablation.title}, block {ablation.block}, {ablation.machine}"
        self.note.setToolTip(f"{what}\n\n{self.note.text()}")
        self.chart.show_rows(waterfall_rows(*drawn), ticks=waterfall_ticks(*drawn))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        # Above the chart the words take the lines that they need.
        self._body.setStretch(0, _WORDS_SHARE if self._body.is_beside else 0)
