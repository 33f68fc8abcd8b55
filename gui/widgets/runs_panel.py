"""The table of a page's runs with its buttons: copy, CSV, JSON; while it is empty, what it will hold."""

from collections.abc import Callable, Mapping

from PySide6.QtCore import QItemSelection, QItemSelectionModel
from PySide6.QtWidgets import QWidget

from gui.widgets.panel_parts import Placeholder, text_button
from gui.widgets.runs_model import Run, RunsModel
from gui.widgets.runs_table import RunsTable

CSV_TIP = "Export as CSV: one row per run, with medians, spread and verification."
JSON_TIP = "Export as JSON: every raw sample, the verification, the machine and its versions."
_COPY_TIP = "Copy all rows as text for a spreadsheet, or the selected ones where there are several."


class RunsPanel(QWidget):
    """Shows a `RunsModel`; a subclass lays out `buttons` and `stack` among its own controls.

    `empty` says what the table will hold; `name`, `shown`, `typical` and `newest_first` are those of
    `RunsTable`.
    """

    def __init__(
        self,
        model: RunsModel,
        empty: str,
        *,
        name: str,
        shown: Mapping[str, bool] | None = None,
        typical: Mapping[str, str] | None = None,
        newest_first: bool = False,
    ) -> None:
        super().__init__()
        self.model = model
        self.table = RunsTable(model, name, shown, typical, newest_first=newest_first)
        self.table.horizontalHeader().setStretchLastSection(True)
        self.table.baseline_asked.connect(model.use_as_baseline)
        self.copy_button = text_button("copy", "Copy", f"Copy {name.lower()}", _COPY_TIP)
        self.copy_button.clicked.connect(self._copy)
        self.export_buttons = [
            text_button("export", form, f"{form} results", tip)
            for form, tip in (("CSV", CSV_TIP), ("JSON", JSON_TIP))
        ]
        self.buttons = self.copy_button, *self.export_buttons
        for button in self.buttons:
            # Before they are laid out: shown without a parent they would be windows.
            button.setParent(self)
        self._empty = empty
        self.stack = Placeholder(self.table)
        for changed in (model.rowsInserted, model.rowsRemoved, model.modelReset, model.dataChanged):
            changed.connect(self._enable)
        self._enable()

    def select(self, wanted: Callable[[Run], bool], *, alone: bool = False) -> None:
        """Select the rows of these runs, unless they are among those that the person has selected.

        With `alone` exactly these are selected.
        """
        chosen, model = self.table.selectionModel(), self.table.order
        rows = [at for at, run in enumerate(self.table.runs()) if wanted(run.result)]
        selected = {index.row() for index in chosen.selectedRows()}
        if rows and (selected == set(rows) if alone else selected.issuperset(rows)):
            return
        selection = QItemSelection()
        for at in rows:
            selection.select(model.index(at, 0), model.index(at, model.columnCount() - 1))
        if rows:
            chosen.setCurrentIndex(model.index(rows[0], 0), QItemSelectionModel.SelectionFlag.NoUpdate)
            self.table.scrollTo(model.index(rows[0], 0))
        chosen.select(selection, QItemSelectionModel.SelectionFlag.ClearAndSelect)

    def explain_empty(self, words: str) -> None:
        """Say something else of what the table will hold."""
        self._empty = words
        self._enable()

    def _copy(self) -> None:
        # One is often selected without anybody's doing: the newest, or the one that Run runs.
        several = len(self.table.selectionModel().selectedRows()) > 1
        (self.table.copy if several else self.table.copy_all)()

    def _enable(self) -> None:
        has_rows = self.model.rowCount() > 0
        self.stack.say("" if has_rows else self._empty)
        self.copy_button.setEnabled(has_rows)
        for button in self.export_buttons:
            button.setEnabled(bool(self.model.tried()))
        # What nothing can be done with yet is not shown.
        for button in self.buttons:
            button.setVisible(has_rows)
