"""What each mask of the library does to the picture: drawn by the engine, kept until the picture changes."""

from collections.abc import Iterable

from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QImage

from engine.host.protocol import PictureHandle
from engine.mask.mask import Mask
from engine.work.messages import EffectsRequest
from gui.engine_link.engine_link import EngineLink
from gui.engine_link.newest import Newest
from gui.explore.workspace import Workspace
from gui.style.metrics import GRID

SIDE = 5 * GRID
"""Of a picture, pixels."""


class MaskEffects(QObject):
    """The pictures by their masks; those that are asked for come later."""

    changed = Signal()

    def __init__(self, workspace: Workspace, link: EngineLink) -> None:
        super().__init__()
        self._workspace = workspace
        self._link, self._newest = link, Newest(link)
        self._picture: PictureHandle | None = None
        self._made: dict[str, QImage] = {}

    def ask(self, masks: Iterable[Mask]) -> None:
        """Have pictures of masks made, of those that have none for the picture that is open now."""
        picture = self._workspace.picture
        if picture is not self._picture:
            self._picture = picture
            self._made.clear()
        wanted = {mask.weights_digest: mask for mask in masks if mask.weights_digest not in self._made}
        if wanted and not self._link.is_lost:
            request = EffectsRequest(tuple(wanted.values()), picture, SIDE)
            # Without them the library has its weights and words; what went wrong is said where it matters.
            self._newest.ask(request, lambda made: self._take(wanted, made), lambda error: None)

    def of(self, mask: Mask) -> QImage | None:
        """Return the picture of a mask, if it is there."""
        return self._made.get(mask.weights_digest)

    def _take(self, wanted: Iterable[str], made: Iterable[bytes]) -> None:
        for key, pixels in zip(wanted, made, strict=True):
            # The copy owns its pixels.
            self._made[key] = QImage(pixels, SIDE, SIDE, 3 * SIDE, QImage.Format.Format_RGB888).copy()
        self.changed.emit()
