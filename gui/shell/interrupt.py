"""Handles Ctrl+C and `kill` at any moment, also while libraries load and while Qt waits. No Qt in here.

Python's own KeyboardInterrupt is not enough: during the import of a C library it ended in an abort (1 start
in 36), in a Qt slot it is lost, and while Qt waits for events no Python handler runs.
"""

import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Interrupts:
    """Receives SIGINT, SIGTERM and SIGHUP on its own thread; each ends the process, except within `calling`.

    Called on: the main thread, where handlers can be set.
    """

    def __init__(self) -> None:
        self.last: int | None = None
        self._before_leaving: Callable[[], object] = lambda: None
        self._act: Callable[[], object] = self._leave
        self._receiver, self._sender = socket.socketpair()
        self._sender.setblocking(False)
        # SIGHUP (the terminal was closed) does not exist on Windows.
        for ending in {signal.SIGINT, signal.SIGTERM, getattr(signal, "SIGHUP", signal.SIGTERM)}:
            # A shell that starts a program in the background makes it ignore Ctrl+C.
            if signal.getsignal(ending) is not signal.SIG_IGN:
                signal.signal(ending, lambda *_: None)
        signal.set_wakeup_fd(self._sender.fileno(), warn_on_full_buffer=False)
        threading.Thread(target=self._listen, name="interrupts", daemon=True).start()

    def before_leaving(self, act: Callable[[], object]) -> None:
        """Set what is done before the process ends at once: stopping the engine's process."""
        self._before_leaving = act

    @contextmanager
    def calling(self, act: Callable[[], object]) -> Iterator[None]:
        """Call `act`, on this object's thread, instead of ending the process."""
        self._act = act
        try:
            yield
        finally:
            self._act = self._leave

    def exit_status(self, otherwise: int) -> int:
        """Return 128 + the signal that was received, or `otherwise` if there was none."""
        return otherwise if self.last is None else 128 + self.last

    def _listen(self) -> None:
        while numbers := self._receiver.recv(1):
            self.last = numbers[0]
            self._act()

    def _leave(self) -> None:
        self._before_leaving()
        # No exception: the main thread may be in C code.
        os._exit(self.exit_status(0))
