"""Ctrl+C in the terminal, or a plain `kill`, at whatever moment: the program ends at once, or does what it is told to. No Qt in here.

Python's own way is an exception wherever the main thread happens to be. While a library of C is being imported it ends
in an abort (one start of 36), in a slot of Qt it is lost, and while Qt waits for events no handler of Python's runs.
"""

import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Interrupts:
    """Hears SIGINT, SIGTERM and SIGHUP on a thread of its own; each ends the process, except within `calling`.

    Called on: the main thread, where handlers can be set.
    """

    def __init__(self) -> None:
        self.last: int | None = None
        self._before_leaving: Callable[[], object] = lambda: None
        self._act: Callable[[], object] = self._leave
        self._receiver, self._sender = socket.socketpair()
        self._sender.setblocking(False)
        # Windows has no SIGHUP: the terminal was closed.
        for ending in {signal.SIGINT, signal.SIGTERM, getattr(signal, "SIGHUP", signal.SIGTERM)}:
            # Of a program that was started in the background a shell wants Ctrl+C to be ignored.
            if signal.getsignal(ending) is not signal.SIG_IGN:
                signal.signal(ending, lambda *_: None)
        signal.set_wakeup_fd(self._sender.fileno(), warn_on_full_buffer=False)
        threading.Thread(target=self._listen, name="interrupts", daemon=True).start()

    def before_leaving(self, act: Callable[[], object]) -> None:
        """Do this before the process is ended at once: the engine's process ends first."""
        self._before_leaving = act

    @contextmanager
    def calling(self, act: Callable[[], object]) -> Iterator[None]:
        """Call `act` within instead of ending the process. It is called on: the thread of this object."""
        self._act = act
        try:
            yield
        finally:
            self._act = self._leave

    def exit_status(self, otherwise: int) -> int:
        """Return what shells expect of a program that a signal ended, or `otherwise` where there was none."""
        return otherwise if self.last is None else 128 + self.last

    def _listen(self) -> None:
        while numbers := self._receiver.recv(1):
            self.last = numbers[0]
            self._act()

    def _leave(self) -> None:
        self._before_leaving()
        # Not by an exception: the main thread may be anywhere.
        os._exit(self.exit_status(0))
