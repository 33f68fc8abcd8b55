"""A forked child computes what its parent did: it waits for no thread that only the parent has."""

import os
import threading

import pytest

from engine.process import OncePerProcess
from tests.fresh_python import fresh_python

FORKED = """
import os, signal
import numpy as np
import engine
from engine.host.shared_picture import level_shapes, render

picture = np.arange(1100 * 1100, dtype=np.uint32).astype(np.uint8).reshape(1100, 1100)
mask = engine.parse_mask("1 2 1; 0 0 0; -1 -2 -1")

def shown():
    levels = [np.zeros(shape, np.uint8) for shape in level_shapes(1100, 1100)]
    render(picture[..., np.newaxis], levels, 255.0)
    return levels[0]

def correlated(variant):
    return engine.correlate(picture, mask, variant=variant)

def made():
    return shown(), correlated("cpu-fft"), correlated("cpu-parallel")

answers = made()
child = os.fork()
if not child:
    signal.alarm(60)
    os._exit(not all(map(np.array_equal, made(), answers)))
print(os.waitpid(child, 0)[1])
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_that_a_forked_child_computes_what_its_parent_did():
    assert fresh_python("-W", "ignore", "-c", FORKED) == "0\n"


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
