"""Hosts that fail in ways that a real one may: each stands in for `engine.host.process.serve` in the child."""

import os
import threading
from multiprocessing.connection import Connection
from pathlib import Path

from engine.errors import DeviceFault
from engine.host import jobs
from engine.host.options import HostOptions
from engine.host.process import serve


def exit_at_once(connection: Connection, options: HostOptions) -> None:
    """End before anything was said, as a broken installation does."""
    os._exit(3)


def exit_unless_on_the_cpu(connection: Connection, options: HostOptions) -> None:
    """End before anything was said wherever CUDA is looked for, as a broken driver does."""
    if options.use_cuda:
        os._exit(3)
    serve(connection, options)


def exit_as_simulator(connection: Connection, options: HostOptions) -> None:
    """End at once as the simulator's host only."""
    if options.simulator:
        os._exit(3)
    serve(connection, options)


def say_nothing(connection: Connection, options: HostOptions) -> None:
    """Live, and never say so."""
    threading.Event().wait()


def lose_the_device(connection: Connection, options: HostOptions) -> None:
    """Meet a fault of the device in each run."""

    def run(request: object, report: object) -> None:
        raise DeviceFault("The GPU failed while running the kernel", "[700] illegal address", "Run again.")

    jobs.run = run  # type: ignore[assignment]
    serve(connection, options)


def stick_in_previews(connection: Connection, options: HostOptions) -> None:
    """Take up previews without ever a word."""

    def preview(request: object, report: object) -> None:
        threading.Event().wait()

    jobs.preview = preview  # type: ignore[assignment]
    serve(connection, options)


def encode_for_ever(connection: Connection, options: HostOptions) -> None:
    """Never come to an end with the file that is to be saved."""
    jobs.save_image = lambda *_, **__: threading.Event().wait()  # type: ignore[attr-defined]
    serve(connection, options)


def write_slowly(connection: Connection, options: HostOptions) -> None:
    """Stick in the middle of a file until somebody opens the pipe "go-on" beside it, as a slow disk may."""
    sync = os.fsync

    def sync_slowly(descriptor: int) -> None:
        written = Path(os.readlink(f"/proc/self/fd/{descriptor}"))
        if written.suffix == ".part":
            (written.parent / "go-on").read_bytes()
        sync(descriptor)

    os.fsync = sync_slowly
    serve(connection, options)


class Unreadable:
    """Fails in the process that reads it, as a class does that only one side knows."""

    def __reduce__(self) -> tuple[object, ...]:
        return divmod, (1, 0)


def send_what_cannot_be_read(connection: Connection, options: HostOptions) -> None:
    """Send one message that cannot be read, and live on."""
    connection.send(Unreadable())
    threading.Event().wait()
