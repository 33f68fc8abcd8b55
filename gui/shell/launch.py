"""Starts the engine's process first, imports Qt while it starts, then opens the window."""

import os
import sys
import time
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from pathlib import Path

from engine import interrupts
from engine.errors import DeviceUnavailable, EngineError
from engine.files.atomic_write import check_other_file, check_place, make_folder
from engine.files.standard_streams import log, log_path, note_error, print_answer
from engine.host.client import EngineClient
from engine.host.protocol import OpenPicture
from engine.process import leave_out_float_warnings, shortage_of, too_low_limit
from engine.remote.ssh import RemoteServer
from gui.engine_link.engine_start import FirstPicture, StartedEngine
from gui.shell.command_line import ScreenshotOptions, WindowOptions, parse

_IMPORTED_AT = time.perf_counter()
FIRST_SAMPLE = "astronaut"
UNEXPECTED, BAD_INPUT, NO_DEVICE = 1, 2, 3
# Qt and GLib end the process where they get no more. After a table of the course was measured the window has
# 23 files open and takes 850 MB of addresses, the engine's process 11 and 980 MB (2 cores).
NEEDED_FILES, NEEDED_BYTES = 64, 1 << 30
_QT = "PySide6", "pyqtgraph", "qtawesome"
_NOT_OPENED = "The window cannot be opened"
# By these the screen is known.
_SCREENS = "DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"


def main(argv: list[str]) -> int:
    """Open the window or make a screenshot; return the exit status."""
    leave_out_float_warnings()
    options = parse(argv)
    if isinstance(options, str):
        from gui.shell.completion import script

        return print_answer(script(options))
    if missing := [name for name in _QT if find_spec(name) is None]:
        return _complain(EngineError(f"The window needs {missing[0]}", "pip install 'haloscope[gui]'"))
    try:
        _check_files(options)
        make_client: Callable[..., EngineClient] = EngineClient
        if isinstance(options, WindowOptions) and options.host:
            make_client = partial(EngineClient, remote=RemoteServer(options.host, options.host_python))
    except EngineError as error:
        return _complain(error)
    too_low = too_low_limit(_NOT_OPENED, NEEDED_FILES, NEEDED_BYTES)
    if too_low is not None:
        return _complain(too_low)
    if isinstance(options, ScreenshotOptions) and sys.platform == "linux":
        # Without a screen too; the platform's own plugin would need one.
        os.environ["QT_QPA_PLATFORM"] = "offscreen"
    elif sys.platform == "linux" and not any(map(os.environ.get, _SCREENS)):
        # Qt would abort the program.
        why = "there is no screen (neither DISPLAY nor WAYLAND_DISPLAY is set)"
        remedy = "Start it on a desktop, or use a command: `python main.py --help` lists them."
        return _complain(EngineError(_NOT_OPENED, why, remedy))
    engine = StartedEngine(make_client, lambda client: interrupts.before_leaving(client.shutdown))
    first = None
    if options.image or not options.session:
        path = str(Path(options.image).resolve()) if options.image else ""
        request = OpenPicture(path=path, sample="" if path else FIRST_SAMPLE)
        first = FirstPicture(request, engine.client.submit(request))
    try:
        if isinstance(options, ScreenshotOptions):
            from gui.shell.screenshot import take_screenshot

            return interrupts.exit_status(take_screenshot(options, engine, first))
        from gui.shell.app import run_window

        return interrupts.exit_status(run_window(options, engine, first, process_age_ms))
    except EngineError as error:
        return _complain(error)
    except Exception as error:  # noqa: BLE001 - the process's boundary: no window can show it
        note_error(error)
        if (shortage := shortage_of(error)) is not None:
            return _complain(shortage)
        # Qt's libraries need some of the system's, which a bare Linux lacks.
        if isinstance(error, ImportError) and ".so" in str(error):
            remedy = "Install the system libraries that docs/install.md names for Linux."
            return _complain(EngineError("Qt cannot be loaded", str(error), remedy))
        why = f"{type(error).__name__}: {error}"
        _complain(EngineError("Something went wrong", why, f"The details are in {log_path()}."))
        return UNEXPECTED
    finally:
        engine.client.shutdown()


def _check_files(options: WindowOptions | ScreenshotOptions) -> None:
    """Raise EngineError for what cannot be opened or written, before anything is started."""
    for path in (options.image, options.session):
        if path and not os.path.exists(path):
            remedy = "Give a picture, or a command (`python main.py --help` lists them)."
            raise EngineError(f"{path} cannot be opened", "there is no such file or folder", remedy)
    if isinstance(options, ScreenshotOptions) and options.gallery:
        make_folder(options.gallery)
    elif isinstance(options, ScreenshotOptions):
        check_place(options.out)
        if options.image:
            check_other_file(options.out, options.image)


def _complain(error: EngineError) -> int:
    log(str(error))
    return NO_DEVICE if isinstance(error, DeviceUnavailable) else BAD_INPUT


def process_age_ms() -> tuple[float, str]:
    """Return the age of this process in milliseconds, and what it is counted from."""
    try:
        with open("/proc/self/stat", encoding="ascii") as file:
            # The name in brackets may hold blanks; the start time is the 20th word after it.
            ticks = int(file.read().rpartition(")")[2].split()[19])
        started_s = ticks / os.sysconf("SC_CLK_TCK")
        return (time.clock_gettime(time.CLOCK_BOOTTIME) - started_s) * 1000.0, "process start"
    except (OSError, ValueError, IndexError, AttributeError):
        return (time.perf_counter() - _IMPORTED_AT) * 1000.0, "import of the window's first module"
