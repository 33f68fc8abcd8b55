"""The one place that wires: client, controllers, state, panels, actions. It decides nothing else."""

import sys
from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication

from engine.mask.presets import preset
from gui.course.course_controller import CourseController
from gui.course.course_model import CourseModel
from gui.engine_link.engine_link import EngineLink
from gui.engine_link.engine_start import FirstPicture, StartedEngine
from gui.engine_link.engine_state import EngineState
from gui.explore.display import Display
from gui.explore.mask.mask_controller import MaskController
from gui.explore.picture.picture_controller import PictureController
from gui.explore.preview_controller import PreviewController
from gui.explore.results.results_controller import ResultsController
from gui.explore.results.results_model import ResultsModel
from gui.explore.run_controller import RunController
from gui.explore.session_controller import SessionController
from gui.explore.workspace import Workspace
from gui.matrices.matmul_controller import MatmulController
from gui.matrices.matmul_state import MatmulState
from gui.page.actions import Actions
from gui.page.contract import PageContext
from gui.page.messages import Messages
from gui.shell.action_states import ActionStates
from gui.shell.closing import Closing
from gui.shell.command_line import WindowOptions
from gui.shell.engine_messages import EngineMessages
from gui.shell.file_commands import FileCommands
from gui.shell.interrupt import Interrupts
from gui.shell.main_window import MainWindow
from gui.shell.pages import PAGES
from gui.shell.preferences import default_path
from gui.shell.preferences_controller import PreferencesController
from gui.shell.unexpected import UnexpectedErrors
from gui.style.icons import load_icons

# Its result can be told from the original and is a picture that one would want.
FIRST_MASK = "sharpen"
FINISH_AFTER_MS = 10


