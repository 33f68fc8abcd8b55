"""Ctrl+C in the terminal, or a plain `kill`, closes the window in order: Python's handlers do not run while Qt waits for events."""

import signal
import socket

from PySide6.QtCore import QSocketNotifier
from PySide6.QtWidgets import QWidget


def close_on_interrupt(window: QWidget) -> socket.socket:
    """Close the window on SIGINT and SIGTERM; the socket that is returned has to live as long as the window."""
    receiver, sender = socket.socketpair()
    sender.setblocking(False)
    for ending in (signal.SIGINT, signal.SIGTERM):
        signal.signal(ending, lambda *_: None)
    signal.set_wakeup_fd(sender.detach())
    notifier = QSocketNotifier(receiver.fileno(), QSocketNotifier.Type.Read, window)
    notifier.activated.connect(window.close)
    return receiver
