"""The kernel to look at and its block, above what a panel says of them."""

from PySide6.QtWidgets import QLineEdit, QWidget

from engine.errors import BadValue
from engine.geometry.block import Block
from gui.explore.looked_at.looked_at import AS_CHOSEN, LookedAt
from gui.style.metrics import GRID, HALF_GRID, number_font, small_font
from gui.widgets.panel_parts import column, fill_box, narrow_box, row
from gui.widgets.refusal import Refusal

_THREADS_TIP = "The block of threads to look at, such as 16x16; it is not the one that runs."
_NO_THREADS_TIP = (
    "The block of the chosen kernel: change it in the panel Kernel. Some kernels choose their own."
)


class KernelField(QWidget):
    """Shows and changes what is looked at; what is refused says why below it.

    `name` is for screen readers, `tip` for everybody.
    """

    def __init__(self, looked_at: LookedAt, name: str, tip: str) -> None:
        super().__init__()
        self._looked_at = looked_at
        self.kernel = narrow_box(name, tip, 8)
        self.threads = QLineEdit()
        self.refusal = Refusal()
        self.threads.setAccessibleName("Block of threads, width × height")
        self.threads.setFont(number_font())
        self.threads.setFixedWidth(9 * GRID)
        self.threads.setPlaceholderText("block")
        self.refusal.setFont(small_font())
        line = row((self.kernel, 1), self.threads, spacing=HALF_GRID)
        self.setLayout(column(line, self.refusal, spacing=HALF_GRID))
        self.kernel.activated.connect(lambda at: looked_at.choose_kernel(self.kernel.itemData(at)))
        self.threads.editingFinished.connect(self._choose_threads)
        self.threads.textEdited.connect(lambda: self.refusal.say(""))

    def show_choice(self, block: Block | None) -> None:
        """List the kernels; `block` is that of what is shown, None where there is nothing to show."""
        looked_at = self._looked_at
        entries = {AS_CHOSEN: "As chosen"} | {known.key: known.title for known in looked_at.kernels}
        fill_box(self.kernel, entries, looked_at.kernel if looked_at.kernel in entries else AS_CHOSEN)
        self.kernel.setEnabled(looked_at.can_choose)
        self.threads.setEnabled(looked_at.takes_block)
        self.threads.setToolTip(_THREADS_TIP if looked_at.takes_block else _NO_THREADS_TIP)
        if block is not None and not self.threads.isModified():
            self.threads.setText(f"{block.x}x{block.y}")
        elif block is None and not self.threads.isEnabled():
            # Not clear(), which counts as typing.
            self.threads.setText("")

    def _choose_threads(self) -> None:
        text = self.threads.text().strip()
        if not self.threads.isModified() or not text:
            return
        self.threads.setModified(False)
        try:
            block = Block.parse(text)
        except BadValue as error:
            self.refusal.say(str(error))
            return
        self._looked_at.choose_block(block)
