"""The real program in a separate X server, driven by keys and clicks as a person does. Linux only.

Nothing of the program is imported here: that hid faults which only `python main.py` has. What is known of it
is what anybody sees: window titles, pixels, its files, its exit status.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
import zlib
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
from PIL import Image

MAIN = Path(__file__).parents[1] / "main.py"
PROGRAMS = "Xvfb", "openbox", "xdotool"
# A start takes 2 s, and 20 s before anything is compiled; what takes longer is taken to hang.
PATIENCE_S = 60.0
# A look reads 60 files of /proc: four of them in a rest.
_LOOK_EVERY_S = 0.1
# Shorter than the blinking of a text cursor, longer than a slow repaint.
_REST_S = 0.3
# Windows are focused and raised; none of the shortcuts and menus that a random click could meet.
_WINDOW_MANAGER = """<openbox_config xmlns="http://openbox.org/3.4/rc"><theme><titleLayout>L</titleLayout></theme>
<mouse><context name="Client"><mousebind button="Left" action="Press"><action name="Focus"/>
<action name="Raise"/></mousebind></context></mouse></openbox_config>
"""
_SEGMENTS = Path("/dev/shm")


def missing_programs() -> list[str]:
    """Return which of the programs that this needs are not installed."""
    return [name for name in PROGRAMS if shutil.which(name) is None]


def wait_until(condition: Callable[[], Any], what: str, limit_s: float = PATIENCE_S) -> Any:
    """Look again and again until something holds; return it, or raise TimeoutError."""
    end = time.monotonic() + limit_s
    while not (found := condition()):
        if time.monotonic() > end:
            raise TimeoutError(f"after {limit_s:g} s still not: {what}")
        time.sleep(_LOOK_EVERY_S)
    return found


class Screen:
    """An X server with a window manager; what happens on it is not seen on any other."""

    def __init__(self, folder: Path, width: int = 1280, height: int = 800) -> None:
        if missing := missing_programs():
            raise FileNotFoundError(f"not installed: {', '.join(missing)}")
        self.width, self.height = width, height
        read, write = os.pipe()
        command = ["Xvfb", "-displayfd", str(write), "-screen", "0", f"{width}x{height}x24"]
        # Without auto-repeat: on a loaded machine a key that is pressed and let go at once is held for long.
        command += ["-r", "-nolisten", "tcp", "-noreset", "-fbdir", str(folder)]
        self._server = subprocess.Popen(command, pass_fds=[write], stderr=subprocess.DEVNULL)
        os.close(write)
        with os.fdopen(read) as pipe:
            number = pipe.readline().strip()
        if not number:
            raise RuntimeError(f"Xvfb ended with status {self._server.wait()}")
        self.environment = os.environ | {"DISPLAY": f":{number}", "HOME": str(folder)}
        settings = folder / "openbox.xml"
        settings.write_text(_WINDOW_MANAGER)
        self._manager = subprocess.Popen(
            ["openbox", "--config-file", str(settings)],
            env=self.environment | {f"XDG_{kind}_HOME": str(folder) for kind in ("CACHE", "CONFIG", "DATA")},
            stderr=subprocess.DEVNULL,
        )
        try:
            wait_until(lambda: self.xdotool("get_num_desktops"), "a window manager")
        except TimeoutError:
            self.close()
            raise
        self._pixels = _frame_buffer(folder / "Xvfb_screen0")

    def xdotool(self, *words: object) -> str:
        """Press, move or ask; return the answer, empty where there is none."""
        command = ["xdotool", *map(str, words)]
        found = subprocess.run(command, env=self.environment, capture_output=True, text=True, check=False)
        return found.stdout.strip() if not found.returncode else ""

    @property
    def titles(self) -> list[str]:
        """The titles of the windows that are shown; dialogs and floating panels have their own."""
        numbers = self.xdotool("search", "--onlyvisible", "--name", ".").split()
        return [self.xdotool("getwindowname", number) for number in numbers]

    @property
    def focused(self) -> str:
        """The title of the window that takes the keys."""
        return self.xdotool("getactivewindow", "getwindowname")

    @property
    def processes(self) -> tuple[int, int]:
        """The server and the window manager."""
        return self._server.pid, self._manager.pid

    def pixels(self) -> np.ndarray:
        """Return what the screen shows: (height, width, 3), RGB."""
        return np.array(self._pixels[:, : self.width, 2::-1])

    def has(self, colour: int) -> np.ndarray:
        """Return where the screen has a colour, 0xRRGGBB: (height, width), in a fifth of a copy's time."""
        words = self._pixels.view("<u4")[:, : self.width, 0]
        return words & 0xFFFFFF == colour

    def checksum(self) -> int:
        """Return a number that differs where the pixels do.

        Of every fourth row, less than a cursor or a letter has: all of them take 1.3 ms at each look.
        """
        return zlib.crc32(np.ascontiguousarray(self._pixels[::4]))

    def save(self, path: Path) -> Path:
        """Keep what the screen shows as a picture."""
        Image.fromarray(self.pixels()).save(path)
        return path

    def drag(self, start: tuple[object, ...], end: tuple[object, ...], is_dropped: bool = True) -> None:
        """Drag from one point to another; each is a window's number, x and y within it."""
        words: list[object] = ["mousemove", "--window", *start, "mousedown", 1]
        # In steps, as a hand does: what is dragged first has to notice that it is.
        for step in (4, 12, 24):
            words += ["sleep", 0.03, "mousemove_relative", step, step]
        for back in (8, 0):
            words += ["sleep", 0.03, "mousemove", "--window", end[0], int(str(end[1])) - back, end[2]]
        words += ["sleep", 0.03, "mouseup", 1] if is_dropped else []
        self.xdotool(*words)

    def close(self) -> None:
        """End the window manager and the server."""
        for process in (self._manager, self._server):
            process.terminate()
            process.wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: TracebackType | None) -> None:
        self.close()


