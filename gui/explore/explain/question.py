"""A panel's questions about what is selected, while it is visible: soon after a change; the newest wins."""

from collections.abc import Iterable
from functools import partial
from typing import Any, Generic, TypeVar

from PySide6.QtCore import QObject, QTimer, Signal, SignalInstance

from engine.errors import EngineError
from engine.work.messages import PictureJob
from gui.engine_link.engine_link import EngineLink, Newest, needs_no_message
from gui.explore.explain.selection import Selection
from gui.style.metrics import follow

Answer = TypeVar("Answer")

COMPILE_AFTER_MS = 250
"""A kernel takes up to 1 s to compile, and the next preview waits for it: not at each step of an edit."""


class Question(QObject):
    """Base class of what panels show: `_ask` is called soon after one of `signals`, while it is visible."""

    changed = Signal()  # what is shown

    def __init__(self, *signals: SignalInstance, delay_ms: int = 0) -> None:
        super().__init__()
        self.is_visible = False  # whether the panel is visible
        self._asks: Newest | None = None  # what it asks by, where it asks the engine
        # Changes that arrive together make one question.
        self._timer = QTimer(self, singleShot=True, interval=delay_ms)
        self._timer.timeout.connect(self._ask)
        follow(self.refresh, *signals)

    def watch(self, is_visible: bool) -> None:
        """Ask from now on, or no more."""
        self.is_visible = is_visible
        self.refresh()

    @property
    def is_complete(self) -> bool:
        """Whether no answer is pending."""
        is_pending = self._timer.isActive() or (self._asks is not None and self._asks.in_flight is not None)
        return not (self.is_visible and is_pending)

    def refresh(self) -> None:
        """Ask anew, if the panel is visible."""
        if self.is_visible:
            self._timer.start()

    def ask_now(self) -> None:
        """Ask anew without waiting for more changes, if the panel is visible."""
        self._timer.stop()
        if self.is_visible:
            self._ask()

    def _ask(self) -> None:
        """Ask the engine, or say why there is nothing to ask."""
        raise NotImplementedError


class KernelQuestion(Question, Generic[Answer]):
    """A question about the selected kernel, then the same about the one that it is compared with.

    What needs a kernel compiled disturbs neither edits nor runs: of what `_missing` names, one after the
    other is sent once nothing has changed for a moment and nothing runs; `_take_compiled` gets each answer.
    """

    # Why there is no answer: for other operations than convolutions, without a picture, before the engine is
    # up, and until it has answered.
    no_filter = no_picture = no_engine = asking = ""

    def __init__(self, selection: Selection, link: EngineLink) -> None:
        super().__init__(selection.changed)
        self.selection, self._state = selection, selection.state
        self.answer: Answer | None = None  # None with a reason
        self.other: Answer | None = None  # that about the kernel that it is compared with
        self._why_not = self.no_picture
        self._asks = self._answers = Newest(link)
        self._compiled = Newest(link)
        # Requests about compiled kernels that could not be answered, with the reason.
        self._refused: list[tuple[Any, str]] = []
        self._compile_timer = QTimer(self, singleShot=True, interval=COMPILE_AFTER_MS)
        self._compile_timer.timeout.connect(self._compile)
        selection.state.running_changed.connect(self._compile)

    @property
    def words(self) -> str:
        """Why there is no answer; empty where there is one."""
        return self._why_not

    @property
    def _job(self) -> PictureJob | None:
        """What it is about."""
        return self.selection.job

    @property
    def _other_job(self) -> PictureJob | None:
        """What the second question is about."""
        return self.selection.other_job

    def _request_about(self, job: PictureJob) -> Any:
        """Return the question about a job."""
        raise NotImplementedError

    def _ask(self) -> None:
        self.other, self._refused = None, []
        job, why_not = self._job, self.selection.why_not(self.no_engine, self.no_filter, self.no_picture)
        if job is None or why_not:
            self._answers.forget()
            self._show(None, why_not)
            return
        self._answers.ask(self._request_about(job), self._take, self._failed)
        # Why there was none may no longer hold.
        if self.words:
            self._show(None, self.asking)

    def _take(self, answer: Answer) -> None:
        self._show(answer, "")
        self._compile_timer.start()

        def take_other(other: Answer) -> None:
            self.other = other
            self.changed.emit()
            self._compile_timer.start()

        if (job := self._other_job) is not None:
            self._answers.ask(self._request_about(job), take_other, lambda error: None)

    def _failed(self, error: EngineError) -> None:
        # A lost host's successor is asked again once it is ready.
        self._show(None, self.no_engine if needs_no_message(error) else str(error))

    def _show(self, answer: Answer | None, why_not: str) -> None:
        self.answer, self._why_not = answer, why_not
        self.changed.emit()

    def _missing(self) -> Iterable[Any]:
        """Return the requests about compiled kernels, in this order; by default none."""
        return ()

    @property
    def _wanted(self) -> Any | None:
        """The next of those requests; None while the question about the kernel itself is pending."""
        if self._answers.in_flight is not None or self._timer.isActive():
            return None
        refused = [request for request, _why in self._refused]
        return next((one for one in self._missing() if one not in refused), None)

    def _compile(self) -> None:
        is_busy = self._state.running or self._compile_timer.isActive() or self._compiled.in_flight
        if self.is_visible and not is_busy and (request := self._wanted) is not None:
            self._compiled.ask(request, partial(self._ended, request), partial(self._ended, request))

    def _ended(self, request: Any, answer: Answer | EngineError) -> None:
        if request == self._wanted:
            if isinstance(answer, EngineError):
                # A lost host's successor is asked again once it is ready.
                self._refused.append((request, self.no_engine if needs_no_message(answer) else str(answer)))
            else:
                self._take_compiled(request, answer)
            self.changed.emit()
        self._compile()

    def _take_compiled(self, request: Any, answer: Answer) -> None:
        """Have the answer."""


class PassesQuestion(KernelQuestion[Answer]):
    """A question whose answer has a part for each pass of a kernel, or says why it has none."""

    passes = others = ""  # the field of an answer that has something of each pass; what follows a reason

    def __init__(self, selection: Selection, link: EngineLink) -> None:
        super().__init__(selection, link)
        self._pass = 0

    @property
    def words(self) -> str:
        has_none = self.answer is not None and not getattr(self.answer, self.passes)
        reason: str = getattr(self.answer, "reason", "") if has_none else ""
        return self._why_not or (f"{reason}{self.others}" if reason else "")

    @property
    def pass_number(self) -> int:
        return max(min(self._pass, len(getattr(self.answer, self.passes, ())) - 1), 0)

    def of_pass(self, answer: Answer | None) -> Any | None:
        """Return what an answer has of the pass that is shown; of fewer passes that of the last."""
        passes = getattr(answer, self.passes, ())
        return passes[min(self._pass, len(passes) - 1)] if passes else None

    def choose_pass(self, number: int) -> None:
        self._pass = number
        self.changed.emit()
