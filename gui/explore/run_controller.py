"""Runs of one variant, or of every variant that can do the job; each becomes a row of the results."""

from msgspec.structs import replace
from PySide6.QtCore import QObject

from engine.device_info import AUTO
from engine.errors import EngineError
from engine.host.protocol import Filtered, TiledScreen
from engine.host.request import Availability, Check, Run, VariantInfo, segments_of
from engine.work.messages import PictureJob
from gui.explore.jobs import comparable_of, failed_run, is_chain
from gui.explore.preview_controller import Display
from gui.explore.results.blocks_panel import BlockCells
from gui.explore.workspace import Workspace
from gui.page.contract import Services
from gui.page.jobs import RequestedRun
from gui.page.messages import PageMessages, Severity, WindowMessage

SOURCE = "run"
_ONE_WAY = (
    "The chain runs once",
    "Each of its steps has the kernel that its row names, so there are no others to compare.",
    "To compare the kernels of a mask, run it as the only step.",
)
# For the samples of each cell of a run of several blocks, seconds: 66 cells then take half a minute.
SWEEP_BUDGET_S = 0.2


class RunController(QObject):
    """Verified and timed runs."""

    def __init__(
        self,
        workspace: Workspace,
        services: Services,
        messages: PageMessages,
        shown: Display,
        cells: BlockCells,
    ) -> None:
        super().__init__()
        self._workspace, self._services, self._jobs = workspace, services, services.jobs
        self._messages, self._display = messages, shown
        self._cells, self._results = cells, cells.results
        # The outcome of a run stays in its row; the message is about a job that is no longer wanted.
        workspace.job_changed.connect(lambda: messages.clear(SOURCE))

    def run(self) -> None:
        """Run the job as it is now, with each of the blocks where several are chosen; a chain as a whole."""
        job = self._workspace.run_job()
        if job is None:
            return
        if self._workspace.settings.blocks and not is_chain(job):
            self._run_able(job, job.variant)
        else:
            self._jobs.begin(SOURCE, [self._run_of(job)], self._messages)

    def run_every_variant(self) -> None:
        """Run each variant that can do the job as it is now, with each of the blocks."""
        job = self._workspace.run_job()
        if is_chain(job):
            self.run()
            self._messages.note(SOURCE, *_ONE_WAY)
        elif job is not None:
            self._run_able(job)

    def _run_able(self, job: PictureJob, *variants: str) -> None:
        """Run this variant, or all that can do a job, with each block; a refused one is a cell with why."""
        blocks = self._workspace.settings.blocks

        def checked(availabilities: tuple[Availability, ...]) -> None:
            if blocks:
                self._cells.plan(job, availabilities)
            able = [one for one in availabilities if not one.reason and (blocks or one.variant != AUTO)]
            how = {"budget_s": SWEEP_BUDGET_S} if blocks else {}
            for one in able:
                cell_job = job.changed(variant=one.variant, block=one.block if blocks else job.block)
                self._jobs.add([self._run_of(cell_job, **how)])
            if not any(one.variant != AUTO for one in able):
                why = str(next((one.reason for one in availabilities if one.reason), "there are none"))
                what, remedy = "No variant can do this", "Choose another block or device."
                self._messages.warn(SOURCE, what, why, remedy)

        def ended() -> None:
            self._cells.end_plan()
            self._select_best(job.device)

        ask = RequestedRun(
            "Looking for what can run here", Check(job, variants, blocks), checked, is_counted=False
        )
        self._jobs.begin(SOURCE, [ask], self._messages, ended)

    def _select_best(self, device: str) -> None:
        """Select the best run for the problem, of those on the requested device if there are any."""
        shown = self._results.bars.metric
        runs = [run for run in self._results.present_runs(device) if shown.value(run) is not None]
        if runs:
            best = (max if shown.more_is_better else min)(runs, key=lambda run: shown.value(run) or 0.0)
            self._results.describe(best.result)

    def _run_of(self, job: PictureJob, **how: float) -> RequestedRun:
        # Of a picture in its file the visible part is measured.
        is_in_file = isinstance(job.picture.screen, TiledScreen)
        measured = replace(job, centre=self._workspace.view_middle) if is_in_file else job
        if is_chain(job):
            variant, title = None, job.chain.title or f"Chain of {len(job.chain.steps)} steps"
        else:
            variant = self._services.state.variant(job.variant)
            title = variant.title if variant else "Automatic" if job.variant == AUTO else job.variant
        return RequestedRun(
            f"{title}, block {job.block}" if job.block and variant and variant.uses_block else title,
            Run(measured, seen=self._display.seen(), **how),
            lambda reply: self._replied(job, reply),
            lambda error: self._failed(job, variant, error),
        )

    def _replied(self, job: PictureJob, reply: Filtered) -> None:
        if (result := reply.result) is not None:
            self._display.note_times(reply)
            self._results.add(result, comparable_of(job), job)
            if not result.is_proven:
                what = f"{result.title} gave no time"
                self._messages.show(WindowMessage(SOURCE, Severity.ERROR, what, result.status))
        if (reply.values is not None or reply.tiles) and self._shows_what_is_wanted(job):
            self._display.show(reply)
        else:
            self._services.link.keeper.discard(segments_of(reply))

    def _failed(self, job: PictureJob, variant: VariantInfo | None, error: EngineError) -> None:
        if (result := failed_run(job, variant, error)) is not None:
            self._results.add(result, comparable_of(job), job)

    def _shows_what_is_wanted(self, job: PictureJob) -> bool:
        """Whether the result of a job is what the workspace asks for, by whatever variant."""
        wanted = self._workspace.job()
        if wanted is None or is_chain(job) or is_chain(wanted):
            return wanted == job
        return wanted == job.changed(variant=wanted.variant)
