"""The difference of two runs in the place of the result, until another picture is computed."""

from collections.abc import Sequence

from PySide6.QtCore import QObject

from engine.errors import EngineError
from engine.host.shared_array import segments_of
from engine.results.compare import Compared
from engine.results.quantities import error_text
from engine.work.messages import Difference, PictureJob, ShowDifference
from gui.engine_link.engine_link import EngineLink, needs_no_message
from gui.engine_link.engine_state import EngineState
from gui.engine_link.newest import Newest
from gui.explore.display import Display
from gui.explore.preview_controller import PreviewController
from gui.explore.results.row_actions import RowActions
from gui.page.messages import PageMessages

_SOURCE = "difference"


class ShownDifference(QObject):
    """Asks the engine for it; the preview comes back when other rows are selected."""

    def __init__(
        self,
        actions: RowActions,
        state: EngineState,
        link: EngineLink,
        display: Display,
        previews: PreviewController,
        messages: PageMessages,
    ) -> None:
        super().__init__()
        self._actions = actions
        self._state = state
        self._link = link
        self._display = display
        self._previews = previews
        self._messages = messages
        self._newest = Newest(link)
        actions.difference_wanted.connect(self._ask)
        actions.results.selected_changed.connect(self._leave)
        # A picture that is computed for other settings is wanted more than what was asked for before.
        actions.workspace.job_changed.connect(self._forget)

    def _ask(self, first: Compared, second: Compared) -> None:
        first, second = sorted((first, second), key=lambda run: run.number)
        pair = self._actions.jobs_of_pair((first, second))
        if pair is not None:
            self._messages.clear(_SOURCE)
            self._state.set_task(_SOURCE, "computing the difference")
            names = f"runs {first.number} and {second.number}"
            self._newest.ask(
                ShowDifference(*pair), lambda reply: self._replied(pair, names, reply), self._failed
            )

    def _replied(self, pair: Sequence[PictureJob], names: str, reply: Difference) -> None:
        self._state.end_task(_SOURCE)
        picture = self._actions.workspace.picture
        if picture is None or picture != pair[0].picture:
            self._link.keeper.discard(segments_of(reply))
            return
        largest = error_text(reply.largest)
        words = (
            f"no difference of {names}" if not reply.largest else f"difference of {names}, white: {largest}"
        )
        self._display.show_difference(reply.shown, words)

    def _failed(self, error: EngineError) -> None:
        self._state.end_task(_SOURCE)
        if not needs_no_message(error):
            self._messages.show_error(_SOURCE, error)

    def _forget(self) -> None:
        self._newest.forget()
        self._state.end_task(_SOURCE)

    def _leave(self) -> None:
        if len(self._actions.results.selected) != 2:
            self._forget()
            if self._state.result_words:
                self._previews.again()
