"""Messages about the engine's process: ended, replaced, GPU given up, compiled code not cached."""

from dataclasses import replace

from PySide6.QtCore import QObject

from engine.errors import CodeNotKept, HostLost, LineLost
from gui.engine_link.engine_link import EngineLink
from gui.page.messages import Message, Messages, Severity, error_message

SOURCE = "engine"
CODE_SOURCE = "compiled code"
RETRY = "Try the GPU again"


class EngineMessages(QObject):
    """Reports lost hosts, and offers to retry the GPU after it was given up."""

    def __init__(self, link: EngineLink, messages: Messages) -> None:
        super().__init__()
        self._link = link
        self._messages = messages
        self._reported: set[str] = set()
        link.noticed.connect(self._noticed)
        link.lost.connect(self._lost)
        link.ready.connect(self._ready)

    def try_gpu_again(self) -> None:
        """Retry the GPU."""
        self._messages.clear(SOURCE)
        self._link.try_cuda_again()

    def _lost(self, error: HostLost) -> None:
        if isinstance(error, LineLost):
            # `gui.shell.machines` says it.
            return
        retry = ("", None) if self._link.uses_cuda else (RETRY, self.try_gpu_again)
        self._messages.everywhere.show(error_message(SOURCE, error, *retry))

    def _noticed(self, warning: CodeNotKept) -> None:
        # Each new host reports it again.
        if str(warning) not in self._reported:
            self._reported.add(str(warning))
            self._messages.everywhere.show(
                Message(CODE_SOURCE, Severity.INFO, warning.what, warning.why, warning.remedy)
            )

    def _ready(self) -> None:
        message = self._messages.of(SOURCE)
        if message is None or message.severity is not Severity.ERROR:
            return
        remedy = "A new one is running; your work is kept. Run again."
        if not self._link.uses_cuda:
            remedy = (
                "A new one is running on the CPU alone, after three faults in ten minutes; your work is kept."
            )
        self._messages.everywhere.show(replace(message, severity=Severity.WARNING, remedy=remedy))
