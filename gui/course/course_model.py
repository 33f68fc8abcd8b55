"""The course papers as the window knows them: which one is shown, its tables so far, and what the person asks for."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from PySide6.QtCore import QObject, Signal

from engine.course.paper import CourseKernel, CourseTable, Paper


@dataclass(frozen=True, slots=True)
class PaperTables:
    """What is known of a paper's tables.

    Parameters
    ----------
    tables : tuple of CourseTable
        Empty until they have been counted.
    is_measured : bool
        Whether this machine's measured figures are in them.
    problem : str
        Why there are none, in words.
    """

    tables: tuple[CourseTable, ...] = ()
    is_measured: bool = False
    problem: str = ""


def _every_paper() -> tuple[Paper, ...]:
    # Nobody needs the papers before the page is shown.
    from engine.course.papers import PAPERS

    return PAPERS


class CourseModel(QObject):
    """The state of the page Course.

    Parameters
    ----------
    read_papers : callable
        Called when the papers are first needed.

    Signals
    -------
    paper_changed()
        Another paper is shown.
    tables_changed(str)
        The tables of this paper are others now.
    count_wanted(str), measure_wanted(str), save_wanted(str)
        What the person asks for, by the key of a paper; a controller does it.
    load_wanted(object)
        The person wants the configuration of this CourseKernel.
    """

    paper_changed = Signal()
    tables_changed = Signal(str)
    count_wanted = Signal(str)
    measure_wanted = Signal(str)
    save_wanted = Signal(str)
    load_wanted = Signal(object)

    def __init__(
        self,
        read_papers: Callable[[], tuple[Paper, ...]] = _every_paper,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._read_papers = read_papers
        self._papers: tuple[Paper, ...] | None = None
        self._shown = ""
        self._known: dict[str, PaperTables] = {}

    @property
    def papers(self) -> tuple[Paper, ...]:
        """Every paper, in the course's order."""
        if self._papers is None:
            self._papers = self._read_papers()
        return self._papers

    @property
    def paper(self) -> Paper | None:
        """The paper that is shown; None until one was chosen."""
        return (
            next((paper for paper in self.papers if paper.key == self._shown), None) if self._shown else None
        )

    def choose(self, key: str) -> None:
        """Show a paper, and have its tables counted if they have not been."""
        if key != self._shown and any(paper.key == key for paper in self.papers):
            self._shown = key
            self.paper_changed.emit()
            self.ask_for_counts()

    def ask_for_counts(self) -> None:
        """Have the tables of the paper that is shown counted, unless they are there."""
        if self._shown and not self.known(self._shown).tables:
            self.count_wanted.emit(self._shown)

    def known(self, key: str) -> PaperTables:
        """Return what is known of a paper's tables."""
        return self._known.get(key, PaperTables())

    def set_counted(self, key: str, tables: tuple[CourseTable, ...]) -> None:
        """Take note of counted tables; measured ones hold more and stay."""
        if not self.known(key).is_measured:
            self._know(key, PaperTables(tables))

    def set_measured(self, key: str, tables: tuple[CourseTable, ...]) -> None:
        """Take note of measured tables."""
        self._know(key, PaperTables(tables, is_measured=True))

    def set_problem(self, key: str, problem: str) -> None:
        """Say why a paper's tables could not be had; tables that are there stay."""
        self._know(key, replace(self.known(key), problem=problem))

    def ask_to_measure(self) -> None:
        """Have the paper that is shown measured on this machine."""
        if self._shown:
            self.measure_wanted.emit(self._shown)

    def ask_to_load(self, kernel: CourseKernel) -> None:
        """Have the configuration of a kernel loaded."""
        self.load_wanted.emit(kernel)

    def ask_to_save(self) -> None:
        """Have the tables of the paper that is shown written to a folder."""
        if self._shown:
            self.save_wanted.emit(self._shown)

    def _know(self, key: str, known: PaperTables) -> None:
        self._known[key] = known
        self.tables_changed.emit(key)
