"""What is known of the mask as it is applied; examined in another thread while somebody looks."""

from PySide6.QtCore import QObject, QThreadPool, Signal
from PySide6.QtGui import QGuiApplication
from shiboken6 import isValid

from engine.mask.analysis import Examination, examine
from engine.mask.mask import Mask
from engine.mask.text import format_mask
from gui.explore.chain.chain_steps import split
from gui.explore.workspace import Workspace


class DoctorState(QObject):
    """The examination of the present mask, or of an earlier one while that is on its way."""

    changed = Signal()
    _examined = Signal(object)

    def __init__(self, workspace: Workspace) -> None:
        super().__init__()
        self.workspace = workspace
        self.examination: Examination | None = None
        self._is_watched = False
        self._asked: Mask | None = None
        self._examined.connect(self._take)
        for signal in (workspace.mask_changed, workspace.settings_changed, workspace.picture_changed):
            signal.connect(self._follow)

    def watch(self, is_watched: bool) -> None:
        """Follow the mask while somebody looks."""
        self._is_watched = is_watched
        self._follow()

    @property
    def is_earlier(self) -> bool:
        """Whether what is shown is of an earlier mask."""
        shown = self.examination
        return shown is not None and shown.mask != self.workspace.applied_mask()

    def copy_factors(self) -> None:
        """Copy the column and the row, one below the other, as they can be pasted one by one."""
        factors = self.examination.factors if self.examination else None
        if factors is not None:
            text = "\n\n".join(format_mask(factor, "rows") for factor in factors)
            QGuiApplication.clipboard().setText(text)

    def split(self) -> None:
        """Put two steps, the column and the row, in the place of the mask."""
        factors = self.examination.factors if self.examination else None
        if factors is None:
            return
        column, row = factors
        self.workspace.edit(split(self.workspace.state, column, row), "Split into row and column")

    def _follow(self) -> None:
        mask = self.workspace.applied_mask()
        if not self._is_watched:
            return
        if self.examination is not None and self.examination.mask == mask:
            self._asked = None
            self.changed.emit()
        elif mask != self._asked:
            self._asked = mask
            self.changed.emit()
            # The singular values of 63 x 63 cells take 2 to 190 ms, by load.
            QThreadPool.globalInstance().start(lambda: self._examine(mask))

    def _examine(self, mask: Mask) -> None:
        # An edit that came after this one is waiting behind it.
        if mask is not self._asked:
            return
        examination = examine(mask)
        # The window may have been closed meanwhile.
        if isValid(self):
            self._examined.emit(examination)

    def _take(self, examination: Examination) -> None:
        if examination.mask is self._asked:
            self._asked, self.examination = None, examination
            self.changed.emit()
