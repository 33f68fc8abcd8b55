"""Ctrl+C, `kill` and a closed terminal at any moment: while libraries load, or while Qt waits. No Qt in here.

Signals are heard by a thread, which ends the process with one line, or calls what `calling` says. Nothing is
raised in the main thread. Python's KeyboardInterrupt comes between any two instructions: during the import of
a C library it ended in an abort (1 start in 36), in a Qt slot it is lost, and between the taking of a lock
and the `try` that gives it back it leaves the lock taken. So commands hung for ever (3 of 530 starts):
importlib had taken the lock of all imports, and the thread that opens the picture waited for it.
"""

import _thread
import atexit
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

# SIGHUP (the terminal was closed) does not exist on Windows.
_SIGNALS = {signal.SIGINT, signal.SIGTERM, getattr(signal, "SIGHUP", signal.SIGTERM)}

_acts: list[Callable[[], object]] = []
_lines: list[Callable[[], str]] = []
_before_leaving: list[Callable[[], object]] = []
_last: int | None = None
_is_listening = False
# Held by what ends the process, and never given back: its status is decided once.
_ending = _thread.allocate_lock()


def lock_through_forks() -> _thread.RLock:
    """Return a reentrant lock that forks take: a child has none of the threads that might hold it."""
    lock = _thread.RLock()
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(before=lock.acquire, after_in_parent=lock.release, after_in_child=lock.release)
    return lock


_writing = lock_through_forks()


def stop_at_ctrl_c() -> None:
    """End the process at Ctrl+C, in the middle of any import, until `listen` is called."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _stop)


def _stop(number: int, _: object) -> None:
    try:
        os.write(2, b"Stopped.\n")
    finally:
        os._exit(128 + number)


def listen() -> None:
    """Hear signals from now on; called again it does nothing. Called on: the main thread.

    Raises OSError, RuntimeError: the system has no pipe, or no thread, left.
    """
    global _is_listening
    if _is_listening:
        return
    receiver, sender = os.pipe()
    if os.name == "posix":
        os.set_blocking(sender, False)
    # In this order none is lost: those before the thread starts wait in the pipe.
    signal.set_wakeup_fd(sender, warn_on_full_buffer=False)
    for number in _SIGNALS:
        # A shell that starts a program in the background makes it ignore Ctrl+C.
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _hear)
    # `threading.Thread.start` waits until the thread runs: up to 12 ms of a start on two busy cores.
    _thread.start_new_thread(_listen, (receiver,))
    _is_listening = True
    # Registered before all others, so called after them.
    atexit.register(_ignore)


@contextmanager
def calling(act: Callable[[], object]) -> Iterator[None]:
    """Call `act` at a signal, on the listening thread, instead of ending the process."""
    _acts.append(act)
    try:
        yield
    finally:
        _acts.remove(act)


@contextmanager
def telling(line: Callable[[], str]) -> Iterator[None]:
    """Let `line`, called on any thread, say what the process leaves behind where a signal ends it within."""
    _lines.append(line)
    try:
        yield
    finally:
        _lines.remove(line)


def last_line() -> str:
    """Return the line that is printed where a signal ends the process now."""
    return _lines[-1]() if _lines else "Stopped."


def before_leaving(act: Callable[[], object]) -> None:
    """Add what is done before a signal ends the process: stopping the engine's process."""
    _before_leaving.append(act)


@contextmanager
def undivided() -> Iterator[None]:
    """Hold off the end of the process while files are written that belong together.

    Each file is whole by itself (`engine.files.atomic_write`). A thread that ends the process enters first,
    so that neither a temporary file nor one half of a set stays behind.
    """
    with _writing:
        yield


def exit_status(otherwise: int) -> int:
    """Return 128 + the signal that was heard, as shells do, or `otherwise` if there was none."""
    return otherwise if _last is None else 128 + _last


def leave() -> None:
    """End the process with its line. Called on: the listening thread."""
    _ending.acquire()
    _writing.acquire()
    line = "Stopped."
    with suppress(Exception):
        line = last_line()
    for act in reversed(_before_leaving):
        with suppress(Exception):
            act()
    # Not through `sys.stderr`: the main thread may hold its lock.
    with suppress(OSError):
        encoding = getattr(sys.stderr, "encoding", None) or "utf-8"
        os.write(2, f"{line}\n".encode(encoding, "backslashreplace"))
    # No exception: the main thread may be in C code.
    os._exit(exit_status(0))


def _hear(*_: object) -> None:
    """Do nothing: Python has written the number of the signal to the pipe already."""


def _listen(receiver: int) -> None:
    while numbers := os.read(receiver, 1):
        _heard(numbers[0])


def _heard(number: int) -> None:
    global _last
    _last = number
    try:
        (_acts[-1] if _acts else leave)()
    except Exception:  # noqa: BLE001 - what was to be called is gone
        leave()


def _ignore() -> None:
    """Let the interpreter finish: in its last moments a signal would kill it after all was done."""
    with _ending:
        for number in _SIGNALS:
            if signal.getsignal(number) is _hear:
                signal.signal(number, signal.SIG_IGN)
