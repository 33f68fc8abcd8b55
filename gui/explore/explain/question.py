"""What a panel asks the engine: only while it is visible, anew when something changes; the newest wins."""

from functools import partial
from typing import Any, Generic, TypeVar

from PySide6.QtCore import QObject, QTimer, Signal, SignalInstance

from engine.errors import EngineError
from engine.work.messages import PictureJob
from gui.engine_link.engine_link import EngineLink, Newest, needs_no_message
from gui.engine_link.engine_state import EngineState
from gui.explore.explain.selection import Selection

Answer = TypeVar("Answer")

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


class KernelQuestion(Question, Generic[Answer]):
    """A question about the selected kernel, and the same about the one that it is compared with.

    A second part, which needs the kernel compiled, disturbs neither edits nor runs: `_want` says what is to
    be asked once nothing has changed for a moment and nothing runs; `_take_compiled` gets the answer.
    """

    # Why there is no answer: for other operations than convolutions, without a picture, before the engine is
    # up, and until it has answered.
    no_filter = no_picture = no_engine = asking = ""

    def __init__(self, selection: Selection, state: EngineState, link: EngineLink) -> None:
        super().__init__(selection.changed)
        self.selection = selection
        self._state = state
        self.found: Answer | None = None
        """The answer; None with a reason."""
        self.other: Answer | None = None
        """That about the kernel that it is compared with."""
        self._why_not = self.no_picture
        self._answers, self._others, self._compiled = Newest(link), Newest(link), Newest(link)
        # What is still to be asked, or to be answered.
        self._wanted: Any | None = None
        self._compile_timer = QTimer(self, singleShot=True, interval=COMPILE_AFTER_MS)
        self._compile_timer.timeout.connect(self._compile)
        state.running_changed.connect(self._compile)

    @property
    def words(self) -> str:
        """Why there is no answer; empty where there is one."""
        return self._why_not

    @property
    def _job(self) -> PictureJob | None:
        """What is asked about."""
        return self.selection.job

    @property
    def _other_job(self) -> PictureJob | None:
        """What the same is asked about."""
        return self.selection.other_job

    def _request_about(self, job: PictureJob) -> Any:
        """Return the question about a job."""
        raise NotImplementedError

    def _ask(self) -> None:
        self._want(None)
        self._others.forget()
        self.other = None
        job, why_not = self._job, self.selection.why_not(self.no_engine, self.no_filter, self.no_picture)
        if job is None or why_not:
            self._answers.forget()
            self._compiled.forget()
            self._show(None, why_not)
            return
        self._answers.ask(self._request_about(job), self._take, self._failed)
        if (other := self._other_job) is not None:
            self._others.ask(self._request_about(other), self._take_other, lambda error: None)
        if self.words:
            # Why there was none may no longer hold.
            self._show(None, self.asking)

    def _take(self, found: Answer) -> None:
        """Show an answer."""
        self._show(found, "")

    def _take_other(self, other: Answer) -> None:
        self.other = other
        self.changed.emit()

    def _failed(self, error: EngineError) -> None:
        # A lost host's successor is asked again once it is ready.
        self._show(None, self.no_engine if needs_no_message(error) else str(error))

    def _show(self, found: Answer | None, why_not: str) -> None:
        self.found, self._why_not = found, why_not
        self.changed.emit()

    def _want(self, asked: Any | None) -> None:
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

    def _ended(self, asked: Any, answer: Any) -> None:
        if asked is self._wanted:
            self._wanted = None
            self._take_compiled(answer)
        self._compile()

    def _take_compiled(self, answer: Any | EngineError) -> None:
        """Show the answer, or why there is none."""
