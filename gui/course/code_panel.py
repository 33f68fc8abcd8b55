"""The code of a paper's kernels and steps, ours, under the paper's names."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QSizePolicy, QWidget

from engine.course.paper import Excerpt
from gui.course.course_model import CourseModel
from gui.style.metrics import GRID, HALF_GRID
from gui.widgets.code.code_pair import CodePair
from gui.widgets.code.rows import function_rows
from gui.widgets.panel_parts import Placeholder, column, fill_box, narrow_box, quiet_label, row

_LOOKING = "The code is being looked up."
_NO_PAPER = "Choose a paper on the left: the code of its kernels appears here."
_CHOICE_TIP = "The kernels of this paper, and the steps of its tables that name our code."


class CodePanel(QWidget):
    """Shows one function at a time; of what a paper prints, what it calls our names."""

    def __init__(self, course: CourseModel) -> None:
        super().__init__()
        self._course = course
        self._wanted = ""
        self.choice = narrow_box("Kernel or step whose code is shown", _CHOICE_TIP, 16)
        self.where = quiet_label(small=True, wraps=True)
        self.names = quiet_label(small=True, wraps=True)
        self.views = CodePair("Our code", "", 0)
        self.stack = Placeholder(self.views)
        self._build()
        self.choice.currentIndexChanged.connect(self._show)
        course.paper_changed.connect(self._take_paper)
        course.code_changed.connect(self._take)
        course.tables_changed.connect(self._take)
        self._take_paper()

    @property
    def shown(self) -> Excerpt | None:
        """The function that is shown."""
        at = self.choice.currentIndex()
        return self._excerpts()[at] if 0 <= at < len(self._excerpts()) else None

    def show_code_of(self, about: str) -> None:
        """Show the code of a kernel of the paper, or of a step, as soon as it is there."""
        self._wanted = about
        self._take()

    def _excerpts(self) -> tuple[Excerpt, ...]:
        paper = self._course.paper
        return self._course.excerpts(paper.key) if paper else ()

    def _take_paper(self) -> None:
        self._wanted = ""
        self.choice.setCurrentIndex(-1)
        self._take()

    def _take(self) -> None:
        """Offer what is known; what is shown stays, unless something else is wanted and there."""
        excerpts, shown = self._excerpts(), self.choice.currentText()
        labels = [f"{one.about}: {one.code}" for one in excerpts]
        at = labels.index(shown) if shown in labels else 0
        wanted = next((at for at, one in enumerate(excerpts) if one.about == self._wanted), None)
        if wanted is not None:
            at, self._wanted = wanted, ""
        fill_box(self.choice, dict(enumerate(labels)), min(at, len(labels) - 1))
        self.choice.setEnabled(bool(labels))
        self._show()

    def _show(self) -> None:
        one, paper = self.shown, self._course.paper
        problem = self._course.known(paper.key).code_problem if paper else ""
        self.stack.say("" if one else problem or (_LOOKING if paper else _NO_PAPER))
        for label in (self.where, self.names):
            label.setVisible(one is not None)
        if one is None:
            return
        self.where.setText(f"{one.code}: {one.where}")
        names = (
            next((kernel.names for kernel in paper.kernels if kernel.name == one.about), {}) if paper else {}
        )
        self.names.setVisible(bool(names))
        pairs = ", ".join(f"{theirs} is {ours}" for ours, theirs in names.items())
        self.names.setText(f"In the paper: {pairs}.")
        self.views.show_code(function_rows(one.function))
        self.views.left.mark(one.lit)

    def _build(self) -> None:
        self.choice.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        for label in (self.where, self.names):
            label.setTextFormat(Qt.TextFormat.PlainText)
            label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        # The code itself reaches the edges.
        for part in (self.where, self.names, self.views.find_bar):
            part.setContentsMargins(GRID, 0, GRID, 0)
        self.views.search_from(self)
        self.stack.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Ignored)
        buttons = self.views.search, self.views.copy
        bar = row((self.choice, 1), *buttons, spacing=HALF_GRID, margins=(GRID, HALF_GRID, GRID, 0))
        self.setLayout(column(bar, self.where, self.names, (self.stack, 1), spacing=HALF_GRID))
