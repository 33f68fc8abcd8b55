"""What this process may use and has run out of, its settings, and what its threads choose. No NumPy in here.

Its cores are those that it may run on, and no more than its quota of CPU time. A container may run on all of
a server's cores and yet have the time of two (Docker's --cpus, a Kubernetes limit): a thread per core would
use that up at once, and all would be stopped until the next period (100 ms).
"""

import errno
import gc
import math
import os
import sys
import threading
import warnings
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import cache, update_wrapper
from pathlib import Path, PurePosixPath
from typing import Generic, TypeVar

from engine.errors import EngineError

with suppress(ImportError):  # Windows has none. Later its file could not be opened where no file can.
    import resource

PROCESS = Path("/proc/self/cgroup")
GROUPS = Path("/sys/fs/cgroup")

Key = TypeVar("Key", bound=Hashable)
T = TypeVar("T")
Made = TypeVar("Made")


def cores() -> int:
    """Return the CPU cores that this process may use, at least 1."""
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    quota = time_quota()
    return allowed if quota is None else max(1, min(allowed, math.ceil(quota)))


@cache
def time_quota(process: Path = PROCESS, groups: Path = GROUPS) -> float | None:
    """Return how many cores' time the process's control groups, and those around them, have. Read once.

    None where nothing limits it. `process` has lines of "number:controllers:path", of version 2 "0::path".
    Source: the Linux kernel's cgroup-v2.rst, "cpu.max", and scheduler/sched-bwc.rst, "cpu.cfs_quota_us".
    """
    try:
        lines = process.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return None
    quotas = []
    for line in lines:
        _, controllers, text = (*line.split(":", 2), "", "")[:3]
        if controllers and "cpu" not in controllers.split(","):
            continue
        # Within a container it may be the host's, which does not exist there: the root is the container's.
        path = PurePosixPath(text or "/")
        for root in (groups / controllers, groups / ("cpu" if controllers else "unified")):
            quotas += [_quota(root / str(inside).lstrip("/")) for inside in (path, *path.parents)]
    return min((quota for quota in quotas if quota is not None), default=None)


def _quota(group: Path) -> float | None:
    try:
        if (group / "cpu.max").exists():
            quota, period = (group / "cpu.max").read_text(encoding="utf-8").split()
        else:
            files = (group / "cpu.cfs_quota_us", group / "cpu.cfs_period_us")
            quota, period = (file.read_text(encoding="utf-8") for file in files)
        cores_worth = float(quota) / float(period)
    except (OSError, ValueError, ZeroDivisionError):
        # Missing, unreadable, or "max".
        return None
    return cores_worth if cores_worth > 0.0 else None


_is_own = _lives_on = False


def take_process(*, lives_on: bool) -> None:
    """Say that this process is the program's own, as a user's is not, and whether it waits for more work.

    Numba is then loaded without scipy.linalg, 0.1 s faster: it needs that for products of matrices, which no
    function here has. Where it waits, the memory of LLVM's code is given back after each function.
    """
    global _is_own, _lives_on
    _is_own, _lives_on = True, lives_on


def is_own_process() -> bool:
    """Return whether this process is the program's own."""
    return _is_own


def lives_on() -> bool:
    """Return whether this process is the program's own, and waits for more work."""
    return _lives_on


_VARIABLE = "OPENBLAS_NUM_THREADS"
_ours: list[str] = []


def start_no_blas_threads() -> None:
    """Keep BLAS to one thread, unless the environment says otherwise. Call it before NumPy is imported."""
    if _VARIABLE not in os.environ:
        os.environ[_VARIABLE] = "1"
        _ours.append(_VARIABLE)


def with_blas_threads(environment: Mapping[str, str]) -> dict[str, str]:
    """Return an environment without that limit, for a child that multiplies matrices."""
    return {name: value for name, value in environment.items() if name not in _ours}


_lock = threading.Lock()
_blocks = 0
_was_enabled = True


