"""A small picture in the simulator: the way out where that refuses the picture, or a GPU is missing."""

from collections.abc import Callable
from dataclasses import replace

from PySide6.QtCore import QObject

from engine.device_info import AUTO, SIMULATOR, SIMULATOR_PIXELS, SIMULATOR_SIDE
from engine.host.protocol import Filtered
from engine.work.filtering.clipping import Clipped
from gui.engine_link.engine_state import EngineState
from gui.explore.workspace import Workspace
from gui.page.messages import Message, Messages, PageMessages, Severity

USE_SIMULATOR = "Use the simulator with a small picture"
USE_PART = f"Use {SIMULATOR_SIDE} × {SIMULATOR_SIDE} of this picture"


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
        """Whether a small picture in the simulator helps: it is chosen, or the kernel needs a GPU in vain."""
        picture, settings = self._workspace.picture, self._workspace.settings
        if settings.device == SIMULATOR:
            return picture is not None and picture.width * picture.height > SIMULATOR_PIXELS
        chosen = self._state.variant(settings.variant)
        return chosen is not None and chosen.kind == "cuda" and not self._state.has_gpu

    def show(self, message: Message) -> None:
        if message.severity is not Severity.INFO and not message.action and self.have_a_way_out:
            # With a way out nothing has gone wrong.
            words = USE_PART if self._workspace.picture is not None else USE_SIMULATOR
            message = replace(message, severity=Severity.WARNING, action=words, act=self._take)
        super().show(message)


SOURCE = "clipped"


class ClipHint(QObject):
    """A message when a result begins to be clipped, or that of another mask or picture is.

    It goes when that ends. The name of the result on the picture says it all the time (`PictureView`).
    """

    def __init__(self, workspace: Workspace, state: EngineState, messages: PageMessages) -> None:
        super().__init__()
        self._workspace, self._messages = workspace, messages
        self._shown: object = None
        state.filtered.connect(self._follow)

    def _follow(self, filtered: Filtered) -> None:
        if filtered.screen is None:
            # A run that failed: the result before is still shown.
            return
        workspace = self._workspace
        clipped = Clipped(*filtered.clipped, range_mode=workspace.range_mode)
        mode = clipped.better_range
        if not mode:
            self._shown = None
            self._messages.clear(SOURCE)
            return
        # Not with each weight that is typed: it would lie on the picture all the time.
        about = mode, clipped.range_mode, workspace.picture, workspace.is_chain, workspace.mask.name
        if about == self._shown:
            return
        self._shown = about
        is_rounded = not workspace.can_leave_range
        shows = f"Show {mode}, as float32" if is_rounded else f"Show {mode}"
        how = {"range_mode": mode} | ({"result_type": "float32"} if is_rounded else {})
        self._messages.show(
            Message(SOURCE, Severity.INFO, clipped.words, "", "", shows, lambda: workspace.change(**how))
        )
