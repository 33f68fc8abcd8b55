"""Hosts that never come up. They import nothing of the engine: each costs half as much as a light one."""

import os
import threading


def exit_at_once(connection, options, of=""):
    """End before anything was said: always, or as a host "with CUDA" only."""
    if {"": True, "with CUDA": options.use_cuda}[of]:
        os._exit(3)
    from tests.engine.host.faulty_hosts import light

    light(connection, options)


def say_nothing(connection, options):
    """Live, and never say so."""
    threading.Event().wait()


class Unreadable:
    """Fails in the process that reads it, as a class does that only one side knows."""

    def __reduce__(self):
        return divmod, (1, 0)


def send_what_cannot_be_read(connection, options):
    """Send one message that cannot be read, and live on."""
    connection.send(Unreadable())
    threading.Event().wait()
