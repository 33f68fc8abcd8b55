"""What panels do that also need the kernel compiled: a second question, which disturbs nothing.

It is asked once nothing has changed for a moment, one at a time, and never during a run.
"""

from functools import partial
from typing import Any

from PySide6.QtCore import QTimer

from engine.errors import EngineError
from engine.host.request import Describe
from gui.engine_link.engine_link import EngineLink
from gui.engine_link.engine_state import EngineState
from gui.engine_link.newest import Newest
from gui.explore.looked_at.explained_kernel import ExplainedKernel
from gui.explore.looked_at.looked_at import LookedAt

SETTLED_MS = 250
"""A kernel takes up to 1 s to compile, and the next preview waits for it: not at each step of an edit."""


class CompiledKernel(ExplainedKernel):
    """What a panel shows of the kernel; `_take_compiled` gets what needs it compiled, later."""

    def __init__(self, looked_at: LookedAt, state: EngineState, link: EngineLink) -> None:
        super().__init__(looked_at)
        self._state = state
        self._compiled = Newest(link)
        # What is still to be asked, or to be answered.
        self._wanted: Describe[Any] | None = None
        self._settled_timer = QTimer(self, singleShot=True, interval=SETTLED_MS)
        self._settled_timer.timeout.connect(self._compile)
        state.running_changed.connect(self._compile)

    def _want(self, asked: Describe[Any] | None) -> None:
        """Have this answered, and nothing else any more."""
        self._wanted = asked
        if asked is not None:
            self._settled_timer.start()

    def _compile(self) -> None:
        is_busy = self._state.running or self._settled_timer.isActive() or self._compiled.in_flight
        if self._wanted is None or not self._is_watched or is_busy:
            return
        asked = self._wanted
        self._compiled.ask(asked, partial(self._ended, asked), partial(self._ended, asked))

    def _ended(self, asked: Describe[Any], answer: Any) -> None:
        if asked is self._wanted:
            self._wanted = None
            self._take_compiled(answer)
        self._compile()

    def _take_compiled(self, answer: Any | EngineError) -> None:
        """Show the answer, or why there is none."""
        raise NotImplementedError
