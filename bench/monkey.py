"""Random clicks, drags, turns of the wheel and keys over all pages of the real program: does it live on?

`python main.py` runs in a separate X server, with a temporary home folder, and is quit at the end. What must
hold then, and whenever it was quit on the way: its crash log is empty (so nothing said "Something went
wrong"), it wrote nothing on its terminal, its exit status is 0, and no process or shared memory is left. The
n-th event depends on the seed and on n alone. Needs Xvfb, openbox and xdotool; Linux only.

python -m bench.monkey --seconds 180
python -m bench.monkey --seconds 180 --seed 7      (an earlier walk again)
"""

import random
import shutil
import signal
import sys
import tempfile
import time
from collections import deque
from contextlib import suppress
from pathlib import Path

from bench.options import parser_of
from bench.real_window import Program, Screen, missing_programs

PAUSE_S = 0.1
DUMP_S = 2.0
KEPT_EVENTS = 20
# The smallest window that there is, the first one, and between them.
SIZES = (1024, 640), (1024, 700), (1150, 720), (1278, 775)
FILE_DIALOGS = "Open ", "Save ", "Folder ", "Pictures", "Results"
PAGES = [f"alt+{number}" for number in (1, 2, 3, 4)]
# Not Ctrl+Q: ends are met through the menu now and then, and one stands at the end of each walk.
KEYS = """
ctrl+z ctrl+y ctrl+r F5 ctrl+shift+r F1 F3 shift+F1 Tab shift+Tab Return space Up Down Left Right Home End
Page_Up Page_Down Delete BackSpace ctrl+a ctrl+c ctrl+v ctrl+x ctrl+shift+c ctrl+shift+Delete ctrl+0 ctrl+1
plus minus ctrl+e ctrl+o ctrl+s ctrl+shift+s ctrl+m ctrl+shift+m ctrl+shift+l ctrl+alt+1
ctrl+alt+2 ctrl+alt+3 ctrl+alt+4 ctrl+alt+5 alt+f alt+e alt+v alt+r alt+h 0 1 2 3 5 7 9 period comma slash
ctrl+shift+p F11 F12 ctrl+comma ctrl+alt+m ctrl+alt+g ctrl+alt+x ctrl+shift+t ctrl+g ctrl+l ctrl+b
ctrl+shift+x
""".split()  # noqa: SIM905 - sixty quotes less


class Walk:
    """The events of a seed, as words for xdotool."""

    def __init__(self, seed: int, screen: Screen) -> None:
        self._random = random.Random(seed)
        self._width, self._height = screen.width, screen.height

    def _place(self) -> tuple[object, ...]:
        # The window may have floating panels beside it: any point of the screen.
        return "mousemove", self._random.randrange(self._width), self._random.randrange(self._height)

    def next(self, window: str) -> tuple[object, ...]:
        """Return the next event; `window` is the number of the main window."""
        chance = self._random.random
        kind = chance()
        if kind < 0.40:
            times, button = 2 if chance() < 0.2 else 1, self._random.choice((1, 1, 1, 3))
            return *self._place(), "click", "--repeat", times, "--delay", 30, button
        if kind < 0.54:
            start, end = self._place(), self._place()
            between = "sleep", 0.02, *self._place(), "sleep", 0.02
            return *start, "mousedown", 1, *between, *end, "sleep", 0.02, "mouseup", 1
        if kind < 0.62:
            turns = self._random.randint(1, 5)
            return *self._place(), "click", "--repeat", turns, "--delay", 5, self._random.choice((4, 5))
        if kind < 0.69:
            return "key", self._random.choice(PAGES)
        if kind < 0.76:
            # Closes menus and dialogs, which otherwise take all the rest.
            return "key", "Escape"
        if kind < 0.77:
            return "windowsize", window, *self._random.choice(SIZES)
        return "key", self._random.choice(KEYS)


def main() -> int:
    """Walk as long as asked; return 1 if anything was wrong."""
    parser = parser_of(__doc__)
    parser.add_argument("--seconds", type=float, default=180, help="(default %(default)s)")
    parser.add_argument("--seed", type=int, help="repeats a walk; a random one by default")
    options = parser.parse_args()
    if missing := missing_programs():
        print(f"not installed: {', '.join(missing)}", file=sys.stderr)
        return 2
    seed = random.randrange(10_000) if options.seed is None else options.seed
    print(f"seed {seed}", flush=True)
    folder = Path(tempfile.mkdtemp(prefix="haloscope-monkey-"))
    # Where `timeout` or a shell ends the walk, the screen and the program on it end too.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with Screen(folder) as screen:
        wrong = _walk(screen, folder, seed, options.seconds)
    if not wrong:
        shutil.rmtree(folder)
    return 1 if wrong else 0


def _walk(screen: Screen, folder: Path, seed: int, seconds: float) -> list[str]:
    walk, latest = Walk(seed, screen), deque[str](maxlen=KEPT_EVENTS)
    program, starts, events = Program(screen, folder / "home"), 1, 0
    wrong: list[str] = []
    end = time.monotonic() + seconds
    try:
        while not wrong and time.monotonic() < end:
            words = walk.next(program.window)
            if screen.focused.startswith(FILE_DIALOGS) and (words[0] != "key" or "Delete" in words):
                # Three clicks there, or two keys, delete a folder of whoever walks.
                words = "key", "Escape"
            events += 1
            latest.append(f"{events:5}  {' '.join(map(str, words))}")
            screen.xdotool(*words)
            time.sleep(PAUSE_S)
            spoke = program.log or program.said
            if spoke:
                # After a crash the dump is written before the program ends.
                with suppress(TimeoutError):
                    program.wait_for_end(DUMP_S)
            if program.has_ended or spoke:
                wrong = program.complaints()
                if not wrong:
                    program, starts = Program(screen, folder / "home"), starts + 1
        wrong = wrong or _end(program)
    except (RuntimeError, TimeoutError) as error:
        wrong = [str(error)]
    finally:
        print(f"seed {seed}: {events} events, {starts} starts: {'FAILED' if wrong else 'nothing was wrong'}")
        if wrong:
            print("\n".join(f"WRONG: {what}" for what in wrong))
            print(program.report())
            print("\n".join(("--- latest events:", *latest)), flush=True)
        program.kill()
    return wrong


def _end(program: Program) -> list[str]:
    """Close what is open, quit with the key, and say what was wrong."""
    program.screen.xdotool("keyup", "ctrl", "keyup", "alt", "keyup", "shift", "mouseup", 1)
    program.press(*["Escape"] * 5)
    if not program.has_ended:
        program.screen.xdotool("windowactivate", "--sync", program.window)
        program.quit()
    return program.complaints()


if __name__ == "__main__":
    sys.exit(main())
