"""Sessions of the page: what is kept of state, results and view, and how it is saved and shown again."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any

from msgspec import Meta, Struct
from PySide6.QtCore import QObject, Signal

from engine.errors import EngineError
from engine.files.atomic_write import check_other_file
from engine.geometry.border import Border
from engine.host.protocol import PictureHandle
from engine.mask.presets import resolve_mask
from gui.explore.jobs import is_chain, job_of, step_of
from gui.explore.picture.layers import ViewMode
from gui.explore.picture.picture_controller import PictureController
from gui.explore.picture.picture_view import PictureView
from gui.explore.results.results_model import ResultsModel, RunWithJob
from gui.explore.state import PictureSource, State
from gui.explore.workspace import Workspace
from gui.page.contract import Begin, Services
from gui.page.jobs import Background
from gui.page.panels import Panel
from gui.runs.state import ExchangeRuns
from gui.typed_json import Text, in_short

Done = Callable[[], None]
Failed = Callable[[EngineError], None]
_Window = tuple[float, float]
_Place = Annotated[float, Meta(gt=-1e9, lt=1e9)]


class View(Struct, frozen=True, omit_defaults=True, kw_only=True, tag_field="section", tag="view"):
    """How the page looks."""

    mode: Text = ""  # value of a `ViewMode`
    panels: tuple[Text, ...] = ()  # names of those in front
    run: Annotated[int, Meta(ge=0)] | None = None  # which of the rows is selected
    # Pixels of the screen for one of the picture, and the pixel in the middle; None where it is fitted.
    zoom: Annotated[float, Meta(gt=0, lt=1e9)] | None = None
    row: _Place = 0.0
    column: _Place = 0.0
    # The values that are black and white, of the original and of the result; none: as the display range says.
    original_window: _Window | None = None
    result_window: _Window | None = None


@dataclass(frozen=True, slots=True)
class Session:
    """All that is kept. Nobody changes it, so that any thread can write it."""

    state: State
    runs: tuple[RunWithJob, ...] = ()
    # Of the file of the picture, when it was opened; empty for a sample, and where it is not known.
    digest: str = ""
    view: View = field(default_factory=View)
    # What other pages add, by their keys; they check it themselves.
    pages: Mapping[str, Any] = field(default_factory=dict)
    left_out: tuple[str, ...] = ()  # of one that was read: a sentence for each thing that was left out


_PICTURE = "picture of the session"
# A larger file is read in so many pieces of 1 MB, spread over it.
_WHOLE_BYTES, _PIECE_BYTES = 64 << 20, 1 << 20


def session_file() -> ModuleType:
    """Return the module that reads and writes files: what it needs takes 0.1 s to import."""
    return import_module(".session_file", __package__)


class Sessions(QObject):
    """Saves and opens sessions, and knows what is not saved."""

    edited = Signal()  # something that a session keeps has changed

    def __init__(
        self, workspace: Workspace, results: ResultsModel, services: Services, background: Background
    ) -> None:
        super().__init__()
        self._workspace, self._results, self._background = workspace, results, background
        self._services, self._messages = services, services.messages
        # Where the view is read and shown; without it that is not kept.
        self._picture_view: PictureView | None = None
        self._panels: Sequence[Panel] = ()
        self._kept: View | None = None  # a view whose picture is not there yet
        # Of the file of the shown picture when that was opened, by its source.
        self._digests: dict[PictureSource | None, str] = {}
        self._expected: tuple[PictureSource, str] | None = None
        for follows in (self._read_digest, self._bring_jobs):
            workspace.picture_changed.connect(follows)
        of_results = results.rowsInserted, results.modelReset, results.pin_or_note_changed
        for changed in (workspace.state_changed, *of_results):
            changed.connect(self.edited)

    def show_on(
        self, pictures: PictureController, picture_view: PictureView, panels: Sequence[Panel]
    ) -> None:
        """Keep how the page looks, too; what of a view is not known here stays as it is."""
        self._picture_view, self._panels = picture_view, panels
        # Another picture is fitted first.
        pictures.opened.connect(self._look)

    def _read_view(self) -> View:
        if self._picture_view is None:
            return View()
        canvas, described = self._picture_view.canvas, self._results.described
        original, result = self._picture_view.windows
        row, column = canvas.view.middle
        place: dict[str, Any] = {"zoom": canvas.view.transform.zoom, "row": row, "column": column}
        return View(
            mode=canvas.scene.mode.value,
            panels=tuple(panel.objectName() for panel in self._panels if panel.isVisible()),
            run=next((at for at, run in enumerate(self._results.rows()) if run is described), None),
            original_window=original.ends,
            result_window=result.ends,
            **({} if canvas.view.is_fitted else place),
        )

    def _show_view(self, kept: View) -> None:
        """Bring a view back: its place and windows once the picture is there."""
        if self._picture_view is None:
            return
        if kept.mode in list(ViewMode):
            self._picture_view.set_mode(ViewMode(kept.mode))
        for panel in self._panels:
            if panel.objectName() in kept.panels and not panel.is_own_window:
                panel.bring_to_front()
        rows = self._results.rows()
        if kept.run is not None and kept.run < len(rows):
            self._results.describe(rows[kept.run].result)
        self._kept = kept
        picture = self._workspace.picture
        if picture is not None and self._workspace.state.source == PictureSource.of(picture):
            self._look()

    def _look(self) -> None:
        kept, self._kept = self._kept, None
        if kept is None or self._picture_view is None:
            return
        if kept.zoom:
            self._picture_view.canvas.view.look_at(kept.zoom, kept.row, kept.column)
        original, result = self._picture_view.windows
        original.choose(kept.original_window)
        result.choose(kept.result_window)

    def snapshot(self) -> Session:
        """Return all that there is now; it can be written on any thread."""
        state, view = self._workspace.state, self._read_view()
        runs, digest = tuple(map(_kept, self._results.own_runs)), self._digests.get(state.source, "")
        return Session(state, runs, digest, view, self._services.session_parts())

    def save(self, path: Path, done: Done, failed: Failed) -> None:
        """Write all that there is now, on a thread."""
        session, written = self.snapshot(), self._services.saving()

        def note(_: None) -> None:
            written()
            done()

        self._background.do(lambda: session_file().save_session(path, session), note, failed)

    def open(self, path: Path, done: Done, failed: Failed, *, is_work: bool = False) -> None:
        """Read a session on a thread and show it, as one step of undo; `is_work` is in no session yet."""
        text, name = ("Restore", "The work that was kept") if is_work else (f"Open {path.name}", path.name)

        def show(session: Session) -> None:
            self._show(session, text, name)
            if is_work:
                self._workspace.undo_stack.resetClean()
            else:
                self._services.saving()()
            done()

        self._background.do(lambda: session_file().load_session(path), show, failed)

    def work(self) -> Callable[[], bytes]:
        """Return what gives all that there is now as the bytes of a file, on any thread."""
        session = self.snapshot()
        return lambda: session_file().encoded(session)

    def begin(self, begin: Begin) -> bool:
        """Show the session that the window is opened with, with the settings that override its own.

        Return whether a picture comes with it. Raises EngineError: the session, the mask or the border is not
        as it should be, or its picture would be overwritten.
        """
        path = Path(begin.session) if begin.session else None
        own = session_file().load_session(path) if path else Session(self._workspace.state)
        if begin.first is not None:
            own = replace(own, state=replace(own.state, source=None), digest="")
        session = replace(own, state=with_options(own.state, begin))
        source = session.state.source
        if begin.output and source is not None:
            check_other_file(begin.output, source.path)
        self._workspace.begin_with(session.state)
        self._results.put_back(enumerate(session.runs))
        self._show_rest(session, path.name if path else "")
        self._services.saving()()
        return begin.first is not None or source is not None

    def _show(self, session: Session, text: str, name: str) -> None:
        stack = self._workspace.undo_stack
        stack.beginMacro(text)
        runs = ExchangeRuns(self._results, text, self._results.kept, session.runs)
        self._workspace.edit(session.state, text)
        stack.push(runs)
        stack.endMacro()
        self._show_rest(session, name)

    def _show_rest(self, session: Session, name: str) -> None:
        source = session.state.source
        self._expected = (source, session.digest) if source and session.digest else None
        self._compare_digest()
        if self._workspace.picture is not None:
            self._bring_jobs(self._workspace.picture)
        self._show_view(session.view)
        self._services.take_session_parts(session.pages)
        if session.left_out:
            what = f"{name} was opened as far as possible"
            self._messages.warn("session", what, in_short(session.left_out))

    def _bring_jobs(self, picture: PictureHandle) -> None:
        """Give the runs of a session their jobs, now that their picture is here."""
        shown = PictureSource.of(picture)
        for run in self._results.own_runs:
            if run.job is None and run.step is not None and run.source == shown:
                run.job = job_of(run.step, picture, run.step.settings.range_mode)

    def _read_digest(self, picture: PictureHandle) -> None:
        source = PictureSource.of(picture)
        # Of the one before no digest holds any more, also one that is still to come.
        self._digests = digests = {}

        def arrived(digest: str) -> None:
            digests[source] = digest
            self._compare_digest()

        if source.path:
            self._background.do(lambda: digest_of(Path(source.path)), arrived, lambda error: None)

    def _compare_digest(self) -> None:
        """Say that the picture is not the one of the session, as soon as both are known."""
        if self._expected is None:
            return
        source, expected = self._expected
        if self._workspace.state.source != source or not (digest := self._digests.get(source)):
            return
        self._expected = None
        if digest != expected:
            what = f"{Path(source.path).name} has changed since the session was saved"
            why = "its results are those of the picture as it was then"
            self._messages.warn(_PICTURE, what, why, "Run again to compare.")


def with_options(state: State, begin: Begin) -> State:
    """Return a state with the settings that override its own; raise EngineError for a wrong one."""
    named: dict[str, Any] = {"variant": begin.variant, "device": begin.device, "flip": begin.flip}
    named["border"] = begin.border and Border.named(begin.border)
    step = state.step.with_mask(resolve_mask(begin.mask), is_new=True) if begin.mask else state.step
    return state.with_step(step.with_settings(**{name: value for name, value in named.items() if value}))


def _kept(run: RunWithJob) -> RunWithJob:
    """Return a run as it is now, with the step and the picture of its job."""
    if run.step is None and run.job is not None and not is_chain(run.job):
        run.step, run.source = step_of(run.job), PictureSource.of(run.job.picture)
    return replace(run, job=None)


def digest_of(path: Path) -> str:
    """Return the digest of a file; of a large one, of its size and 64 pieces. Empty where it has none."""
    try:
        with path.open("rb") as file:
            size = file.seek(0, 2)
            digest = hashlib.blake2b(str(size).encode(), digest_size=16)
            step = _PIECE_BYTES if size <= _WHOLE_BYTES else size * _PIECE_BYTES // _WHOLE_BYTES
            for start in range(0, size, step):
                file.seek(start)
                digest.update(file.read(_PIECE_BYTES))
            return digest.hexdigest()
    except OSError:
        return ""
