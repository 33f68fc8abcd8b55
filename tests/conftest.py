"""Settings of every test: no screen, own settings and caches, automatic markers."""

import ctypes
import gc
import itertools
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import hypothesis
import pytest

from bench.real_window import missing_programs
from engine.host import link
from engine.process import cores

if TYPE_CHECKING:
    from pytestqt.qtbot import QtBot
    from xdist.scheduler import LoadFileScheduling

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
# NumPy starts threads for products of matrices: 20 ms of each process that a test starts.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# Before pytest-qt imports Qt, and before a thread of a test imports anything. A GPU machine may have neither.
with suppress(ImportError):
    import_module("gui.qt_import")

# Containers often keep no bytecode: each run then compiled the tests, and each process that it starts, the
# engine.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# A shell without job control starts what runs in the background with Ctrl+C ignored, and children inherit
# that: tests that send one would wait for ever.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

_numbers = itertools.count()
GPU_REQUIRED = os.environ.get("HALOSCOPE_GPU") == "1"
# What a test waits for comes in milliseconds; where everything else runs beside it, in many seconds.
PATIENCE_MS = 60_000
# Nor is an engine that waits for a core hung: one that imported a file of tests needed more than 5 s.
link.SHORTEST_DEADLINE_S = PATIENCE_MS / 1e3
# How long an example takes says how busy the machine is.
hypothesis.settings.register_profile(
    "tests", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("tests")
MOST_WORKERS = 8
REAL_WINDOW = "tests/real_window/"
SCREEN_REQUIRED = os.environ.get("HALOSCOPE_SCREEN") == "1"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Know the settings of pytest-qt where it is not installed: tests/gpu need no window."""
    if find_spec("pytestqt") is None:
        for name in ("qt_api", "qt_log_level_fail", "qt_log_ignore"):
            parser.addini(name, "a setting of pytest-qt, which is not installed")


def has_driver() -> bool:
    """Return whether NVIDIA's driver is there; whether it has a device the tests' own fixture finds out."""
    try:
        ctypes.CDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")
    except OSError:
        return False
    return True


def _without_gpu(config: pytest.Config) -> bool:
    """Return whether tests/gpu is left out: no driver, and no option names or promises one."""
    return not (GPU_REQUIRED or has_driver() or any("gpu" in name for name in config.args))


def _left_out(config: pytest.Config) -> dict[str, str]:
    """Return the folders of tests that are left out here, each with the reason."""
    left_out = {}
    if _without_gpu(config):
        left_out["gpu"] = "no NVIDIA driver"
    wanted = SCREEN_REQUIRED or any("real_window" in name for name in config.args)
    if not wanted and (missing := missing_programs()):
        left_out["real_window"] = f"not installed: {', '.join(missing)}"
    left_out["installed"] = "`.ci/wheel` runs it where Haloscope is installed"
    return left_out


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave tests/gpu out without a GPU: to collect and to skip its 1,600 tests takes 4 s a process."""
    if collection_path.parent != Path(__file__).parent:
        return None
    return collection_path.name in _left_out(config) or None


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Say what was left out."""
    for name, reason in _left_out(config).items():
        terminalreporter.write_line(f"tests/{name} was left out: {reason}")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark tests by what they use; engine tests first, so that the first failure is the deepest one.

    Full products of what other tests try by pairs stay out unless they are asked for.

    Tests that need a GPU are skipped here without one: their fixtures would take 10 s to find that out.
    """
    if "matrix" not in config.option.markexpr:
        items[:] = [item for item in items if item.get_closest_marker("matrix") is None]
    without_gpu = None if has_driver() else pytest.mark.skip(reason="needs a CUDA device: No NVIDIA driver.")
    for item in items:
        fixtures = getattr(item, "fixturenames", ())
        if "qapp" in fixtures:
            item.add_marker("gui")
        if not {"haloscope", "open_window", "window_of_file"}.isdisjoint(fixtures):
            item.add_marker("slow")
        if "tests/gpu" in item.path.as_posix():
            item.add_marker("gpu")
            item.add_marker("slow")
            if without_gpu:
                item.add_marker(without_gpu)
    # First what one worker has to itself, for minutes in which it mostly waits.
    order = ("real_window", "architecture", "engine", "ptx", "gpu", "end2end", "gui")
    at = {f"tests/{name}/": number for number, name in enumerate(order)}
    # Files of quick tests last, so that no worker waits long for another one's last file.
    slow = {item.path for item in items if item.get_closest_marker("slow")}

    def position(item: pytest.Item) -> tuple[bool, int]:
        return item.path not in slow, next((at[part] for part in at if part in item.path.as_posix()), 0)

    items.sort(key=position)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Collect garbage less often, and never look at what stays: it was a fifth of the time of some tests.

    All that is imported and collected stays: to look through it was a quarter of the time of collecting.
    """
    # Not disabled: Dask notes at its import whether it is, and leaves it so.
    gc.set_threshold(0)
    found = yield
    gc.freeze()
    gc.set_threshold(20_000, 10, 10)
    return found


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Run files that are named in this process: starting workers takes longer than most files of tests.

    Else there are two workers more than cores, as slow tests wait for processes: one more left a quarter of
    the time of two cores, and took 572 s instead of 475. The others wait for nothing. A worker takes 1 GB of
    memory.
    """
    if all(".py" in name for name in config.args):
        return 0
    wanted = cores() if config.option.markexpr == "not slow" else cores() + 2
    return min(wanted, MOST_WORKERS)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> "LoadFileScheduling | None":
    """Give a file of tests to one worker, and all of tests/real_window to one: they share a program."""
    if config.option.dist != "loadfile":
        return None  # xdist's own, as the command asks
    from xdist.scheduler import LoadFileScheduling

    class Scheduling(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            scope = super()._split_scope(nodeid)
            return REAL_WINDOW if scope.startswith(REAL_WINDOW) else scope

    return Scheduling(config, log)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    """Turn a skip of a GPU test into an error where a GPU is promised: a skip is not a pass."""
    report = yield
    if GPU_REQUIRED and report.skipped and item.get_closest_marker("gpu"):
        report.outcome = "failed"
        report.longrepr = f"skipped although HALOSCOPE_GPU=1: {report.longrepr}"
    return report


@pytest.fixture(autouse=True)
def _own_settings(tmp_path_factory, monkeypatch):
    """Keep the person's settings out of the tests, and the tests out of the person's settings."""
    # Made only where a test writes there: 2,600 of `mktemp` take 2.4 s, and the time grows with the square.
    folder = tmp_path_factory.getbasetemp() / f"settings-{next(_numbers)}"
    monkeypatch.setenv("XDG_CONFIG_HOME", str(folder / "config"))
    monkeypatch.setenv("XDG_DATA_HOME", str(folder / "data"))
    monkeypatch.setenv("XDG_STATE_HOME", str(folder / "state"))


@pytest.fixture
def nvrtc_here(monkeypatch):
    """Compile CUDA C in this process, which takes 0.15 s less; `test_hostile_files` has the other one."""
    from engine.judging import cuda_c, nvrtc_process  # There is none without CUDA's packages.

    compiled = nvrtc_process.compiled
    monkeypatch.setattr(cuda_c, "_in_own_process", lambda source, options, _: compiled(source, options))


@pytest.fixture
def qtbot(qtbot):
    """Wait longer than pytest-qt's 5 s, which a loaded machine exceeded."""
    return patient(qtbot)


def patient(bot: "QtBot") -> "QtBot":
    """Let a bot wait for up to a minute, where nothing else is asked for."""
    for name in ("waitUntil", "waitSignal", "waitSignals", "waitExposed", "waitActive", "waitCallback"):
        setattr(bot, name, partial(getattr(bot, name), timeout=PATIENCE_MS))
    return bot