class Haloscope:
    """Everything that lives as long as the window.

    Parameters
    ----------
    preferences_path : Path, optional
        None: preferences are neither read nor kept.
    """

    def __init__(
        self,
        app: QApplication,
        engine: StartedEngine,
        preferences_path: Path | None = None,
        theme: str = "",
    ) -> None:
        self._is_finished = False
        self.workspace = Workspace(preset(FIRST_MASK))
        self.state = EngineState()
        self.messages = Messages()
        self.results = ResultsModel()
        self.course = CourseModel(frozenset(entry.key for entry in PAGES))
        self.matmul = MatmulState()
        self.errors = UnexpectedErrors(self.messages)
        self.actions = Actions()
        self.actions.add_history(self.workspace.undo_stack)
        self.preferences = PreferencesController(app, self.actions, self.messages, preferences_path, theme)
        self.window = MainWindow(
            PageContext(
                self.workspace,
                self.state,
                self.results,
                self.actions,
                self.course,
                self.matmul,
                self.messages,
            ),
            self.messages,
        )
        self.window.take_layout(self.preferences.preferences)

        self.link = EngineLink(engine, self.state)
        self.engine_messages = EngineMessages(self.link, self.messages)
        self.display = Display(self.workspace, self.state, self.link.keeper)
        self.pictures = PictureController(self.workspace, self.state, self.link, self.messages, self.display)
        self.previews = PreviewController(self.workspace, self.state, self.link, self.messages, self.display)
        self.runs = RunController(
            self.workspace, self.state, self.link, self.messages, self.display, self.results
        )
        self.courses = CourseController(self.course, self.workspace, self.state, self.link, self.messages)
        self.products = MatmulController(self.matmul, self.state, self.link, self.messages)
        self.sessions = SessionController(self.workspace, self.pictures, self.messages)
        self.masks = MaskController(self.workspace, self.messages)
        self.exports = ResultsController(self.results, self.state, self.messages)
        self.files = FileCommands(
            self.window,
            self.workspace,
            self.actions,
            self.pictures,
            self.sessions,
            self.masks,
            self.exports,
            self.preferences.preferences.last_folder,
        )
        self.action_states = ActionStates(
            self.actions, self.workspace, self.state, self.results, self.matmul, self.link
        )
        self.closing = Closing(self.window, self.link)
        app.commitDataRequest.connect(self.closing.end_session)
        self._connect()

    def begin(self, first: FirstPicture | None) -> None:
        """Wait for the picture that was asked for before there was a window."""
        if first is not None:
            self.link.follow(self.pictures.asked(first.request), first.future)

    def finish(self) -> None:
        """Do what the first paint does not wait for; once."""
        if not self._is_finished:
            self._is_finished = True
            load_icons()
            self.window.finish()

    def _connect(self) -> None:
        actions, window = self.actions, self.window
        for name, slot in (
            ("run", lambda: self._run(self.runs.run)),
            ("run_all", lambda: self._run(self.runs.run_every_variant)),
            ("multiply", self._multiply),
            ("cancel", self._cancel),
            ("retry_gpu", self.engine_messages.try_gpu_again),
            ("copy_results", self.exports.copy),
            ("clear_results", self.results.clear),
            ("reset_layout", window.restore_default_layout),
            ("quit", window.close),
            ("course", lambda: window.show_page("course")),
            ("about", lambda: self._show_help("about")),
            ("shortcuts", lambda: self._show_help("shortcuts")),
            ("documentation", lambda: self._show_help("documentation")),
        ):
            actions[name].triggered.connect(slot)
        self.courses.product_wanted.connect(self.products.load)
        self.courses.page_wanted.connect(window.show_page)
        self.course.save_wanted.connect(
            lambda paper: self.files.ask_for_folder(
                "Folder for the paper's tables", lambda folder: self.courses.save(paper, folder)
            )
        )
        window.files_dropped.connect(self.files.take)
        # The signal comes before the pixels are on the screen.
        window.painted.connect(lambda: QTimer.singleShot(FINISH_AFTER_MS, self.finish))
        window.closing.connect(self._keep_preferences)

    def _run(self, run: Callable[[], None]) -> None:
        # Neither Ctrl+R nor a click on Run takes the focus, and a number that is being typed belongs to the run.
        editor = self.window.focusWidget()
        if editor is not None:
            editor.clearFocus()
        # Where the mask, the picture and the results of what is run are seen.
        self.window.show_page("explore")
        run()
        if editor is not None and editor.isVisible():
            editor.setFocus()

    def _multiply(self) -> None:
        self.window.show_page("matrices")
        self.products.run()

    def _cancel(self) -> None:
        self.runs.cancel()
        self.courses.cancel()
        self.products.cancel()
        self.previews.cancel()

    def _show_help(self, name: str) -> None:
        from gui.shell.help_texts import HOW_TO, about_html, shortcuts_html
        from gui.shell.text import show_text

        title = self.actions[name].iconText()
        if name == "documentation":
            show_text(self.window, title, HOW_TO)
        elif name == "shortcuts":
            show_text(self.window, title, shortcuts_html(self.actions.all()))
        else:
            show_text(self.window, title, about_html(), height=320)

    def _keep_preferences(self) -> None:
        kept = self.window.give_layout(self.preferences.preferences)
        self.preferences.keep(geometry=kept.geometry, layouts=kept.layouts, last_folder=self.files.folder)


def make_application() -> QApplication:
    """Return the application object."""
    app = QApplication(sys.argv[:1])
    app.setApplicationName("haloscope")
    app.setApplicationDisplayName("Haloscope")
    return app


def run_window(
    options: WindowOptions,
    engine: StartedEngine,
    first: FirstPicture | None,
    process_age_ms: Callable[[], tuple[float, str]],
    interrupts: Interrupts,
) -> int:
    """Show the window until it is closed and return the exit status."""
    app = make_application()
    path = None if options.measure_startup else default_path()
    haloscope = Haloscope(app, engine, path, options.theme)
    haloscope.errors.install()
    haloscope.begin(first)
    if options.session:
        haloscope.sessions.open(Path(options.session), keep_picture=bool(options.image))
    if options.measure_startup:
        from gui.shell.startup import measure_startup

        return measure_startup(app, haloscope, process_age_ms)
    with interrupts.calling(haloscope.closing.interrupted.emit):
        haloscope.window.show()
        return app.exec()