@contextmanager
def no_collection() -> Iterator[None]:
    """Collect no garbage until the end of the block, and of those of other threads that overlap it."""
    global _blocks, _was_enabled
    with _lock:
        if not _blocks:
            _was_enabled = gc.isenabled()
        _blocks += 1
        gc.disable()
    try:
        yield
    finally:
        with _lock:
            _blocks -= 1
            if not _blocks and _was_enabled:
                gc.enable()


# "invalid value encountered in dot", "All-NaN slice encountered", "Mean of empty slice"
_OF_NUMBERS = r".* encountered|Mean of empty slice|Degrees of freedom"


def leave_out_float_warnings() -> None:
    """Print no warnings of float arithmetic from now on. Called at the start of a process of the window."""
    warnings.filterwarnings("ignore", _OF_NUMBERS, RuntimeWarning)


# What a loader of libraries, which has no number for it, says where memory or files are short.
_WORDS = {
    "failed to map segment": errno.ENOMEM,
    "cannot allocate memory": errno.ENOMEM,
    "too many open files": errno.EMFILE,
    "can't start new thread": errno.EAGAIN,
}


def shortage_of(error: BaseException) -> EngineError | None:
    """Return what was short where an error comes of that, or None: it is no fault of the program."""
    for one in _chain(error):
        if isinstance(one, MemoryError):
            return _short(errno.ENOMEM)
        if isinstance(one, OSError) and (shortage := _short(one.errno)) is not None:
            return shortage
        if isinstance(one, ImportError | OSError | RuntimeError):
            for words, number in _WORDS.items():
                if words in str(one).lower():
                    return _short(number)
    return None


def too_low_limit(what: str, files: int, memory_bytes: int) -> EngineError | None:
    """Return why something cannot be done that needs so many open files and so much memory, or None.

    Asked before it is begun: libraries in C end the process where they get no more of either.
    """
    most_files, most_bytes = _limit("RLIMIT_NOFILE"), _limit("RLIMIT_AS")
    if most_files is not None and most_files < files:
        why = f"this process may have {most_files} files open at a time, and {files} are needed"
        return EngineError(what, why, "Allow more (`ulimit -n 1024`) and start again.")
    if most_bytes is not None and most_bytes < memory_bytes:
        why = f"this process may use {_mb(most_bytes)} of memory, and {_mb(memory_bytes)} are needed"
        return EngineError(what, why, "Allow more (`ulimit -v unlimited`) and start again.")
    return None


def _short(number: int | None) -> EngineError | None:
    if number in (errno.EMFILE, errno.ENFILE):
        most = _limit("RLIMIT_NOFILE") if number == errno.EMFILE else None
        why = f"this process may have {most} files open at a time" if most else "the system allows no more"
        remedy = "Allow more (`ulimit -n 1024`) and start again."
        return EngineError("No more files can be opened", why, remedy)
    if number == errno.ENOMEM:
        most = _limit("RLIMIT_AS")
        why = f"this process may use {_mb(most)} (`ulimit -v`)" if most else "the system gave no more"
        return EngineError("Not enough memory", why, "Use a smaller picture, or close other programs.")
    if number == errno.EAGAIN:
        why = "the system, or the limit of your user (`ulimit -u`), allows no more"
        return EngineError("No more threads or processes can be started", why, "Close other programs.")
    return None


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    seen: list[BaseException] = []
    while error is not None and error not in seen:
        seen.append(error)
        yield error
        error = error.__cause__ or error.__context__


def _limit(name: str) -> int | None:
    if sys.platform == "win32":
        return None
    most, _ = resource.getrlimit(getattr(resource, name))
    return None if most == resource.RLIM_INFINITY else most


def _mb(size_bytes: int) -> str:
    return f"{size_bytes / 1e6:,.0f} MB"


_UNITS = ("KiB", "MiB", "GiB", "TiB", "PiB", "EiB")


