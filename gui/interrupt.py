"""Ctrl+C in the terminal closes the window in order: Python's handlers do not run while Qt waits for events."""

import signal
import socket

from PySide6.QtCore import QSocketNotifier
from PySide6.QtWidgets import QWidget


def close_on_interrupt(window: QWidget) -> socket.socket:
    """Close the window on SIGINT; the socket that is returned has to live as long as the window."""
    receiver, sender = socket.socketpair()
    sender.setblocking(False)
    signal.signal(signal.SIGINT, lambda *_: None)
    signal.set_wakeup_fd(sender.detach())
    notifier = QSocketNotifier(receiver.fileno(), QSocketNotifier.Type.Read, window)
    notifier.activated.connect(window.close)
    return receiver
