"""The real program in an X server of its own, driven by keys and clicks as a person does. Linux only.

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
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
from PIL import Image

MAIN = Path(__file__).parents[1] / "main.py"
PROGRAMS = "Xvfb", "openbox", "xdotool"
# A start takes 2 s on a free core, and 20 s before anything is compiled; what takes longer is taken to hang.
PATIENCE_S = 60.0
_LOOK_EVERY_S = 0.02
# Shorter than the blinking of a text cursor, longer than a slow repaint.
_REST_S = 0.3
# Windows are focused, raised, moved; none of the shortcuts and menus that a random click could meet.
_WINDOW_MANAGER = """<openbox_config xmlns="http://openbox.org/3.4/rc"><theme><titleLayout>L</titleLayout></theme>
<mouse><context name="Client"><mousebind button="Left" action="Press"><action name="Focus"/>
<action name="Raise"/></mousebind></context><context name="Titlebar"><mousebind button="Left" action="Drag">
<action name="Move"/></mousebind></context></mouse></openbox_config>
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
        self.width, self.height = width, height
        self._folder = folder
        read, write = os.pipe()
        command = ["Xvfb", "-displayfd", str(write), "-screen", "0", f"{width}x{height}x24"]
        command += ["-nolisten", "tcp", "-noreset", "-fbdir", str(folder)]
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
        wait_until(lambda: self.xdotool("get_num_desktops"), "a window manager")
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

    def pixels(self) -> np.ndarray:
        """Return what the screen shows: (height, width, 3), RGB."""
        return np.array(self._pixels[:, : self.width, 2::-1])

    def save(self, path: Path) -> Path:
        """Keep what the screen shows as a picture."""
        Image.fromarray(self.pixels()).save(path)
        return path

    def wait_for_rest(self) -> None:
        """Wait until the screen has not changed for a moment."""
        last, since = self.pixels(), time.monotonic()

        def rests() -> bool:
            nonlocal last, since
            now = self.pixels()
            if not np.array_equal(now, last):
                last, since = now, time.monotonic()
            return time.monotonic() - since >= _REST_S

        wait_until(rests, "a screen at rest")

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
            self.screen.wait_for_rest()
        except BaseException:
            self.kill()
            raise

    def _main_window(self, title: str) -> str:
        asked = "search", "--all", "--onlyvisible", "--pid", self.process.pid, "--name", re.escape(title)
        return self.screen.xdotool(*asked).partition("\n")[0]

    # What a person does. Places are within the window, in pixels.

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
        """Drag from a place to another one, in steps as a hand does."""
        steps = [tuple(a + (b - a) * part // 8 for a, b in zip(start, end, strict=True)) for part in range(9)]
        words: list[object] = []
        for at, (x, y) in enumerate(steps):
            words += ["mousemove", "--window", self.window, x, y]
            words += ["mousedown", 1] if at == 0 else ["sleep", 0.02]
        self.screen.xdotool(*words, "mouseup", 1)

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
        """Wait until something holds; raise RuntimeError as soon as the program ends before."""

        def holds() -> Any:
            found = condition()
            if not found and self.has_ended:
                raise RuntimeError(f"the program ended while it was waited for {what}\n{self.report()}")
            return found

        return wait_until(holds, what, limit_s)

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
            engines = [f"process {pid} is left" for pid in self._engines if _lives(pid)]
            names = [path.name for path in _SEGMENTS.iterdir()]
            return engines + [
                f"shared memory {name} is left" for name in names if name.startswith(tuple(self._segments))
            ]

        try:
            wait_until(lambda: not left(), "the end of the engine", 10.0)
        except TimeoutError:
            return left()
        return []

    def report(self) -> str:
        """Return what is known of a failure, in text."""
        parts = {"on its terminal": self.said, "in its crash log": self.log}
        return "\n".join(f"--- {where}:\n{text[-8000:]}" for where, text in parts.items() if text)

    def _note_what_it_holds(self) -> None:
        """Note its engines, and the prefix of the names of its shared memory, while it lives."""
        own = Path(f"/proc/{self.process.pid}")
        try:
            tasks = [(task / "children").read_text() for task in (own / "task").iterdir()]
            maps = (own / "maps").read_text()
        except OSError:
            return
        self._engines.update(int(pid) for children in tasks for pid in children.split())
        self._segments.update(f"{name}-" for name in re.findall(r"/dev/shm/(haloscope-[0-9a-f]+)-", maps))

    def quit(self) -> int:
        """Quit with the key, as a person does; return the exit status."""
        self._note_what_it_holds()
        self.press("ctrl+q")
        wait_until(lambda: self.has_ended, "the program's end")
        return self.process.returncode

    def kill(self) -> None:
        """End it at once, with its engine, where it still lives."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
            for path in _SEGMENTS.iterdir():
                if path.name.startswith(tuple(self._segments)):
                    path.unlink(missing_ok=True)


def _lives(pid: int) -> bool:
    """Return whether a process is there and has not ended; the system may take its time to forget it."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False
