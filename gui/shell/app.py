"""The application: makes the services and the window, connects the actions of the frame, times its start."""

from gui import qt_import  # noqa: F401 - before all that imports Qt

# isort: split
import gc
import json
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Qt, QTimer, Signal
from PySide6.QtGui import QIcon
from PySide6.QtWidgets import QApplication

from engine import interrupts
from engine.errors import EngineError
from engine.files.reading import ASSETS
from engine.files.standard_streams import log, log_path, note_error, print_answer
from engine.process import shortage_of
from gui.engine_link.engine_link import EngineLink
from gui.engine_link.engine_start import FirstPicture, StartedEngine
from gui.engine_link.engine_state import EngineState
from gui.page.actions import Actions
from gui.page.contract import Begin, Services
from gui.page.files import FileDialogs, RecentFiles
from gui.page.jobs import JobQueue
from gui.page.messages import Messages, Severity, WindowMessage
from gui.page.slot import import_announced
from gui.shell.closing import Closing, Recovery, default_folder
from gui.shell.command_line import WindowOptions
from gui.shell.machines import Machines
from gui.shell.main_window import MainWindow
from gui.shell.menus import ENTRIES
from gui.shell.preferences import PreferencesController, default_path
from gui.style.theme import undressed

if TYPE_CHECKING:
    from gui.shell.dialogs import Dialogs

UNEXPECTED = "unexpected"
FINISH_AFTER_MS = 10
FREEZE_AFTER_MS = 2000
_OF_PAGE = "run", "run_all", "save_results", "copy_results", "clear_results"
_DIALOGS = ["palette", "panel_help", "documentation", "shortcuts", "about", "preferences"]


class Haloscope:
    """Everything that lives as long as the window, but for what the pages bring.

    Without a path preferences are neither read nor kept. Without a folder for recovery work is not kept
    against a crash, and closing asks nothing.
    """

    def __init__(
        self,
        app: QApplication,
        engine: StartedEngine,
        preferences_path: Path | None = None,
        theme: str = "",
        recovery_folder: Path | None = None,
    ) -> None:
        self.state = EngineState()
        self.messages = Messages()
        self.errors = UnexpectedErrors(self.messages)
        self.actions = Actions()
        self.actions.add(ENTRIES)
        self.preferences = PreferencesController(app, self.actions, self.messages, preferences_path, theme)
        self.link = EngineLink(engine, self.state)
        self.jobs = JobQueue(self.state, self.link)
        self.files = FileDialogs(self.preferences.preferences.last_folder)
        self.recent = RecentFiles(self.preferences.preferences.recent)
        own = self.actions, self.messages, self.link, self.state, self.files, self.jobs, self.recent
        with undressed(app):
            self.window = MainWindow(Services(*own))
        self.files.parent = self.window
        self.window.take_layout(self.preferences.preferences)
        self.machines = Machines(self.link, self.state, self.messages, self.preferences.preferences.servers)
        self.machines.parent_widget = self.window
        self.recovery = (
            Recovery(self.window, self.messages, recovery_folder) if recovery_folder is not None else None
        )
        self.closing = Closing(self.window, self.link, self.state, self.messages, self.recovery)
        app.commitDataRequest.connect(self.closing.end_session)
        self._connect()

    def finish(self) -> None:
        """Do what the first paint does not wait for; once."""
        if not self.window.is_finished:
            self.window.finish()
            if self.recovery is not None:
                self.recovery.look()

    def _connect(self) -> None:
        window = self.window
        of_page = {name: lambda name=name: getattr(window.page, name)() for name in _OF_PAGE}
        of_dialogs = {name: lambda name=name: self.dialogs.show(name) for name in _DIALOGS}
        self.actions.connect_to(
            cancel=window.cancel,
            retry_gpu=self.machines.try_gpu_again,
            reopen_last=window.recent.open_last,
            reset_layout=lambda: window.page.restore_default(),
            quit=window.close,
            full_screen=lambda: window.setWindowState(window.windowState() ^ Qt.WindowState.WindowFullScreen),
            hide_panels=lambda: window.page.hide_panels(not window.page.panels_are_hidden),
            **of_page,
            **of_dialogs,
        )
        recorded = self.actions["show_recorded"]
        recorded.setCheckable(True)
        recorded.toggled.connect(self.state.show_recorded)
        self.state.recorded_changed.connect(lambda: recorded.setChecked(self.state.shows_recorded))
        recorded.setChecked(self.preferences.preferences.recorded)
        # The signal comes before the pixels are on the screen.
        self.window.painted.connect(lambda: QTimer.singleShot(FINISH_AFTER_MS, self.finish))
        self.window.closing.connect(self._keep_preferences)
        # Not before: it would share the processor with the first result.
        self.window.first_page.completed.connect(lambda _error: import_announced())

    @cached_property
    def dialogs(self) -> "Dialogs":
        """What opens beside the window; made when the first one is needed."""
        from gui.shell.dialogs import Dialogs

        return Dialogs(self.window, self.actions, self.preferences)

    def _keep_preferences(self) -> None:
        folder, recent, recorded = self.files.folder, self.recent.all(), self.state.shows_recorded
        servers = tuple((server.destination, server.python) for server in self.state.servers)
        kept = self.window.give_layout(self.preferences.preferences)
        kept = replace(kept, last_folder=folder, recent=recent, recorded=recorded, servers=servers)
        self.preferences.keep(kept)


