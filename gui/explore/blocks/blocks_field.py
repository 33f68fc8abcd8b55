"""The blocks of a run: "8x8, 16x16, 32x8", a set of them, or all; none is the one of the panel Kernel."""

from PySide6.QtWidgets import QLineEdit, QMenu, QWidget

from engine.errors import EngineError
from engine.geometry.block import Block
from engine.geometry.block_list import EVERY, blocks_text, every_block, read_blocks
from gui.explore.kernel.block_editor import PRESETS
from gui.explore.workspace import Workspace
from gui.style.metrics import HALF_GRID, digits_width, number_font
from gui.widgets.panel_parts import column, label_for, menu_button, quiet_label, row
from gui.widgets.refusal import Refusal

_WARP = 32
_LARGE = tuple(block for block in every_block() if block.threads >= _WARP)
_SETS: tuple[tuple[str, tuple[Block, ...]], ...] = (
    ("Only the block set under Kernel", ()),
    ("Common: 8x8 … 64x4", PRESETS),
    ("Squares: 4x4, 8x8, 16x16, 32x32", tuple(Block(side, side) for side in (4, 8, 16, 32))),
    ("A warp across: 32x1, 32x2 … 32x32", tuple(Block(_WARP, 1 << power) for power in range(6))),
    ("256 threads in every shape", tuple(block for block in every_block() if block.threads == 256)),
    (f"At least a warp, sides 1, 2, 4 … ({len(_LARGE)})", _LARGE),
    (f"All with sides 1, 2, 4 … ({len(every_block())})", every_block()),
)
_TIP = (
    f'Blocks to compare, width × height, such as 8x8, 16x16, 32x8; "{EVERY}" is every one with sides 1, 2, '
    "4 … that CUDA allows. Run measures each with the chosen kernel, Run all with all chosen kernels. Empty: "
    "only the block set under Kernel."
)


class BlocksField(QWidget):
    """Edits `Settings.blocks`; what is refused says why in one line, and the blocks stay as they were.

    `beside` stands in the line of the field.
    """

    def __init__(self, workspace: Workspace, beside: QWidget) -> None:
        super().__init__()
        self._workspace = workspace
        self._shown: tuple[Block, ...] = ()
        self.field = QLineEdit(placeholderText="8x8, 16x16, 32x8")
        self.field.setToolTip(_TIP)
        self.field.setAccessibleName("Blocks to compare, width × height, with commas")
        self.field.setFont(number_font())
        self.field.setMinimumWidth(digits_width(18))
        menu = QMenu()
        for text, blocks in _SETS:
            menu.addAction(text).triggered.connect(lambda _checked=False, chosen=blocks: self._choose(chosen))
        self.sets = menu_button("Sets", "Sets of blocks", "Blocks that are often compared.", menu)
        self.refusal = Refusal()
        self.note = quiet_label(wraps=True)
        line = row(label_for("Bloc&ks", self.field), (self.field, 1), self.sets, beside, spacing=HALF_GRID)
        self.setLayout(column(line, self.refusal, self.note, spacing=HALF_GRID))
        self.field.editingFinished.connect(self._take)
        self.field.textEdited.connect(lambda: self._say("", ""))
        workspace.settings_changed.connect(self._follow)
        self._show()

    @property
    def is_refused(self) -> bool:
        """Whether what is typed is not a list of blocks."""
        return bool(self.refusal.text())

    def _follow(self) -> None:
        # Another setting changed: what is being typed here stays.
        if self._workspace.settings.blocks != self._shown:
            self._show()

    def _show(self, note: str = "") -> None:
        self._shown = self._workspace.settings.blocks
        self.field.setText(blocks_text(self._shown))
        # Show the beginning of a long list.
        self.field.setCursorPosition(0)
        self._say("", note)

    def _choose(self, blocks: tuple[Block, ...], note: str = "") -> None:
        self._workspace.change(blocks=blocks)
        # What is typed and refused goes also where the set was chosen already.
        self._show(note)

    def _take(self) -> None:
        try:
            blocks, note = read_blocks(self.field.text())
        except EngineError as error:
            self._say(str(error), "")
            return
        # Leaving the field again keeps the note.
        if blocks != self._shown or note or self.is_refused:
            self._choose(blocks, note)

    def _say(self, refusal: str, note: str) -> None:
        """Show why the list is refused, or a note; empty texts hide them."""
        self.refusal.say(refusal)
        self.note.setText(note)
        self.note.setVisible(bool(note))
