"""From the command line to the window: the engine's process is started first, Qt is imported while it starts."""

import os
import sys
import time
from pathlib import Path

from engine.errors import DeviceUnavailable, EngineError
from engine.host.client import EngineClient
from engine.host.protocol import OpenPicture
from gui.engine_link.engine_start import FirstPicture, StartedEngine
from gui.shell.command_line import ScreenshotOptions, WindowOptions, parse

_IMPORTED_AT = time.perf_counter()
FIRST_SAMPLE = "astronaut"
BAD_INPUT, NO_DEVICE = 2, 3


def main(argv: list[str]) -> int:
    """Open the window or make a screenshot; return the exit status."""
    options = parse(argv)
    for path in (options.image, options.session):
        if path and not os.path.exists(path):
            return _complain(
                EngineError(
                    f"{path} cannot be opened",
                    "there is no such file or folder",
                    "Give a picture, or a command (`python main.py --help` lists them).",
                )
            )
    if isinstance(options, ScreenshotOptions) and sys.platform == "linux":
        # Without a screen too; the platform's own plugin would need one.
        os.environ["QT_QPA_PLATFORM"] = "offscreen"
    elif not _has_screen():
        return _complain(
            EngineError(
                "The window cannot be opened",
                "there is no screen (neither DISPLAY nor WAYLAND_DISPLAY is set)",
                "Start it on a desktop, or use a command: `python main.py --help` lists them.",
            )
        )
    engine = StartedEngine(EngineClient)
    first = None if options.session and not options.image else _open_first(engine, options)
    try:
        return _show(options, engine, first)
    except EngineError as error:
        return _complain(error)
    except ImportError as error:
        # Qt's libraries need some of the system's, which a bare Linux lacks.
        if ".so" not in str(error):
            raise
        remedy = "Install the system libraries that the README names for Linux."
        return _complain(EngineError("Qt cannot be loaded", str(error), remedy))
    finally:
        engine.client.shutdown()


def _show(
    options: WindowOptions | ScreenshotOptions, engine: StartedEngine, first: FirstPicture | None
) -> int:
    if isinstance(options, ScreenshotOptions):
        from gui.shell.screenshot import take_screenshot

        return take_screenshot(options, engine, first)
    from gui.shell.app import run_window

    return run_window(options, engine, first, process_age_ms)


def _open_first(engine: StartedEngine, options: WindowOptions | ScreenshotOptions) -> FirstPicture:
    if options.image:
        request = OpenPicture(path=str(Path(options.image).resolve()))
    else:
        request = OpenPicture(sample=FIRST_SAMPLE)
    return FirstPicture(request, engine.client.submit(request))


def _has_screen() -> bool:
    """Tell whether there is a screen; Qt would abort the program without one."""
    asked_for = ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM")
    return sys.platform != "linux" or any(os.environ.get(name) for name in asked_for)


def _complain(error: EngineError) -> int:
    sys.stderr.write(f"{error}\n")
    return NO_DEVICE if isinstance(error, DeviceUnavailable) else BAD_INPUT


def process_age_ms() -> tuple[float, str]:
    """Return how long this process has lived, milliseconds, and since which moment that was counted."""
    try:
        with open("/proc/self/stat", encoding="ascii") as file:
            # The name in brackets may hold blanks; the start time is the 20th word after it.
            ticks = int(file.read().rpartition(")")[2].split()[19])
        started_s = ticks / os.sysconf("SC_CLK_TCK")
        return (time.clock_gettime(time.CLOCK_BOOTTIME) - started_s) * 1000.0, "process start"
    except (OSError, ValueError, IndexError, AttributeError):
        return (time.perf_counter() - _IMPORTED_AT) * 1000.0, "import of the window's first module"