class UnexpectedErrors(QObject):
    """Catches unhandled exceptions on every thread."""

    happened = Signal(object)  # an EngineError: what, and why

    def __init__(self, messages: Messages) -> None:
        super().__init__()
        self._messages = messages
        self.happened.connect(self._show, Qt.ConnectionType.QueuedConnection)

    def install(self) -> None:
        sys.excepthook = self.catch
        threading.excepthook = lambda args: self.catch(args.exc_type, args.exc_value or args.exc_type())

    def catch(self, kind: type[BaseException], error: BaseException, *_trace: object) -> None:
        """Log an error and show it. Called on: any thread."""
        if issubclass(kind, KeyboardInterrupt):
            return
        note_error(error)
        line = f"{kind.__name__}: {error}" if str(error) else kind.__name__
        shown = shortage_of(error) or EngineError("Something went wrong in the window", line)
        with suppress(RuntimeError):  # the window is gone already; the log has it
            self.happened.emit(shown)

    def _show(self, error: EngineError) -> None:
        kept = f"Your work is kept: continue, or save the session. The details are in {log_path()}"
        remedy = f"{error.remedy} {kept}".strip()
        self._messages.everywhere.show(
            WindowMessage(UNEXPECTED, Severity.ERROR, error.what, error.why, remedy)
        )


def make_application() -> QApplication:
    """Return the application object."""
    app = QApplication(sys.argv[:1])
    app.setApplicationName("haloscope")
    app.setApplicationDisplayName("Haloscope")
    # By this name Wayland finds the icon of `install-desktop`'s entry.
    app.setDesktopFileName("haloscope")
    app.setWindowIcon(QIcon(str(ASSETS / "icon" / "haloscope.svg")))
    return app


# What returns the age of the process in milliseconds, and what it is counted from.
Age = Callable[[], tuple[float, str]]


def run_window(options: WindowOptions, engine: StartedEngine, first: FirstPicture | None, age: Age) -> int:
    """Show the window until it is closed and return the exit status."""
    app = make_application()
    path, work = (None, None) if options.measure_startup else (default_path(), default_folder())
    haloscope = Haloscope(app, engine, path, options.theme, work)
    haloscope.errors.install()
    try:
        haloscope.window.offer(Begin(first, options.session))
    except EngineError as error:
        if options.measure_startup:
            # No result will come, so nothing would close the window.
            raise
        haloscope.messages.show_error("session", error)
    if options.measure_startup:
        return measure_startup(app, haloscope.window, age)
    # What the start made is left out of garbage collections: a full one then takes 15 ms and not 40.
    haloscope.window.painted.connect(lambda: QTimer.singleShot(FREEZE_AFTER_MS, gc.freeze))
    with interrupts.calling(haloscope.closing.interrupted.emit):
        haloscope.window.show()
        return app.exec()


LONGEST_WAIT_MS = 60_000
FAILED = 4


def measure_startup(app: QApplication, window: MainWindow, age: Age) -> int:
    """Show the window, write a line of JSON, close, and return the status; raise without a result."""
    times: dict[str, float | str | None] = dict.fromkeys(("first_paint_ms", "first_result_ms"))
    times |= {"counted_from": age()[1], "uncertainty_ms": 10.0 if age()[1] == "process start" else 1.0}

    def note(name: str) -> None:
        if times[name] is None:
            times[name] = round(age()[0], 1)

    errors: list[EngineError] = []

    def finish(error: EngineError | None) -> None:
        if error is None and page.status.why_no_run:
            error = EngineError("There is no first result", page.status.why_no_run, "Add a picture.")
        if error is None:
            page.surface.repaint()
            note("first_result_ms")
        else:
            errors.append(error)
        app.quit()

    window.painted.connect(lambda: QTimer.singleShot(0, lambda: note("first_paint_ms")))
    page = window.first_page
    page.completed.connect(finish)
    QTimer.singleShot(LONGEST_WAIT_MS, app.quit)
    window.show()
    app.exec()
    if errors:
        raise errors[0]
    status = print_answer(json.dumps(times, allow_nan=False))
    if times["first_result_ms"] is None:
        message = window.message_bar.text or "The engine did not answer within a minute."
        log(f"No result was shown: {message}")
        return FAILED
    return status
