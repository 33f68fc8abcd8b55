"""What a panel asks the engine: only while it is visible, anew when something changes; the newest wins."""

from functools import partial
from typing import Any

from PySide6.QtCore import QObject, QTimer, Signal, SignalInstance

from engine.errors import EngineError
from engine.host.request import Describe
from gui.engine_link.engine_link import EngineLink
from gui.engine_link.engine_state import EngineState
from gui.engine_link.newest import Newest

COMPILE_AFTER_MS = 250
"""A kernel takes up to 1 s to compile, and the next preview waits for it: not at each step of an edit."""


class Question(QObject):
    """Base class of what panels show: `_ask` is called soon after one of `signals`, while it is visible."""

    changed = Signal()  # what is shown

    def __init__(self, *signals: SignalInstance, delay_ms: int = 0) -> None:
        super().__init__()
        self._is_visible = False
        # Changes that arrive together make one question.
        self._timer = QTimer(self, singleShot=True, interval=delay_ms)
        self._timer.timeout.connect(self._ask)
        for signal in signals:
            signal.connect(self.refresh)

    def watch(self, is_visible: bool) -> None:
        """Ask from now on, or no more."""
        self._is_visible = is_visible
        self.refresh()

    @property
    def is_settled(self) -> bool:
        """Whether nothing is about to be asked."""
        return not self._is_visible or not self._timer.isActive()

    def refresh(self) -> None:
        """Ask anew, if the panel is visible."""
        if self._is_visible:
            self._timer.start()

    def ask_now(self) -> None:
        """Ask anew without waiting for more changes, if the panel is visible."""
        self._timer.stop()
        if self._is_visible:
            self._ask()

    def _ask(self) -> None:
        """Ask the engine, or say why nothing can be asked."""
        raise NotImplementedError


class CompiledQuestion(Question):
    """A question with a second part that needs the kernel compiled, which disturbs neither edits nor runs.

    `_want` says what is to be asked once nothing has changed for a moment and nothing runs; `_take_compiled`
    gets the answer.
    """

    def __init__(self, *signals: SignalInstance, state: EngineState, link: EngineLink) -> None:
        super().__init__(*signals)
        self._state = state
        self._compiled = Newest(link)
        # What is still to be asked, or to be answered.
        self._wanted: Describe[Any] | None = None
        self._compile_timer = QTimer(self, singleShot=True, interval=COMPILE_AFTER_MS)
        self._compile_timer.timeout.connect(self._compile)
        state.running_changed.connect(self._compile)

    def _want(self, asked: Describe[Any] | None) -> None:
        """Have this answered, and nothing else any more."""
        self._wanted = asked
        if asked is not None:
            self._compile_timer.start()

    def _compile(self) -> None:
        is_busy = self._state.running or self._compile_timer.isActive() or self._compiled.in_flight
        if self._wanted is None or not self._is_visible or is_busy:
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