def _frame_buffer(path: Path) -> np.ndarray:
    """Return the server's own pixels, (height, bytes of a row / 4, BGRX): an XWD file that it maps."""
    header = np.fromfile(path, ">u4", 25)
    header_bytes, height, row_bytes, colours = (int(header[at]) for at in (0, 5, 12, 19))
    shape = (height, row_bytes // 4, 4)
    return np.memmap(path, np.uint8, "r", header_bytes + 12 * colours, shape)


class Program:
    """A process of `main.py` on a screen, with its own home, settings and logs, and everybody's cache."""

    def __init__(self, screen: Screen, home: Path, *arguments: str, title: str = "Haloscope") -> None:
        self.screen, self.home = screen, home
        home.mkdir(parents=True, exist_ok=True)
        cache = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
        environment = screen.environment | {
            "HOME": str(home),
            "XDG_CONFIG_HOME": str(home / "config"),
            "XDG_DATA_HOME": str(home / "data"),
            "XDG_STATE_HOME": str(home / "state"),
            "XDG_CACHE_HOME": cache,
            "QT_QPA_PLATFORM": "xcb",
        }
        self._said = home / "said.txt"
        with self._said.open("ab") as said:
            self.process = subprocess.Popen(
                [sys.executable, str(MAIN), *arguments],
                cwd=home, env=environment, stdin=subprocess.DEVNULL, stdout=said, stderr=said,
                start_new_session=True,
            )  # fmt: skip
        self._segments: set[str] = set()
        self._engines: set[int] = set()
        try:
            self.window = self.wait_until(lambda: self._main_window(title), f"a window '{title}'")
            self.wait_for_rest()
        except BaseException:
            self.kill()
            raise

    def _main_window(self, title: str) -> str:
        asked = "search", "--all", "--onlyvisible", "--pid", self.process.pid, "--name", re.escape(title)
        return self.screen.xdotool(*asked).partition("\n")[0]

    # What a person does. Coordinates are within the window, in pixels.

    def press(self, *keys: str) -> None:
        """Press keys one after the other, such as "ctrl+o"."""
        self.screen.xdotool("key", "--clearmodifiers", *keys)

    def type(self, text: str) -> None:
        """Type a text."""
        self.screen.xdotool("type", "--delay", 4, text)

    def click(self, x: int, y: int, times: int = 1, button: int = 1) -> None:
        """Click into the window."""
        self.screen.xdotool("mousemove", "--window", self.window, x, y, "click", "--repeat", times, button)

    def drag(self, start: tuple[int, int], end: tuple[int, int]) -> None:
        """Drag within the window."""
        self.screen.drag((self.window, *start), (self.window, *end))

    # What a person sees.

    @property
    def title(self) -> str:
        """The title of the main window."""
        return self.screen.xdotool("getwindowname", self.window)

    @property
    def has_ended(self) -> bool:
        """Whether the process is gone."""
        self._note_what_it_holds()
        return self.process.poll() is not None

    def wait_until(self, condition: Callable[[], Any], what: str, limit_s: float = PATIENCE_S) -> Any:
        """Wait until something holds; raise RuntimeError where the program ends before, or TimeoutError."""

        def holds() -> Any:
            found = condition()
            if not found and self.has_ended:
                raise RuntimeError(f"the program ended while it was waited for {what}\n{self.report()}")
            return found

        try:
            return wait_until(holds, what, limit_s)
        except TimeoutError as error:
            raise TimeoutError(f"{error}\n{self.report()}") from None

    def wait_for_rest(self) -> None:
        """Wait until the program does nothing and the screen does not change, for a moment."""
        last, since = -1, time.monotonic()

        def rests() -> bool:
            nonlocal last, since
            now = self.screen.checksum() if self.is_idle else -1
            if now != last or now < 0:
                last, since = now, time.monotonic()
            return time.monotonic() - since >= _REST_S

        self.wait_until(rests, "a program at rest")

    @property
    def is_idle(self) -> bool:
        """Whether no thread of the program, its engine or the screen works, or waits for a core."""
        self._note_what_it_holds()
        # A key that was pressed may still be the server's or the window manager's.
        processes = self.process.pid, *self._engines, *self.screen.processes
        return not any(_state(thread) in "RD" for pid in processes for thread in _threads(pid))

    # What must hold.

    @property
    def log(self) -> str:
        """The crash log: unexpected errors, each also shown as a message, and faulthandler's dumps."""
        paths = self.home.rglob("crash.log")
        return "".join(path.read_text(encoding="utf-8", errors="replace") for path in paths)

    @property
    def said(self) -> str:
        """What the program wrote on stdout and stderr."""
        return self._said.read_text(encoding="utf-8", errors="replace")

    def complaints(self) -> list[str]:
        """Return what is wrong with the program, living or ended; nothing is right."""
        wrong = []
        if not list(self.home.rglob("crash.log")):
            wrong.append("it has no crash log: it did not start")
        if self.log:
            wrong.append("its crash log is not empty")
        if self.said:
            wrong.append("it wrote on its terminal")
        if self.has_ended:
            if self.process.returncode:
                wrong.append(f"it ended with status {self.process.returncode}")
            wrong += self._left()
        return wrong

    def _left(self) -> list[str]:
        """Return what an ended program has left, after a moment for its engine's process to end too."""
        if not self._segments:
            return ["its shared memory was never seen, so nothing is known of what it left"]

        def left() -> list[str]:
            living = [pid for pid in self._engines if _state(f"/proc/{pid}") not in "ZX"]
            names = [path.name for path in _SEGMENTS.iterdir() if path.name.startswith(tuple(self._segments))]
            return [f"process {pid} is left" for pid in living] + [f"{name} is left" for name in names]

        try:
            wait_until(lambda: not left(), "the end of the engine")
        except TimeoutError:
            return left()
        return []

    def report(self) -> str:
        """Return what is known of a failure, in text, with the path of a picture."""
        picture = self.screen.save(self.home / "screen.png")
        parts = {
            "its picture": str(picture),
            "its windows": f"{self.screen.titles}, of which '{self.screen.focused}' takes the keys",
            "on its terminal": self.said,
            "in its crash log": self.log,
        }
        return "\n".join(f"--- {where}:\n{text[-8000:]}" for where, text in parts.items() if text)

    def _note_what_it_holds(self) -> None:
        """Note its engines, and the prefix of the names of its shared memory, while it lives."""
        try:
            children_of = [_read(f"{thread}/children") for thread in _threads(self.process.pid)]
            # All have the prefix of its client; to read 2,000 lines at each look took a fifth of the time.
            maps = "" if self._segments else _read(f"/proc/{self.process.pid}/maps")
        except OSError:
            return
        self._engines.update(int(pid) for children in children_of for pid in children.split())
        self._segments.update(f"{name}-" for name in re.findall(r"/dev/shm/(haloscope-[0-9a-f]+)-", maps))

    def quit(self) -> int:
        """Quit with the key, as a person does, and discard what is not saved; return the exit status."""
        self._note_what_it_holds()
        self.press("ctrl+q")
        asked = {""}

        def asks_anew() -> bool:
            window = self.screen.xdotool("getactivewindow")
            if self.screen.focused != "Close Haloscope" or window in asked:
                return False
            asked.add(window)
            return True

        # About files, then about work.
        while wait_until(lambda: self.has_ended or asks_anew(), "the end, or a question"):
            if self.has_ended:
                break
            # The underlined letter of Discard.
            self.press("alt+d")
        return self.wait_for_end()

    def crash(self) -> None:
        """End the program, not its engine, as nothing that it could notice does (SIGKILL)."""
        self._note_what_it_holds()
        self.process.kill()
        self.process.wait()

    def wait_for_end(self, limit_s: float = PATIENCE_S) -> int:
        """Wait until the program has ended; return its exit status."""
        wait_until(lambda: self.has_ended, "the program's end", limit_s)
        return self.process.returncode

    def kill(self) -> None:
        """End it at once where it still lives, and clear away what it left."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        for path in _SEGMENTS.iterdir():
            if path.name.startswith(tuple(self._segments)):
                path.unlink(missing_ok=True)


def _read(path: str) -> str:
    """Return the text of a file of /proc; a look reads 40, and `Path.read_text` takes half as long again."""
    with open(path, "rb", buffering=0) as file:
        return file.readall().decode()


def _threads(pid: int) -> list[str]:
    """Return the threads of a process, folders in /proc; none of one that is gone."""
    try:
        return [f"/proc/{pid}/task/{number}" for number in os.listdir(f"/proc/{pid}/task")]
    except OSError:
        return []


def _state(process: str) -> str:
    """Return the letter of a process or thread in /proc: R runs, S waits, Z has ended, as X."""
    try:
        return _read(f"{process}/stat").rpartition(")")[2].split()[0]
    except OSError:
        return "X"
