"""Ctrl+C in the terminal, or a plain `kill`, closes the window in order: Python's handlers do not run while Qt waits for events."""

import signal
import socket
from collections.abc import Callable

from PySide6.QtCore import QObject, QSocketNotifier
from PySide6.QtWidgets import QWidget


def close_on_interrupt(window: QWidget) -> socket.socket:
    """Close the window on SIGINT and SIGTERM; the socket that is returned has to live as long as the window."""
    return call_on_interrupt(window, window.close)


def call_on_interrupt(owner: QObject, act: Callable[[], object]) -> socket.socket:
    """Call `act` on SIGINT and SIGTERM; the socket that is returned has to live as long as `owner`.

    Python's own way, an exception in whatever slot runs next, is lost in Qt, and with it what the slot was about to do.
    """
    receiver, sender = socket.socketpair()
    sender.setblocking(False)
    for ending in (signal.SIGINT, signal.SIGTERM):
        signal.signal(ending, lambda *_: None)
    signal.set_wakeup_fd(sender.detach())
    notifier = QSocketNotifier(receiver.fileno(), QSocketNotifier.Type.Read, owner)
    notifier.activated.connect(act)
    return receiver
