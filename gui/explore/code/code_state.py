"""The code of the selected kernel.

The source is there at once. PTX, SASS and the diff of these follow once kernels are compiled.
"""

from dataclasses import replace
from functools import partial

from PySide6.QtCore import Signal

from engine.errors import EngineError
from engine.explain.code.code_diff import Diff, measured_difference
from engine.explain.code.listing import Form, SourceLine
from engine.explain.gpus import ARCHITECTURES, DEFAULT, Architecture
from engine.explain.messages import CodeRequest, ShownCode
from engine.host.messages import VariantInfo
from engine.host.request import Describe
from gui.engine_link.engine_link import EngineLink, needs_no_message
from gui.engine_link.engine_state import EngineState
from gui.engine_link.newest import Newest
from gui.explore.question import CompiledQuestion
from gui.explore.results.results_model import ResultsModel
from gui.explore.selection import Selection
from gui.explore.tile.tile_state import TileState

_NO_PICTURE = "Open a picture: the code of the chosen kernel appears here."
_NO_ENGINE = "The code appears once the engine is up."
_READING = "Reading the source."
_COMPILING = "Compiling for {}: a second the first time."
_AFTER_RUN = "The kernel is compiled after the run, which it would disturb."


class CodeState(CompiledQuestion):
    """The code that is shown, or the reason why there is none."""

    step_changed = Signal()  # `step_lines`
    wants_slides = Signal()  # the teaching order is to be saved

    def __init__(
        self,
        selection: Selection,
        state: EngineState,
        link: EngineLink,
        tile: TileState,
        results: ResultsModel,
    ) -> None:
        super().__init__(selection.changed, state=state, link=link)
        self.selection = selection
        self._tile, self._results = tile, results
        self._sources = Newest(link)
        self.form: Form | None = None
        """The listing that is wanted; None: the source alone."""
        self.source: ShownCode | None = None
        self._listed: ShownCode | None = None
        # The GPU and the other kernel of the listings.
        self._listed_for: tuple[Architecture, VariantInfo | None] | None = None
        self._why_not = _NO_PICTURE
        self._not_listed = ""
        state.running_changed.connect(self._follow_run)
        tile.step_changed.connect(self.step_changed)
        for changed in (results.rowsInserted, results.rowsRemoved, results.modelReset):
            changed.connect(self._show_again)

    @property
    def words(self) -> str:
        """Why there is no source."""
        return self._why_not

    @property
    def listed(self) -> ShownCode | None:
        """The listings, or their diff; None with `listing_words`, or where none are wanted."""
        return self._listed if self.form is not None else None

    @property
    def listing_words(self) -> str:
        """Why there are no listings."""
        if self.form is None or self.listed is not None:
            return ""
        if self._not_listed:
            return self._not_listed
        return _AFTER_RUN if self._state.running else _COMPILING.format(self.architecture)

    @property
    def architecture(self) -> Architecture:
        """What is compiled for: at first the GPU that is here, if there is one."""
        gpus = [device for device in self._state.devices if device.is_usable_gpu]
        here = [gpu.limits.compute_capability for gpu in gpus if gpu.limits.compute_capability]
        known = [Architecture(*one) for one in here if Architecture(*one) in ARCHITECTURES]
        return self.selection.gpu or next(iter(known), DEFAULT)

    @property
    def diff(self) -> Diff | None:
        """The diff that is shown, with what was measured; None where nothing is compared, or not yet."""
        shown = self.source if self.form is None else self.listed
        if shown is None or shown.diff is None:
            return None
        results = [run.result for run in self._results.tried()]
        return replace(shown.diff, measured=measured_difference(results, shown.diff.left, shown.diff.right))

    @property
    def step_lines(self) -> frozenset[SourceLine]:
        """The lines of the step that is chosen in the panel Tile; none where they are not known."""
        found, plan, step, source = self._tile.found, self._tile.plan, self._tile.step, self.source
        if found is None or plan is None or step is None or source is None or found.variant != source.variant:
            return frozenset()
        # A kernel for each pass; strips of one kernel are several tiles.
        at = self._tile.pass_number if len(source.steps) == len(found.tiles) else 0
        if at >= len(source.steps):
            return frozenset()
        lines = source.steps[at].lines_of(step, plan.step_names)
        return frozenset(SourceLine(source.source.kernels[at].path, line) for line in lines)

    def choose_form(self, form: Form | None) -> None:
        """Show a listing beside the source; None for the source alone."""
        self.form = form
        self._listed, self._not_listed = None, ""
        self.changed.emit()
        self.refresh()

    def _ask(self) -> None:
        self._want(None)
        job = self.selection.any_job
        why_not = self.selection.why_not(_NO_ENGINE, "", _NO_PICTURE)
        if job is None or why_not:
            self._sources.forget()
            self._compiled.forget()
            self._listed = None
            self._show(None, why_not)
            return
        listed_for = self.architecture, self.selection.other
        if listed_for != self._listed_for:
            self._listed_for, self._listed, self._not_listed = listed_for, None, ""
        other = self.selection.other.key if self.selection.other else ""
        listed = (
            None if self.form is None else Describe(CodeRequest(job, self.form, self.architecture, other))
        )
        self._sources.ask(
            Describe(CodeRequest(job, other=other)), partial(self._described, listed), self._failed
        )
        if self.source is None:
            # Why there was none may no longer hold.
            self._show(None, _READING)

    def _described(self, listed: Describe[CodeRequest] | None, shown: ShownCode) -> None:
        if self._listed is not None and self._listed.variant != shown.variant:
            self._listed = None
        self._not_listed = ""
        self._want(listed)
        self._show(shown, "")

    def _follow_run(self) -> None:
        if self._is_visible and self.listing_words:
            self.changed.emit()

    def _take_compiled(self, answer: ShownCode | EngineError) -> None:
        if isinstance(answer, EngineError):
            # A lost host's successor is asked again once it is ready.
            self._listed, self._not_listed = None, _NO_ENGINE if needs_no_message(answer) else str(answer)
        else:
            self._listed = answer
        self.changed.emit()

    def _failed(self, error: EngineError) -> None:
        self._show(None, _NO_ENGINE if needs_no_message(error) else str(error))

    def _show(self, source: ShownCode | None, why_not: str) -> None:
        self.source, self._why_not = source, why_not
        self.changed.emit()

    def _show_again(self) -> None:
        if self._is_visible:
            self.changed.emit()
