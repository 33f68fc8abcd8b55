"""A small picture in the simulator: the way out where that refuses the picture, or a GPU is missing."""

from collections.abc import Callable
from dataclasses import replace

from engine.device_info import AUTO, SIMULATOR, SIMULATOR_PIXELS, SIMULATOR_SIDE
from gui.engine_link.engine_state import EngineState
from gui.explore.workspace import Workspace
from gui.page.messages import Message, Messages, PageMessages, Severity

USE_SIMULATOR = "Use the simulator with a small picture"
USE_PART = f"Use {SIMULATOR_SIDE} × {SIMULATOR_SIDE} of this picture"


def small_picture_helps(workspace: Workspace, state: EngineState) -> bool:
    """Return whether the simulator is chosen and the picture too large, or the kernel needs a GPU in vain."""
    picture, settings = workspace.picture, workspace.settings
    if settings.device == SIMULATOR:
        return picture is not None and picture.width * picture.height > SIMULATOR_PIXELS
    chosen = state.variant(settings.variant)
    return chosen is not None and chosen.kind == "cuda" and not state.has_gpu


def choose_simulator(workspace: Workspace, state: EngineState) -> None:
    """Choose the simulator; a kernel of the CPU, which no simulator runs, gives way to Automatic."""
    chosen = state.variant(workspace.settings.variant)
    is_cpu = chosen is not None and chosen.kind == "cpu"
    workspace.change(device=SIMULATOR, **({"variant": AUTO} if is_cpu else {}))


class ComputingMessages(PageMessages):
    """Messages about what is computed, with the small picture's button where it helps; `take` opens it."""

    def __init__(
        self,
        messages: Messages,
        page: object,
        workspace: Workspace,
        state: EngineState,
        take: Callable[[], None],
    ) -> None:
        super().__init__(messages, page)
        self._workspace = workspace
        self._state = state
        self._take = take

    @property
    def have_a_way_out(self) -> bool:
        """Whether a small picture in the simulator helps."""
        return small_picture_helps(self._workspace, self._state)

    def show(self, message: Message) -> None:
        if message.severity is not Severity.INFO and not message.action and self.have_a_way_out:
            # With a way out nothing has gone wrong.
            words = USE_PART if self._workspace.picture is not None else USE_SIMULATOR
            message = replace(message, severity=Severity.WARNING, action=words, act=self._take)
        super().show(message)
