"""Hosts that fail in ways that a real one may: each stands in for `engine.host.process.serve` in the child."""

import os
import signal
import threading
from dataclasses import replace
from multiprocessing.connection import Connection
from pathlib import Path

from engine.device_info import DeviceInfo
from engine.errors import DeviceFault
from engine.host import picture_jobs, run_jobs, shared
from engine.host.handlers import HANDLERS
from engine.host.messages import Progress, Ready, Report
from engine.host.process import HostOptions, serve
from engine.host.protocol import Preview, Run


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
    """Meet a fault of the device in each run and preview."""

    def fail(request: object, report: object) -> None:
        raise DeviceFault("The GPU failed while running the kernel", "[700] illegal address", "Run again.")

    HANDLERS[Run] = HANDLERS[Preview] = fail
    serve(connection, options)


def stick_in_previews(connection: Connection, options: HostOptions) -> None:
    """Take up previews without ever a word."""

    def preview(request: object, report: object) -> None:
        threading.Event().wait()

    HANDLERS[Preview] = preview
    serve(connection, options)


def encode_for_ever(connection: Connection, options: HostOptions) -> None:
    """Never come to an end with the file that is to be saved."""
    picture_jobs.save_image = lambda *_, **__: threading.Event().wait()  # type: ignore[attr-defined]
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


LAST_BLOCK = "HALOSCOPE_TEST_LAST_BLOCK"


def die_at_an_empty_block(connection: Connection, options: HostOptions) -> None:
    """Be killed between naming a block of shared memory and giving it a size, once for each time the file is there.

    The environment names the file; it is removed.
    """
    give_size = os.ftruncate
    last_block = Path(os.environ[LAST_BLOCK])

    def give_size_or_die(file: int, length: int) -> None:
        if last_block.exists():
            last_block.unlink()
            os.kill(os.getpid(), signal.SIGKILL)
        give_size(file, length)

    os.ftruncate = give_size_or_die  # type: ignore[assignment]
    # Each result gets a block of its own.
    shared._SPARE_SEGMENTS = 0
    serve(connection, options)


def end_in_previews(connection: Connection, options: HostOptions) -> None:
    """End in each preview of a mask of more than one weight, as one that always crashes a kernel does."""
    real = HANDLERS[Preview]

    def preview(request: Preview, report: Report) -> object:
        report(Progress("filtering", 0.0, 1.0))
        if request.job.mask.weights.size > 1:
            os._exit(3)
        return real(request, report)

    HANDLERS[Preview] = preview
    serve(connection, options)


def send_what_cannot_be_read(connection: Connection, options: HostOptions) -> None:
    """Send one message that cannot be read, and live on."""
    connection.send(Unreadable())
    threading.Event().wait()


def serve_with_a_gpu(connection: Connection, options: HostOptions) -> None:
    """Say that there is a GPU wherever CUDA is looked for; nothing is run on it."""
    _serve_with(DeviceInfo("cuda:0", "cuda", "A GPU", options.use_cuda, "", True), connection, options)


def serve_without_a_gpu(connection: Connection, options: HostOptions) -> None:
    """Say that there is no GPU."""
    _serve_with(DeviceInfo("cuda:0", "cuda", "A GPU", False, "there is none", True), connection, options)


def _serve_with(gpu: DeviceInfo, connection: Connection, options: HostOptions) -> None:
    real = run_jobs.ready

    def ready() -> Ready:
        return replace(real(), devices=(gpu,))

    run_jobs.ready = ready
    serve(connection, options)
