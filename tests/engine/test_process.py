"""A process: what forked children and threads share, what is short in words, collections of garbage."""

import errno
import os
import threading

import pytest

from engine.process import OncePerProcess, shortage_of, too_low_limit
from tests.fresh_python import fresh_python

FORKED_WHILE_WRITING = """
import os, signal, sys, threading
from engine.files.atomic_write import atomic_write
from engine.interrupts import undivided
inside, forked = threading.Event(), threading.Event()

def write():
    with undivided():
        inside.set()
        forked.wait(0.2)

thread = threading.Thread(target=write)
thread.start()
inside.wait()
child = os.fork()
if not child:
    signal.alarm(60)
    atomic_write(sys.argv[1], b"whole")
    os._exit(0)
forked.set()
thread.join()
print(os.waitpid(child, 0)[1])
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_that_a_child_that_was_forked_while_a_file_was_written_can_write(tmp_path):
    assert fresh_python("-W", "ignore", "-c", FORKED_WHILE_WRITING, str(tmp_path / "file")) == "0\n"
    assert (tmp_path / "file").read_bytes() == b"whole"


def test_that_threads_that_ask_at_once_get_the_same():
    asked = threading.Barrier(4)
    kept, found = OncePerProcess(object), []

    def ask():
        asked.wait(60)
        found.append(kept())

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [kept()] * 4
    # What the system calls in a child: another thread of the parent may hold the lock.
    kept._making.acquire()
    kept._begin_anew()
    assert kept() is not found[0]


# In a process of its own: within that of the tests a thread of an earlier one may be compiling.
CODE = """
import gc
from engine.process import no_collection
first, second = no_collection(), no_collection()
enabled = [gc.isenabled()]
for step in (first.__enter__, second.__enter__, lambda: first.__exit__(None, None, None)):
    step()
    enabled.append(gc.isenabled())
second.__exit__(None, None, None)
print(enabled, gc.isenabled())
"""


def test_that_nothing_is_collected_until_the_last_of_blocks_that_overlap_ends():
    assert fresh_python("-c", CODE) == "[True, False, False, False] True\n"


def raised(error, cause=None):
    """Return an error as it is when it was raised while another one was handled."""
    try:
        try:
            if cause is not None:
                raise cause
        finally:
            raise error
    except type(error) as found:
        return found


LOADING = ImportError("libqsvg.so: failed to map segment from shared object")


def test_that_an_error_says_what_was_short():
    for error, what in [
        (MemoryError(), "Not enough memory"),
        (OSError(errno.ENOMEM, "Cannot allocate memory"), "Not enough memory"),
        (OSError(errno.EMFILE, "Too many open files"), "No more files can be opened"),
        (OSError(errno.ENFILE, "Too many open files in system"), "No more files can be opened"),
        (OSError(errno.EAGAIN, "Resource temporarily unavailable"), "No more threads or processes"),
        (RuntimeError("can't start new thread"), "No more threads or processes"),
        (LOADING, "Not enough memory"),
        (ImportError("x.so: cannot open shared object file: Too many open files"), "No more files"),
        (OSError("x.so: cannot allocate memory in static TLS block"), "Not enough memory"),
        (raised(ValueError("no icon"), LOADING), "Not enough memory"),
    ]:
        found = shortage_of(error)
        assert found.what.startswith(what)
        assert found.why
        assert found.remedy


def test_that_other_errors_are_not_called_a_shortage():
    for error in [
        OSError(errno.ENOENT, "No such file"),
        ValueError("no"),
        ImportError("no module named x"),
        raised(ValueError("b"), KeyError("a")),
    ]:
        assert shortage_of(error) is None


def test_that_a_limit_that_is_too_low_is_named_with_what_is_needed(monkeypatch):
    limits = {"RLIMIT_NOFILE": 14, "RLIMIT_AS": 900_000_000}
    monkeypatch.setattr("engine.process._limit", limits.get)
    words = "It: this process may have 14 files open at a time, and 64 are needed. Allow more"
    assert str(too_low_limit("It", 64, 1)).startswith(words)
    words = "It: this process may use 900 MB of memory, and 1,000 MB are needed. Allow more"
    assert str(too_low_limit("It", 14, 10**9)).startswith(words)
    assert too_low_limit("It", 14, 900_000_000) is None
    monkeypatch.setattr("engine.process._limit", lambda name: None)
    assert too_low_limit("It", 64, 10**9) is None
