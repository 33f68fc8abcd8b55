"""The Help menu: how to use the program, keyboard shortcuts, about."""

from contextlib import suppress
from html import escape
from importlib.metadata import PackageNotFoundError, version

from PySide6.QtCore import Qt
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QDialog, QDialogButtonBox, QTextBrowser, QWidget

from engine import __version__
from gui.shell.crash_log import log_path
from gui.style.metrics import GRID
from gui.widgets.panel_parts import column

HOW_TO = """
<h3>The main job</h3>
<ol>
<li><b>Open</b> a picture (Ctrl+O), drop one on the window, or take a sample from the arrow beside Open.</li>
<li>Edit the <b>mask</b> on the left: click its name for the library and for generators with sliders,
type in the cells, paint over them, or paste numbers from a text. The picture follows each edit.</li>
<li>Choose the <b>border</b> (what the mask sees outside the picture), and whether the mask is <b>flipped</b>:
unflipped is correlation, flipped is convolution proper.</li>
<li>Choose a <b>kernel</b> on the right, its <b>block</b> of threads and the <b>device</b>. What cannot run is
grey, with the reason under its name; its tooltip says what would do.</li>
<li><b>Run</b> (Ctrl+R or F5) does what the page shows. Here it compares the result with a float64 oracle
first, then warms up, then measures. Unverified results get no time. <b>Run all</b> (Ctrl+Shift+R) tests
every compatible kernel.</li>
<li>Read the plots and the table, and <b>save</b> the picture (Ctrl+S) or the results (Ctrl+E).</li>
</ol>
<p><b>Operation</b>, above the mask, has more than convolution: median, histogram, find a patch, compression
and others. <b>Block sizes</b> runs a kernel with several blocks and shows the times as a map. <b>Tile</b>,
behind the mask, shows which thread loads which cell of a block's input. <b>Launch</b>, behind the results,
shows what a kernel takes of a GPU before it runs, and what limits its occupancy. <b>Code</b>, beside it, has
its source, its PTX and SASS, and what another kernel does instead; Ctrl+F finds a text in it. <b>Why</b>,
behind the times, says why the selected run takes its time; <b>Roofline</b> shows all runs under the limits
of their device; <b>Ablation</b> says what each part of a teaching kernel costs. <b>Doctor</b>, beside Code,
says what the mask does to frequencies and at borders, and what it costs.</p>
<p><b>Course</b> (F3) lists the course papers: which kernel of theirs is which here, one click to load it,
and their tables with the figures of this machine beside the printed ones.</p>
<p><b>Matrices</b> multiplies two matrices naively and with tiles in shared memory: choose sizes and tiles,
then <b>Run</b>. Loads and CGMA are counted at once, also without a GPU.</p>
<p><b>Network</b> recognises a digit that you draw, with the network of the CNN report: every feature map,
where each value comes from, and the time of each stage layer by layer.</p>
<p>The <b>mouse wheel</b> zooms the picture and scrolls everything else. A number or a slider takes steps
only where it has the focus, and a list never changes by the wheel.</p>
<h3>Words</h3>
<p><b>Mask</b>: the weights that a pixel's neighbours are multiplied with. <b>Anchor</b>: the cell of the
mask that lies on the pixel. <b>Kernel</b>: a function that runs on the GPU, or its CPU counterpart.
<b>Block</b>: the threads that share memory. <b>Halo</b>: the cells around an output tile that its outputs
also need. <b>Ghost cells</b>: cells outside the picture. <b>Kernel time</b>: the filtering alone. <b>End to
end</b>: from the picture in the computer's memory to the result there, with both copies.</p>
"""


def show_text(parent: QWidget | None, title: str, html: str, height: int) -> QDialog:
    """Show words that can be scrolled, selected and copied."""
    dialog = QDialog(parent)
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    dialog.setWindowTitle(title)
    dialog.resize(640, height)
    words = QTextBrowser()
    words.setOpenExternalLinks(True)
    words.setAccessibleName(title)
    words.document().setDocumentMargin(2 * GRID)
    words.setHtml(html)
    buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
    buttons.rejected.connect(dialog.reject)
    dialog.setLayout(column(words, buttons, margins=(2 * GRID, 2 * GRID, 2 * GRID, 2 * GRID)))
    dialog.open()
    return dialog


def shortcuts_html(actions: list[QAction]) -> str:
    """Return a table of every action that has keys."""
    rows = [
        f"<tr><td>{escape(action.shortcut().toString(QKeySequence.SequenceFormat.NativeText))}</td>"
        f"<td style='padding-left: 24px'>{escape(action.text().replace('&', '').rstrip('…'))}</td></tr>"
        for action in actions
        if not action.shortcut().isEmpty()
    ]
    return f"<table cellspacing='6'>{''.join(rows)}</table>"


def about_html() -> str:
    """Return what this program is, with its version and where its log is."""
    return (
        f"<h3>Haloscope {__version__}</h3>"
        "<p>A desktop laboratory for image filters: the picture, the proof that it is right, the time,"
        " and the reason for the time.</p>"
        f"<p>Python packages: {escape(', '.join(_packages()))}.</p>"
        f"<p>If something goes wrong, details are in {escape(str(log_path()))}.</p>"
    )


def _packages() -> list[str]:
    found = []
    for name in ("PySide6-Essentials", "numpy", "numba", "numba-cuda", "pyqtgraph", "pillow", "tifffile"):
        with suppress(PackageNotFoundError):
            found.append(f"{name} {version(name)}")
    return found
