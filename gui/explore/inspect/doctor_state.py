"""What is known of the mask as it is applied; examined in another thread."""

from engine.mask.analysis import Examination, examine
from engine.mask.mask import Mask
from gui.explore.chain.chain_steps import split
from gui.explore.explain.question import Question
from gui.explore.workspace import Workspace
from gui.page.jobs import Background


class DoctorState(Question):
    """The examination of the present mask, or of an earlier one while that is on its way."""

    def __init__(self, workspace: Workspace) -> None:
        changes = workspace.mask_changed, workspace.settings_changed, workspace.picture_changed
        super().__init__(*changes)
        self.workspace = workspace
        self.examination: Examination | None = None
        self._asked: Mask | None = None
        self._background = Background(self)

    @property
    def is_earlier(self) -> bool:
        """Whether what is shown is of an earlier mask."""
        shown = self.examination
        return shown is not None and shown.mask != self.workspace.applied_mask()

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
            self._background.do(lambda: self._examined(mask), self._take, lambda error: None)

    def _examined(self, mask: Mask) -> Examination | None:
        # An edit that came after this one is waiting behind it.
        return examine(mask) if mask is self._asked else None

    def _take(self, examination: Examination | None) -> None:
        if examination is not None and examination.mask is self._asked:
            self._asked, self.examination = None, examination
            self.changed.emit()