def bytes_text(count: int) -> str:
    """Write a number of bytes as people read it: "820 bytes", "4.0 GiB"."""
    if count < 1024:
        return f"{count} bytes"
    power = min((count.bit_length() - 1) // 10, len(_UNITS))
    return f"{count / 1024**power:,.1f} {_UNITS[power - 1]}"


class ThreadChoice(Generic[T]):
    """A value that each thread chooses for itself; `usual` until it does."""

    def __init__(self, usual: T) -> None:
        # Asking takes 0.1 us; an attribute that a `threading.local` does not have takes 2.
        self._chosen = ContextVar("chosen", default=usual)

    def __call__(self) -> T:
        """Return the thread's choice."""
        return self._chosen.get()

    def choose(self, value: T) -> None:
        """Choose from now on."""
        self._chosen.set(value)

    @contextmanager
    def within(self, value: T) -> Iterator[None]:
        """Choose for the while."""
        before = self._chosen.set(value)
        try:
            yield
        finally:
            self._chosen.reset(before)


interprets = ThreadChoice(False)  # whether variants are prepared for the interpreter

report_share = ThreadChoice[Callable[[float], None]](lambda done: None)
"""Who hears the share of a launch that is done; what it raises ends the launch."""


class OncePerProcess(Generic[Made]):
    """Calls a function once in each process with the same arguments, and returns what it made every time.

    Devices, threads, what talks to them. A forked child has its own: it has a copy of the pool that its
    parent kept, and none of its threads, for which it would wait for ever.

    One thread at a time: Numba takes the driver for ready as soon as one thread begins to start it, and a
    second one would get CUDA_ERROR_NOT_INITIALIZED.
    """

    def __init__(self, make: Callable[..., Made]) -> None:
        update_wrapper(self, make)
        self._make = make
        self._begin_anew()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._begin_anew)

    def __call__(self, *arguments: Hashable) -> Made:
        """Return it, made by the first call with such arguments."""
        with self._making:
            if arguments not in self._made:
                self._made[arguments] = self._make(*arguments)
            return self._made[arguments]

    def _begin_anew(self) -> None:
        # Another thread of the parent may have held the old lock.
        self._making = threading.Lock()
        self._made: dict[tuple[Hashable, ...], Made] = {}


class KeptValues(Generic[Key, T]):
    """Values by key; where they take too much, the least recently used go. Called on: any thread."""

    def __init__(self, most_bytes: int, most: float = math.inf) -> None:
        self.most_bytes, self._most, self._bytes = most_bytes, most, 0
        self._kept: dict[Key, tuple[T, int]] = {}
        self._lock = threading.Lock()

    def add(self, key: Key, value: T, nbytes: int, in_use: frozenset[Key] = frozenset()) -> list[T]:
        """Keep a value; return those that had to go."""
        stays, gone = in_use | {key}, []
        with self._lock:
            self._bytes += nbytes - self._kept.pop(key, (None, 0))[1]
            self._kept[key] = value, nbytes
            while self._bytes > self.most_bytes or len(self._kept) > self._most:
                if (old := next((one for one in self._kept if one not in stays), None)) is None:
                    break
                value, size = self._kept.pop(old)
                self._bytes -= size
                gone.append(value)
        return gone

    def get(self, key: Key) -> T | None:
        """Return a value, which is now the one that was used last; None where there is none."""
        with self._lock:
            if (kept := self._kept.pop(key, None)) is None:
                return None
            self._kept[key] = kept
            return kept[0]


most_launch_cores = ThreadChoice[int | None](None)
"""How many cores launches may use that the thread prepares, as others have work of their own; None: all."""
launches_on = most_launch_cores.within


def launch_cores() -> int:
    """Return the cores that a launch of this thread may use."""
    most = most_launch_cores()
    return cores() if most is None else min(cores(), most)


# Another thread begins 20 to 50 us later; by then a core has made some 2 million multiply-adds.
LEAST_MULTIPLY_ADDS = 2_000_000


def workers_for(multiply_adds: int, most: int) -> int:
    """Return how many threads so much work is worth, at most `most`."""
    shares = multiply_adds // LEAST_MULTIPLY_ADDS
    # A second thread helps from one share on: 512 x 512 with 3 x 3 takes 40 % less time after another filter,
    # when the thread is awake, and 5 to 15 % less by itself.
    return max(1, min(most, 2 if shares == 1 else shares))
