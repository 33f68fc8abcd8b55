"""Beside the tab of Explain: the kernel that its segments speak of, what it is compared with, and the GPU."""

from itertools import groupby

from PySide6.QtCore import Qt
from PySide6.QtGui import QPalette
from PySide6.QtWidgets import QWidget

from engine.explain.gpus import ABSENT_GPUS
from gui.explore.explain.selection import Selection
from gui.page.panels import PanelTabs
from gui.style.metrics import HALF_GRID
from gui.widgets.labels import ElidedLabel
from gui.widgets.panel_parts import fill_box, icon_button, narrow_box, row

_TIP = (
    "Select another kernel in the list of kernels, also one that cannot run here, or a run: every panel "
    "explains the one that is selected."
)
_OTHER_TIP = "Another kernel: what its run, launch, tile, code and costs have otherwise."
_GPU_TIP = "The GPU that the kernel is compiled for. It need not be here."
# Segments that are about a GPU which need not be here.
_OF_GPU = "launch", "code"


class ExplainHead(QWidget):
    """Names what is explained. `room` is checked while Explain has the whole page."""

    def __init__(self, selection: Selection, segments: PanelTabs) -> None:
        super().__init__()
        self._selection, self._segments = selection, segments
        self.kernel = ElidedLabel()
        self.kernel.setForegroundRole(QPalette.ColorRole.WindowText)
        self.kernel.setAccessibleName("Selected kernel")
        self.other = narrow_box("Kernel to compare with", _OTHER_TIP, 8)
        self.swap = icon_button("swap-horizontal", "Swap the two kernels", "Swap the two kernels")
        self.gpu = narrow_box("GPU that is compiled for", _GPU_TIP, 5)
        self.room = icon_button("arrow-expand", "Large panel", "Explain over the picture, and back")
        self.room.setCheckable(True)
        parts = (self.kernel, 1), self.other, self.swap, self.gpu, self.room
        head = row(*parts, spacing=HALF_GRID)
        head.setAlignment(self.kernel, Qt.AlignmentFlag.AlignVCenter)
        self.setLayout(head)
        self.other.activated.connect(lambda at: selection.compare_with(self.other.itemData(at)))
        self.swap.clicked.connect(selection.swap)
        self.gpu.activated.connect(lambda at: selection.choose_gpu(self.gpu.itemData(at)))
        selection.changed.connect(self._show)
        segments.bar.currentChanged.connect(self._show)
        self._show()

    def _show(self) -> None:
        selection = self._selection
        known, block, other = selection.known, selection.block, selection.other
        front = self._segments.front.objectName()
        if front == "why" and selection.run is not None:
            # That is about the run, whatever block is set now.
            block = selection.run.result.block
        title = known.title if known else ""
        self.kernel.setText(f"{title}, block {block}" if block else title)
        self.kernel.setToolTip(f"{self.kernel.text()}\n\n{_TIP}".strip())
        others = {"": "Compare …"}
        for heading, kernels in groupby(selection.others, lambda one: one.heading):
            others |= {f"head {heading}": heading} | {one.key: one.title for one in kernels}
        fill_box(self.other, others, other.key if other else "", heads="head ")
        here = {None: "This GPU"} if selection.has_gpu else {}
        gpus = {key: gpu.title for key, gpu in ABSENT_GPUS.items()}
        fill_box(self.gpu, here | gpus, selection.gpu)
        shown = {front} | {panel.objectName() for panel in self._segments.panels if panel.is_own_window}
        self.swap.setVisible(other is not None)
        is_cuda = known is not None and known.kind == "cuda"
        self.gpu.setVisible(is_cuda and not shown.isdisjoint(_OF_GPU))
