"""`screenshot`: the real window with the real engine, saved as PNG once everything is shown."""

from PySide6.QtCore import QBuffer, QIODevice, QObject, Qt, QTimer, Signal
from PySide6.QtWidgets import QApplication

from engine import interrupts
from engine.errors import EngineError
from engine.files.atomic_write import atomic_write
from engine.files.standard_streams import log
from gui.engine_link.engine_start import FirstPicture, StartedEngine
from gui.page.intents import Begin
from gui.shell.app import Haloscope, make_application
from gui.shell.command_line import ScreenshotOptions

# Layouts, plots and icons settle within a few turns of the event loop.
SETTLE_MS = 300


def take_screenshot(options: ScreenshotOptions, engine: StartedEngine, first: FirstPicture | None) -> int:
    """Save a picture of the window and return the exit status.

    Raises
    ------
    EngineError
        An option names something that does not exist or cannot be used, or the file cannot be written.
    """
    app = make_application()
    haloscope = Haloscope(app, engine, theme=options.theme)
    haloscope.window.resize(*options.size)
    shot = _Shot(app, haloscope, options)
    haloscope.window.offer(begin_of(options, first))
    if options.page:
        haloscope.window.show_page(options.page)
    if options.panel:
        haloscope.window.page.bring_to_front(options.panel)
    with interrupts.calling(shot.stopped.emit):
        haloscope.window.show()
        app.exec()
    if shot.error is not None:
        raise shot.error
    if shot.was_stopped:
        log("Stopped: no picture was written.")
        return 0
    atomic_write(options.out, shot.png)
    return 0


def begin_of(options: ScreenshotOptions, first: FirstPicture | None = None) -> Begin:
    """Return what the window of a screenshot is opened with."""
    filtering = options.mask, options.variant, options.device, options.border, options.flip
    return Begin(first, options.session, *filtering, options.out)


class _Shot(QObject):
    """Waits until everything asked for is shown, then takes the picture."""

    stopped = Signal()  # Ctrl+C. Emitted on: any thread

    def __init__(self, app: QApplication, haloscope: Haloscope, options: ScreenshotOptions) -> None:
        super().__init__()
        self._app = app
        self._haloscope = haloscope
        self._options = options
        self._has_begun_run = False
        self.error: EngineError | None = None
        self.was_stopped = False
        self.png = b""
        haloscope.window.first_page.settled.connect(self._shown)
        haloscope.jobs.finished.connect(self._settle)
        self.stopped.connect(self._stop, Qt.ConnectionType.QueuedConnection)

    def _shown(self, error: EngineError | None) -> None:
        if error is not None:
            self.error = error
            self._app.quit()
        elif not self._options.run:
            self._settle()
        elif not self._has_begun_run:
            self._has_begun_run = True
            self._run_all()

    def _run_all(self) -> None:
        page = self._haloscope.window.page
        if not page.is_settled:
            QTimer.singleShot(SETTLE_MS, self._run_all)
        elif page.status.why_no_run:
            remedy = "Choose a picture that can be filtered, or leave out --run."
            self.error = EngineError("Nothing can be run for the screenshot", page.status.why_no_run, remedy)
            self._app.quit()
        else:
            page.run_all()

    def _settle(self) -> None:
        QTimer.singleShot(SETTLE_MS, self._grab)

    def _grab(self) -> None:
        if self._haloscope.state.busy or not self._haloscope.window.page.is_settled:
            self._settle()
            return
        buffer = QBuffer()
        buffer.open(QIODevice.OpenModeFlag.WriteOnly)
        self._haloscope.window.grab().save(buffer, "PNG")
        self.png = bytes(buffer.data().data())
        self._app.quit()

    def _stop(self) -> None:
        self.was_stopped = True
        self._app.quit()
