"""Ctrl+C at random moments of commands: each has to end with status 130 and one line, or be done.

    python -m bench.interrupts [--starts 600] [--seed N]

Two at a time. The moment is counted from the first instruction of `main.py`: before it Python itself starts,
which no program can change.
"""

import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import engine
from bench.options import parser_of

ROOT = Path(__file__).parents[1]
LATEST_S, PATIENCE_S = 0.6, 60.0
COMMANDS = (
    "filter in.png {number}.png --mask gaussian:9:2",
    "batch many --out {number} --mask box-3",
    "bench --out {number}.json --sizes 64 --variants cpu-parallel --masks 3 --budget 0",
    "variants",
)
# Tells when Python begins to execute `main.py`; on a thread, so that a signal finds no code of this file.
BEGINS = """
import _thread, os, sys
ready = os.environ.pop("READY", "")
def hook(event, args, once=[ready]):
    if event == "exec" and once and getattr(args[0], "co_filename", "").endswith("main.py"):
        _thread.start_new_thread(os.write, (int(once.pop()), b"x"))
if ready:
    sys.addaudithook(hook)
"""


def ended_how(folder: Path, number: int, delay_s: float) -> str:
    """Start a command, send Ctrl+C after a delay, and return how it ended."""
    command = COMMANDS[number % len(COMMANDS)].format(number=number).split()
    ours, theirs = os.pipe()
    process = subprocess.Popen(
        [sys.executable, str(ROOT / "main.py"), *command],
        cwd=folder,
        env=os.environ | {"READY": str(theirs), "PYTHONPATH": str(folder / "site")},
        pass_fds=[theirs],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    os.close(theirs)
    os.read(ours, 1)
    os.close(ours)
    time.sleep(delay_s)
    process.send_signal(signal.SIGINT)
    try:
        out, err = process.communicate(timeout=PATIENCE_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return f"{command[0]}: hung, after {delay_s:.3f} s"
    # `batch` prints its progress too, and its last line as its answer.
    said = [line for line in (out + err).splitlines() if line.startswith("Stopped")]
    is_right = process.returncode == 0 or (process.returncode == 130 and len(said) == 1)
    is_right = is_right and "Traceback" not in err and "report it" not in err
    found = f"status {process.returncode}" if is_right else f"WRONG, after {delay_s:.3f} s: {err[-500:]}"
    return f"{command[0]}: {found}"


def main() -> int:
    """Start the commands, print how they ended; return 1 if one ended otherwise."""
    parser = parser_of(__doc__)
    parser.add_argument("--starts", type=int, default=600)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    # A shell makes what it starts in the background ignore Ctrl+C, and children inherit that.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    delays = random.Random(options.seed)
    with tempfile.TemporaryDirectory() as name, ThreadPoolExecutor(2) as threads:
        folder = Path(name)
        (folder / "site").mkdir()
        (folder / "site" / "sitecustomize.py").write_text(BEGINS)
        picture = engine.open_image(ROOT / "assets" / "samples" / "astronaut.png")
        (folder / "many").mkdir()
        for path in ("in.png", *(f"many/{number}.png" for number in range(6))):
            engine.save_image(picture, folder / path)
        moments = [delays.uniform(0.0, LATEST_S) for _ in range(options.starts)]
        counts = Counter(threads.map(lambda each: ended_how(folder, *each), enumerate(moments)))
    for how, count in sorted(counts.items()):
        print(f"{count:5}  {how}")
    return int(any("WRONG" in how or "hung" in how for how in counts))


if __name__ == "__main__":
    sys.exit(main())
