"""What is known of the mask as it is applied; examined in another thread."""

from PySide6.QtCore import QThreadPool, Signal
from PySide6.QtGui import QGuiApplication
from shiboken6 import isValid

from engine.mask.analysis import Examination, examine
from engine.mask.mask import Mask
from engine.mask.text import format_mask
from gui.explore.chain.chain_steps import split
from gui.explore.explain.question import Question
from gui.explore.workspace import Workspace


class DoctorState(Question):
    """The examination of the present mask, or of an earlier one while that is on its way."""

    _examined = Signal(object)

    def __init__(self, workspace: Workspace) -> None:
        changes = workspace.mask_changed, workspace.settings_changed, workspace.picture_changed
        super().__init__(*changes)
        self.workspace = workspace
        self.examination: Examination | None = None
        self._asked: Mask | None = None
        self._examined.connect(self._take)

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

    def _ask(self) -> None:
        mask = self.workspace.applied_mask()
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
