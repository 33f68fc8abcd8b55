"""What is worth knowing about the mask, in two lines, or all of why an edit was refused."""

from collections.abc import Sequence
from functools import partial

from PySide6.QtGui import QPalette

from engine.mask.analysis import Fact, describe, weights_sum
from engine.mask.mask import Mask
from gui.explore.workspace import Workspace
from gui.page.background import Background
from gui.widgets.elided_label import ElidedLabel

_LINES, _LINES_OF_REFUSAL = 2, 9
# Larger masks are described in another thread: the rank of 63 x 63 takes 2 to 190 ms, by load.
_LARGEST_AT_ONCE = 15 * 15


class MaskFacts(ElidedLabel):
    """Two lines of facts, more of them in the tooltip; or a refusal, in as many lines as it takes.

    With facts its height does not change, so that nothing in the panel moves while a person types.
    """

    def __init__(self, workspace: Workspace) -> None:
        super().__init__(_LINES, most=_LINES_OF_REFUSAL, small=True)
        self._workspace, self._background = workspace, Background(self)
        self._is_refusal = False
        self.setAccessibleName("About the mask")
        workspace.mask_changed.connect(self.show_facts)
        workspace.settings_changed.connect(lambda: self.show_refusal(""))
        self.show_facts()

    def show_facts(self) -> None:
        """Describe the mask."""
        mask = self._workspace.mask
        self._is_refusal = False
        self.set_most(_LINES)
        self.setForegroundRole(QPalette.ColorRole.PlaceholderText)
        if mask.taps <= _LARGEST_AT_ONCE:
            self._show(mask, *_texts(describe(mask)))
        else:
            self._show(mask, weights_sum(mask) + ".")
            shown = partial(self._show, mask)
            self._background.do(lambda: _texts(describe(mask)), lambda texts: shown(*texts), lambda _: None)

    def show_refusal(self, sentence: str) -> None:
        """Say why an edit was not made, until the mask or its border changes; empty: describe the mask."""
        if not sentence:
            if self._is_refusal:
                self.show_facts()
            return
        self._is_refusal = True
        self.set_most(_LINES_OF_REFUSAL)
        self.setForegroundRole(QPalette.ColorRole.BrightText)
        self.setText(sentence)

    def _show(self, mask: Mask, text: str, tooltip: str = "") -> None:
        if mask is not self._workspace.mask or self._is_refusal:
            return
        self.setText(text)
        self.setToolTip(tooltip or text)


def _texts(facts: Sequence[Fact]) -> tuple[str, str]:
    """Return the first facts in short, and all of them whole."""
    return " ".join(f"{fact.short}." for fact in facts[:3]), "\n".join(fact.sentence for fact in facts)
