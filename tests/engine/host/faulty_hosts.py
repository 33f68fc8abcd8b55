"""Replacements of `engine.host.__main__.serve` in the child: a light host, and hosts with faults.

The light host has the real loop and real shared memory, but no Numba: it is up after 0.3 s instead of 1.2.
"""

import os
import signal
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from engine.device.host_memory import UnusedBuffers
from engine.device_info import DeviceInfo
from engine.errors import DeviceFault
from engine.host import shared
from engine.host.__main__ import serve
from engine.host.protocol import OpenPicture
from engine.host.request import QueuePolicy, Ready, Request
from engine.host.server import Worker
from engine.results.problem import Progress

LAST_SEGMENT = "HALOSCOPE_TEST_LAST_SEGMENT"


@dataclass(frozen=True, slots=True)
class Make(Request):
    """Make a segment; with `reports` report first. `weight` makes the request large. Reply: SharedArray."""

    reports: bool = False
    weight: bytes = b""


@dataclass(frozen=True, slots=True)
class Work(Request):
    """Be at work, and report so, until it is stopped."""


@dataclass(frozen=True, slots=True)
class Stick(Request):
    """Report once, and come to no end."""


@dataclass(frozen=True, slots=True)
class Show(Request):
    """A preview. Reply: SharedArray."""

    device: str = "cpu"
    number: int = 0
    policy: ClassVar[QueuePolicy] = QueuePolicy.NEWEST


@dataclass(frozen=True, slots=True)
class Question(Request):
    """Be answered at once, with nothing."""

    policy: ClassVar[QueuePolicy] = QueuePolicy.AT_ONCE


@dataclass(frozen=True, slots=True)
class Beside(Request):
    """Be answered beside what is at work, with nothing."""

    number: int = 0
    policy: ClassVar[QueuePolicy] = QueuePolicy.BESIDE


@dataclass(frozen=True, slots=True)
class Write(Request):
    """Write a file, or with `ever` come to no end with encoding it."""

    path: str
    ever: bool = False
    path_field: ClassVar[str] = "path"


def make(request, report):
    if request.reports:
        report(Progress("making", 0.0, 1.0))
    return shared.create(((1000,), "uint8"))[0]


def work(request, report):
    clock = threading.Event()
    while not clock.wait(0.01):
        report(Progress("working", 0.0, 1.0))


def stick(request, report):
    report(Progress("sticking", 0.0, 60.0))
    threading.Event().wait()


def write(request, report):
    from engine.files.atomic_write import atomic_write

    if request.ever:
        stick(request, report)
    report(Progress("saving", 0.0, 1.0))
    atomic_write(request.path, b"whole")


LIGHT_HANDLERS = {
    OpenPicture: stick,
    Make: make,
    Work: work,
    Stick: stick,
    Show: lambda request, report: make(Make(), report),
    Question: lambda request, report: None,
    Write: write,
}


def answer_light(request, report):
    return LIGHT_HANDLERS[type(request)](request, report)


def light(connection, options, gpu=None):
    """Serve the requests above. `gpu` True: one is there wherever CUDA is looked for; False: none."""
    shared.use_prefix(options.segment_prefix)
    devices = () if gpu is None else gpu_devices(gpu, options.use_cuda)
    Worker(connection, answer_light).serve(Ready((), devices))


def gpu_devices(is_there, is_usable):
    return (DeviceInfo("cuda:0", "cuda", "", is_there and is_usable, None, True),)


def stick_in_previews(connection, options):
    """Take up previews without ever a word."""
    LIGHT_HANDLERS[Show] = lambda request, report: threading.Event().wait()
    light(connection, options)


def lose_the_device(connection, options):
    """Meet a fault of the device in each run and preview."""

    def fail(request, report):
        raise DeviceFault("The GPU failed while running the kernel", "[700] illegal address", "Run again.")

    LIGHT_HANDLERS[Work] = LIGHT_HANDLERS[Show] = fail
    light(connection, options)


def end_in_real_previews(connection, options):
    """End in each preview of a mask of more than one weight."""
    from engine.work import answers

    real = answers.preview

    def preview(request, report):
        report(Progress("filtering", 0.0, 1.0))
        if request.job.mask.weights.size > 1:
            os._exit(3)
        return real(request, report)

    answers.preview = preview
    serve(connection, options)


def write_slowly(connection, options):
    """Stick in the middle of a file until somebody opens the pipe "go-on" beside it, as a slow disk may."""
    sync = os.fsync

    def sync_slowly(descriptor):
        written = Path(os.readlink(f"/proc/self/fd/{descriptor}"))
        if written.suffix == ".part":
            (written.parent / "go-on").read_bytes()
        sync(descriptor)

    os.fsync = sync_slowly
    light(connection, options)


def die_at_an_empty_segment(connection, options):
    """Be killed between naming a segment and giving it a size, once for each time the file is there.

    The environment names the file; it is removed.
    """
    give_size = os.ftruncate
    last_segment = Path(os.environ[LAST_SEGMENT])

    def give_size_or_die(file, length):
        if last_segment.exists():
            last_segment.unlink()
            os.kill(os.getpid(), signal.SIGKILL)
        give_size(file, length)

    os.ftruncate = give_size_or_die
    # Each result gets a segment of its own.
    shared._unused = UnusedBuffers(lambda segment: segment.size, 0, shared._remove)
    serve(connection, options)
