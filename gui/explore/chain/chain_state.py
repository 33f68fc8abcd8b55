"""What is known of the page's chain beside its steps: what each took, and what could become one mask."""

from dataclasses import replace
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer, Signal

from engine.errors import EngineError
from engine.results.text_forms import duration_text
from engine.work.messages import MergeRequest
from gui.engine_link.engine_link import EngineLink, Newest
from gui.explore.chain.chain_steps import state_of, with_inputs
from gui.explore.display import Display
from gui.explore.state import COMBINE, Step
from gui.explore.workspace import Workspace

if TYPE_CHECKING:
    from engine.work.messages import MergerOffer
    from engine.work.steps import Chain

# Previews come first.
_SETTLED_MS = 300


class ChainState(QObject):
    """Follows the workspace; all that it asks is answered beside previews and runs."""

    changed = Signal()  # `time_of` or `offer`

    def __init__(self, workspace: Workspace, display: Display, link: EngineLink) -> None:
        super().__init__()
        self.workspace = workspace
        self._display = display
        self._offers = Newest(link)
        self._took: dict[str, tuple[object, str]] = {}
        self.offer: MergerOffer | None = None
        """The merger that would be faster; None where there is none."""
        self._timer = QTimer(self, singleShot=True, interval=_SETTLED_MS)
        self._timer.timeout.connect(self._ask)
        display.timed.connect(self._note_times)
        workspace.job_changed.connect(self._follow)
        self._follow()

    def time_of(self, step: Step) -> str:
        """Return what a step took when its result was last made; empty where that is not known."""
        settings, took = self._took.get(step.id, (None, ""))
        return took if settings == step.result_part else ""

    def switch(self, at: int) -> None:
        """Switch a step off or on again."""
        state = self.workspace.state
        step = state.steps[at]
        steps = (*state.steps[:at], replace(step, on=not step.on), *state.steps[at + 1 :])
        self.workspace.edit(replace(state, steps=steps), f"Step {at + 1} {'off' if step.on else 'on'}")

    def read(self, first: str, second: str) -> None:
        """Let the selected step read other results."""
        state = self.workspace.state
        self.workspace.edit(with_inputs(state, first, second), f"Inputs of step {state.selected + 1}")

    def merge(self) -> None:
        """Take the merger that is offered, as one step that can be undone."""
        if self.offer is not None:
            self.take(self.offer.chain, "Merge steps")

    def take(self, chain: "Chain", text: str) -> None:
        """Take the steps of a chain, as one step that can be undone."""
        self.workspace.edit(state_of(chain, self.workspace.state), text)

    def _note_times(self) -> None:
        steps = {step.id: step for step in self.workspace.state.steps}
        for one in self._display.step_times:
            if one.id in steps and one.ms is not None:
                self._took[one.id] = steps[one.id].result_part, duration_text(one.ms)
        self.changed.emit()

    def _follow(self) -> None:
        self._offers.forget()
        if self.offer is not None:
            self.offer = None
            self.changed.emit()
        if self.workspace.is_chain:
            self._timer.start()

    def _ask(self) -> None:
        job = self.workspace.whole_chain() if self.workspace.is_chain else None
        masks = sum(not step.operation for step in self.workspace.state.steps)
        if job is None or not (masks > 1 or (masks and self._combines)):
            return
        request = MergeRequest(job)
        self._offers.ask(request, self._take_offers, self._have_none)

    @property
    def _combines(self) -> bool:
        return any(step.operation == COMBINE for step in self.workspace.state.steps)

    def _take_offers(self, offers: "tuple[MergerOffer, ...]") -> None:
        self.offer = next((one for one in offers if one.is_faster), None)
        self.changed.emit()

    def _have_none(self, error: EngineError) -> None:
        # Why the chain cannot be computed, its preview says.
        self.offer = None
