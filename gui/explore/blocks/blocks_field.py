"""The blocks of a run: "8x8, 16x16, 32x8", a set of them, or all; none is the one of the panel Kernel."""

from PySide6.QtWidgets import QLabel, QWidget

from engine.geometry.block import Block
from engine.geometry.block_list import EVERY, blocks_text, every_block, read_blocks
from gui.explore.kernel.block_editor import PRESETS
from gui.explore.workspace import Workspace
from gui.style.metrics import digits_width
from gui.widgets.list_field import ListField

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
    "4 … that CUDA allows. Run measures each with the chosen kernel, Run all with every kernel. Empty: "
    "only the block set under Kernel."
)


class BlocksField(ListField):
    """Edits `Settings.blocks`; `beside` stand in its line."""

    def __init__(self, workspace: Workspace, *beside: QWidget) -> None:
        label = QLabel("Bloc&ks")
        super().__init__("blocks", _SETS, read_blocks, blocks_text, before=(label,), after=beside)
        label.setBuddy(self.field)
        self.field.setPlaceholderText("for example 8x8, 16x16")
        self.field.setToolTip(_TIP)
        self.field.setAccessibleName("Blocks to compare, width × height, with commas")
        self.field.setMinimumWidth(digits_width(9))
        self.chosen.connect(lambda blocks: workspace.change(blocks=blocks))
        workspace.settings_changed.connect(lambda settings: self.show_items(settings.blocks))
        self.show_items(workspace.settings.blocks)
