"""The best measured block of the chosen kernel: of this session's runs, or kept by `bench --best`."""

from pathlib import Path

from engine.work.filtering.best_blocks import (
    BestBlock,
    best_block_for,
    best_blocks_path,
    fastest_blocks,
    load_best_blocks,
)
from engine.work.filtering.problem import Problem
from gui.engine_link.engine_state import EngineState
from gui.explore.picture_job import problem_of
from gui.explore.results.results_model import ResultsModel
from gui.explore.workspace import Workspace


class BestMeasured:
    """Finds it for the present job; the file is read anew when it has changed."""

    def __init__(
        self,
        workspace: Workspace,
        engine_state: EngineState,
        results: ResultsModel,
        path: Path | None = None,
    ) -> None:
        self._workspace = workspace
        self._engine_state = engine_state
        self._results = results
        self._path = path or best_blocks_path()
        self._read: tuple[int, int] | None = None
        self._kept: tuple[BestBlock, ...] = ()
        self.note = ""
        """Why the file cannot be used; empty if it can, or there is none."""

    def find(self) -> BestBlock | None:
        """Return the best block for the chosen kernel, picture, mask and device; None if none is known."""
        settings, job = self._workspace.settings, self._workspace.filter_job()
        chosen = self._engine_state.variant(settings.variant)
        device = self._engine_state.used_device(settings.device)
        if job is None or chosen is None or device is None or not device.is_usable_gpu:
            return None
        self._read_file()
        # Runs of this session come after what is kept: of equals the newest counts.
        filtered = (run for run in self._results.results() if run.task == Problem.task)
        known = (*self._kept, *map(BestBlock.of, fastest_blocks(filtered)))
        return best_block_for(known, device.title, chosen.key, problem_of(job), str(settings.layout))

    def _read_file(self) -> None:
        try:
            facts = self._path.stat()
            found = facts.st_mtime_ns, facts.st_size
        except OSError:
            found = (0, 0)
        if found != self._read:
            self._read = found
            self._kept, self.note = load_best_blocks(self._path)
