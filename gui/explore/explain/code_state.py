"""The code of the selected kernel.

The source is there at once. PTX, SASS and the diff of these follow once kernels are compiled.
"""

from dataclasses import replace

from PySide6.QtCore import Signal

from engine.errors import EngineError
from engine.explain.code.code_diff import Diff, measured_difference
from engine.explain.code.listing import Form, SourceLine
from engine.explain.gpus import ARCHITECTURES, DEFAULT, Architecture
from engine.explain.messages import CodeRequest, ShownCode
from engine.host.messages import VariantInfo
from engine.work.messages import PictureJob
from gui.engine_link.engine_link import EngineLink, needs_no_message
from gui.engine_link.engine_state import EngineState
from gui.explore.explain.question import KernelQuestion
from gui.explore.explain.selection import Selection
from gui.explore.explain.tile_state import TileState
from gui.explore.results.results_model import ResultsModel

_COMPILING = "Compiling for {}: a second the first time."
_AFTER_RUN = "The kernel is compiled after the run, which it would disturb."


class CodeState(KernelQuestion[ShownCode]):
    """The code that is shown, or the reason why there is none."""

    # Whatever is chosen has code, also of another operation.
    no_picture = "Open a picture: the code of the chosen kernel appears here."
    no_engine = "The code appears once the engine is up."
    asking = "Reading the source."
    step_changed = Signal()  # `step_lines`

    def __init__(
        self,
        selection: Selection,
        state: EngineState,
        link: EngineLink,
        tile: TileState,
        results: ResultsModel,
    ) -> None:
        super().__init__(selection, state, link)
        self._tile, self._results = tile, results
        self.form: Form | None = None
        """The listing that is wanted; None: the source alone."""
        self._listed: ShownCode | None = None
        # The GPU and the other kernel of the listings.
        self._listed_for: tuple[Architecture, VariantInfo | None] | None = None
        self._not_listed = ""
        state.running_changed.connect(self._follow_run)
        tile.step_changed.connect(self.step_changed)
        for changed in (results.rowsInserted, results.rowsRemoved, results.modelReset):
            changed.connect(self._show_again)

    @property
    def source(self) -> ShownCode | None:
        """The source; None with `words`."""
        return self.found

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
        kernels = source.source.kernels
        path = kernels[self._tile.pass_number if len(kernels) == len(found.tiles) else 0].path
        return frozenset(SourceLine(path, line) for line in plan.lines_of(step))

    def choose_form(self, form: Form | None) -> None:
        """Show a listing beside the source; None for the source alone."""
        self.form = form
        self._listed, self._not_listed = None, ""
        self.changed.emit()
        self.refresh()

    @property
    def _job(self) -> PictureJob | None:
        return self.selection.any_job

    @property
    def _other_job(self) -> None:
        # One request has both.
        return None

    @property
    def _compared_with(self) -> str:
        return self.selection.other.key if self.selection.other else ""

    def _request_about(self, job: PictureJob) -> CodeRequest:
        return CodeRequest(job, other=self._compared_with)

    def _ask(self) -> None:
        listed_for = self.architecture, self.selection.other
        if listed_for != self._listed_for or self._job is None:
            self._listed_for, self._listed, self._not_listed = listed_for, None, ""
        super()._ask()

    def _take(self, found: ShownCode) -> None:
        if self._listed is not None and self._listed.variant != found.variant:
            self._listed = None
        self._not_listed = ""
        job, form = self._job, self.form
        if job is not None and form is not None:
            self._want(CodeRequest(job, form, self.architecture, self._compared_with))
        super()._take(found)

    def _follow_run(self) -> None:
        if self._is_visible and self.listing_words:
            self.changed.emit()

    def _take_compiled(self, answer: ShownCode | EngineError) -> None:
        if isinstance(answer, EngineError):
            # A lost host's successor is asked again once it is ready.
            self._listed, self._not_listed = None, self.no_engine if needs_no_message(answer) else str(answer)
        else:
            self._listed = answer
        self.changed.emit()

    def _show_again(self) -> None:
        if self._is_visible:
            self.changed.emit()
