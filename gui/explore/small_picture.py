"""A small picture in the simulator: the way out where that refuses the picture, or a GPU is missing."""

from collections.abc import Callable
from dataclasses import replace

from engine.device_info import SIMULATOR, SIMULATOR_SIDE
from gui.engine_link.engine_state import EngineState
from gui.explore.workspace import Workspace
from gui.page.messages import Message, Messages, PageMessages, Severity

USE_SIMULATOR = "Use the simulator with a small picture"


class SmallPicture:
    """Says whether a small picture in the simulator helps; `take` opens it."""

    def __init__(self, workspace: Workspace, state: EngineState, take: Callable[[], None]) -> None:
        self._workspace = workspace
        self._state = state
        self.take = take

    @property
    def helps(self) -> bool:
        """Whether the simulator is chosen and the picture too large, or the kernel needs a GPU in vain."""
        picture, settings = self._workspace.picture, self._workspace.settings
        if settings.device == SIMULATOR:
            return picture is not None and max(picture.width, picture.height) > SIMULATOR_SIDE
        chosen = self._state.variant(settings.variant)
        has_gpu = any(one.is_usable_gpu for one in self._state.devices)
        return chosen is not None and chosen.kind == "cuda" and not has_gpu


class ComputingMessages(PageMessages):
    """Messages about what is computed, with the button of the small picture where that helps."""

    def __init__(self, messages: Messages, page: object, small: SmallPicture) -> None:
        super().__init__(messages, page)
        self._small = small

    @property
    def have_a_way_out(self) -> bool:
        """Whether what is refused now is shown with the button."""
        return self._small.helps

    def show(self, message: Message) -> None:
        if message.severity is not Severity.INFO and not message.action and self._small.helps:
            # With a way out nothing has gone wrong.
            message = replace(message, severity=Severity.WARNING, action=USE_SIMULATOR, act=self._small.take)
        super().show(message)
