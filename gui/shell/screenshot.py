"""`screenshot`: the real window with the real engine, saved as PNG once everything is shown."""

from collections.abc import Iterator
from itertools import product
from pathlib import Path

from PySide6.QtCore import QBuffer, QIODevice, QObject, Qt, QTimer, Signal
from PySide6.QtWidgets import QApplication

from engine import interrupts
from engine.errors import EngineError
from engine.files.atomic_write import atomic_write, check_other_file
from engine.files.standard_streams import log
from gui.engine_link.engine_start import FirstPicture, StartedEngine
from gui.page.contract import Begin, Page
from gui.shell.app import Haloscope, make_application
from gui.shell.command_line import ScreenshotOptions
from gui.shell.pages import PAGES

# Layouts, plots and icons settle within a few turns of the event loop.
SETTLE_MS = 300


def take_screenshot(options: ScreenshotOptions, engine: StartedEngine, first: FirstPicture | None) -> int:
    """Save a picture of the window, or a gallery, and return the exit status.

    Raises
    ------
    EngineError
        An option names something that does not exist or cannot be used, or a file cannot be written.
    """
    app = make_application()
    haloscope = Haloscope(app, engine, theme=options.themes[0])
    haloscope.window.resize(*options.sizes[0])
    shots = _Shots(app, haloscope, options)
    haloscope.window.offer(begin_of(options, first))
    if options.page:
        haloscope.window.show_page(options.page)
    if options.panel:
        haloscope.window.page.bring_to_front(options.panel)
    with interrupts.calling(shots.stopped.emit):
        haloscope.window.show()
        app.exec()
    if shots.error is not None:
        raise shots.error
    if shots.was_stopped:
        log(f"Stopped: {shots.written or 'no'} picture{'s were' if shots.written > 1 else ' was'} written.")
    elif options.gallery:
        log(f"{shots.written} pictures are in {options.gallery}.")
    return 0


def begin_of(options: ScreenshotOptions, first: FirstPicture | None = None) -> Begin:
    """Return what the window of a screenshot is opened with."""
    filtering = options.mask, options.variant, options.device, options.border, options.flip
    return Begin(first, options.session, *filtering, options.out)


class _Shots(QObject):
    """Shows what is asked for, one view after another, and saves each once all of it is there."""

    stopped = Signal()  # Ctrl+C. Emitted on: any thread

    def __init__(self, app: QApplication, haloscope: Haloscope, options: ScreenshotOptions) -> None:
        super().__init__()
        self._app = app
        self._haloscope = haloscope
        self._window = haloscope.window
        self._options = options
        self._steps = self._take()
        self._timer = QTimer(self, singleShot=True, interval=SETTLE_MS)
        self._timer.timeout.connect(self._go_on)
        self.error: EngineError | None = None
        self.was_stopped = False
        self.written = 0
        self._was_at_rest = False
        self._window.first_page.settled.connect(self._begin)
        self.stopped.connect(self._stop, Qt.ConnectionType.QueuedConnection)

    def _begin(self, error: EngineError | None) -> None:
        """Begin when the first result is shown; later ones come from what is run or looked at."""
        self._window.first_page.settled.disconnect(self._begin)
        if error is not None:
            self._end(error)
        else:
            self._timer.start()

    def _go_on(self) -> None:
        """Take the next step once the last one is shown."""
        is_at_rest = not self._haloscope.state.busy and self._window.is_settled
        # What has just come may not be painted yet.
        if is_at_rest and self._was_at_rest:
            try:
                next(self._steps)
            except StopIteration:
                self._end(None)
                return
            except EngineError as error:
                self._end(error)
                return
        self._was_at_rest = is_at_rest and not self._haloscope.state.busy
        self._timer.start()

    def _take(self) -> Iterator[None]:
        """Show and save; each `yield` waits until what was shown or run is on the screen."""
        options = self._options
        shows_all = options.gallery and not options.page
        for key in [entry.key for entry in PAGES] if shows_all else [options.page]:
            if key:
                self._window.show_page(key)
                yield
            page = self._window.page
            if options.run:
                if (why := page.status.why_no_run) and not options.gallery:
                    remedy = "Choose a picture that can be filtered, or leave out --run."
                    raise EngineError("Nothing can be run for the screenshot", why, remedy)
                if not why:
                    page.run_all()
                    yield
            if not options.gallery:
                self._save(Path(options.out))
                return
            for theme, (width, height) in product(options.themes, options.sizes):
                self._haloscope.preferences.show_theme(theme)
                self._window.resize(width, height)
                for panel in self._panels(page):
                    if panel:
                        page.bring_to_front(panel)
                    yield
                    name = "-".join(filter(None, (page.objectName(), panel, f"{width}x{height}", theme)))
                    self._save(Path(options.gallery, f"{name}.png"))
                page.restore_default()

    def _panels(self, page: Page) -> list[str]:
        """Return the panels to be raised, one after another: none at first, then those that share a place."""
        if self._options.panel:
            return [self._options.panel]
        return ["", *(panel.objectName() for panel in page.panels if not panel.is_alone)]

    def _save(self, path: Path) -> None:
        """Write the window as it is shown; never over what it was opened with."""
        for source in filter(None, (self._options.image, self._options.session)):
            check_other_file(str(path), source, "Give the pictures another folder or name.")
        buffer = QBuffer()
        buffer.open(QIODevice.OpenModeFlag.WriteOnly)
        self._window.grab().save(buffer, "PNG")
        atomic_write(path, bytes(buffer.data().data()))
        self.written += 1

    def _end(self, error: EngineError | None) -> None:
        self.error = error
        self._app.quit()

    def _stop(self) -> None:
        self._timer.stop()
        self.was_stopped = True
        self._app.quit()
