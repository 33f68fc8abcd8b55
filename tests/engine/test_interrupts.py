"""Ctrl+C and other signals end a process at any moment with one line and a status, or call what was asked."""

import signal
import subprocess
import sys

import pytest

from tests.fresh_python import ROOT

BEGIN = """
import ctypes, os, signal, sys, threading
from engine import interrupts
interrupts.listen()
def press(): os.kill(os.getpid(), signal.SIGINT)
"""


def ended(code):
    """Return the status, the output and the errors of a fresh process."""
    how = {"cwd": ROOT, "capture_output": True, "text": True, "timeout": 100}
    done = subprocess.run([sys.executable, "-c", BEGIN + code], **how, check=False)
    return done.returncode, done.stdout, done.stderr


def test_that_a_process_that_waits_for_ever_ends_with_one_line():
    for waits in [
        # What a command hung for: a lock that is never given back.
        "lock = threading.Lock(); lock.acquire(); lock.acquire()",
        "import _imp; _imp.acquire_lock(); lock = threading.Lock(); lock.acquire(); lock.acquire()",
        # C code, which does not come back for a signal.
        "mutex = ctypes.create_string_buffer(64); lock = ctypes.CDLL(None).pthread_mutex_lock\n"
        "lock(mutex); lock(mutex)",
        "signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT}); threading.Event().wait()",
    ]:
        code = f"threading.Timer(0.05, press).start()\n{waits}"
        assert ended(code) == (130, "", "Stopped.\n")


def test_that_a_signal_before_anything_was_waited_for_is_not_lost():
    code = "press()\nthreading.Event().wait()"
    assert ended(code) == (130, "", "Stopped.\n")


def test_that_a_signal_calls_what_was_asked_for():
    code = """
asked = threading.Event()
with interrupts.calling(asked.set):
    os.kill(os.getpid(), signal.SIGTERM)
    print(asked.wait(), interrupts.exit_status(0), flush=True)
interrupts.before_leaving(lambda: print("left", flush=True))
interrupts.before_leaving(lambda: 1 / 0)
with interrupts.telling(lambda: "Stopped: 2 of 3 \\udcff."):
    press()
    threading.Event().wait()
"""
    assert ended(code) == (130, "True 143\nleft\n", "Stopped: 2 of 3 \\udcff.\n")


def test_that_what_cannot_be_called_or_told_ends_the_process_all_the_same():
    code = """
interrupts._acts.append(lambda: 1 / 0)
interrupts._lines.append(lambda: 1 / 0)
press()
threading.Event().wait()
"""
    assert ended(code) == (130, "", "Stopped.\n")


def test_that_files_that_belong_together_are_written_before_the_process_ends():
    code = """
heard = threading.Event()
interrupts._lines.append(lambda: print("not whole") or "Stopped.")
with interrupts.undivided():
    leave = interrupts.leave
    interrupts.leave = lambda: heard.set() or leave()
    press()
    heard.wait()
    interrupts._lines.clear()
threading.Event().wait()
"""
    assert ended(code) == (130, "", "Stopped.\n")


def test_that_a_signal_in_the_last_moments_of_the_interpreter_changes_nothing():
    code = """
class Last:
    def __del__(self, kill=os.kill, pid=os.getpid(), sigint=signal.SIGINT):
        kill(pid, sigint)
sys.last = Last()
"""
    assert ended(code) == (0, "", "")


MOMENT = """
import os, runpy, signal, sys
class InterruptAt:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            sys.meta_path.remove(self)
            os.killpg(0, signal.SIGINT)
sys.meta_path.insert(0, InterruptAt())
sys.path[0] = {root!r}
sys.argv = ["main.py", *{arguments!r}]
runpy.run_path({root!r} + "/main.py", run_name="__main__")
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "modules"),
    [
        ("masks", "engine.files.standard_streams platformdirs"),  # later it may have printed all
        ("variants --json", "numpy engine.work.filtering.variants"),
        ("filter in.png out.png --mask box-3", "engine.image.formats.png llvmlite"),
        ("batch in.png --out out --mask box-3", "engine.commands.batch_loop"),
        ("bench --out out.json", "engine.run.measure"),
    ],
)
def test_that_ctrl_c_at_any_moment_of_a_command_is_one_line(tmp_path, arguments, modules):
    (tmp_path / "in.png").write_bytes((ROOT / "tests/data/pngsuite/basn2c08.png").read_bytes())
    for module in modules.split():
        code = MOMENT.format(module=module, arguments=arguments.split(), root=str(ROOT))
        how = {"cwd": tmp_path, "capture_output": True, "text": True, "timeout": 100}
        done = subprocess.run([sys.executable, "-c", code], **how, check=False, start_new_session=True)
        assert (done.returncode, done.stdout) == (128 + signal.SIGINT, ""), (module, done.stderr)
        assert done.stderr.startswith("Stopped"), (module, done.stderr)
        assert done.stderr.count("\n") == 1, (module, done.stderr)
        assert [path.name for path in tmp_path.iterdir()] == ["in.png"]
