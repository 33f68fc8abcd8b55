"""`screenshot`: the real window with the real engine, saved as PNG once everything is shown."""

from itertools import product
from pathlib import Path

from PySide6.QtCore import QBuffer, QEventLoop, QIODevice, QTimer

from engine import interrupts
from engine.errors import EngineError
from engine.files.atomic_write import atomic_write, check_other_file
from engine.files.standard_streams import log
from gui.engine_link.engine_start import FirstPicture, StartedEngine
from gui.page.contract import Begin
from gui.shell.app import Haloscope, make_application
from gui.shell.command_line import ScreenshotOptions
from gui.shell.pages import PAGES

# Layouts, plots and icons settle within a few turns of the event loop.
PAUSE_MS = 300


def take_screenshot(options: ScreenshotOptions, engine: StartedEngine, first: FirstPicture | None) -> int:
    """Save a picture of the window, or a gallery, and return the exit status.

    Raises EngineError where an option names something that cannot be used, or a file cannot be written.
    """
    # Kept until the end.
    app = make_application()
    haloscope = Haloscope(app, engine, theme=options.themes[0])
    haloscope.window.resize(*options.sizes[0])
    shots = _Shots(haloscope, options)
    haloscope.window.offer(begin_of(options, first))
    if options.page:
        haloscope.window.show_page(options.page)
    if options.panel:
        haloscope.window.page.bring_to_front(options.panel)
    with interrupts.calling(shots.stop):
        haloscope.window.show()
        try:
            shots.take()
        except _Stopped:
            written = f"{shots.written or 'no'} picture{'s were' if shots.written > 1 else ' was'} written"
            log(f"Stopped: {written}.")
        else:
            if options.gallery:
                log(f"{shots.written} pictures are in {options.gallery}.")
        finally:
            haloscope.window.close()
    return 0


def begin_of(options: ScreenshotOptions, first: FirstPicture | None = None) -> Begin:
    """Return what the window of a screenshot is opened with."""
    filtering = options.mask, options.variant, options.device, options.border, options.flip
    return Begin(first, options.session, *filtering, options.out)


class _Stopped(Exception):
    """Ctrl+C came."""


class _Shots:
    """Shows what is requested, one view after another, and saves each once all of it is there."""

    def __init__(self, haloscope: Haloscope, options: ScreenshotOptions) -> None:
        self._haloscope, self._window, self._options = haloscope, haloscope.window, options
        self.written = 0
        self._is_stopped = False
        # What became of the first result; later ones come from what is run or shown.
        self._outcomes: list[EngineError | None] = []
        self._window.first_page.completed.connect(self._outcomes.append)

    def stop(self) -> None:
        """Take no more. Called on: any thread."""
        self._is_stopped = True

    def take(self) -> None:
        """Show and save; raise _Stopped, or the EngineError of the first result."""
        options = self._options
        while not self._outcomes:
            self._pass_time()
        if (error := self._outcomes[0]) is not None:
            raise error
        self._pass_time()
        self._rest()
        shows_all = options.gallery and not options.page
        for key in [entry.key for entry in PAGES] if shows_all else [options.page]:
            if key:
                self._window.show_page(key)
                self._rest()
            page = self._window.page
            if options.run:
                if (why := page.status.why_no_run) and not options.gallery:
                    remedy = "Choose a picture that can be filtered, or leave out --run."
                    raise EngineError("Nothing can be run for the screenshot", why, remedy)
                if not why:
                    page.run_all()
                    self._rest()
            if not options.gallery:
                self._save(Path(options.out))
                return
            for theme, (width, height) in product(options.themes, options.sizes):
                self._haloscope.preferences.show_theme(theme)
                self._window.resize(width, height)
                sharing = (panel.objectName() for panel in page.panels if not panel.is_alone)
                # None at first, then those that share a place.
                for panel in [options.panel] if options.panel else ["", *sharing]:
                    if panel:
                        page.bring_to_front(panel)
                    self._rest()
                    name = "-".join(filter(None, (page.objectName(), panel, f"{width}x{height}", theme)))
                    self._save(Path(options.gallery, f"{name}.png"))
                page.restore_default()

    def _rest(self) -> None:
        """Wait until what was shown or run is on the screen: what has just come may not be painted yet."""
        state, was_at_rest, is_at_rest = self._haloscope.state, False, not self._haloscope.state.busy
        while not (was_at_rest and is_at_rest):
            self._pass_time()
            was_at_rest, is_at_rest = is_at_rest, not state.busy and self._window.is_complete

    def _pass_time(self) -> None:
        loop = QEventLoop()
        QTimer.singleShot(PAUSE_MS, loop.quit)
        loop.exec()
        if self._is_stopped:
            raise _Stopped

    def _save(self, path: Path) -> None:
        """Write the window as it is shown; never over what it was opened with."""
        for source in filter(None, (self._options.image, self._options.session)):
            check_other_file(str(path), source, "Give the pictures another folder or name.")
        buffer = QBuffer()
        buffer.open(QIODevice.OpenModeFlag.WriteOnly)
        self._window.grab().save(buffer, "PNG")
        atomic_write(path, bytes(buffer.data().data()))
        self.written += 1
