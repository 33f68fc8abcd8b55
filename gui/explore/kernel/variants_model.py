"""The ladder of variants as a list model: auto first, then the engine's order, with last times and reasons."""

from dataclasses import dataclass, replace
from typing import Any

from PySide6.QtCore import QAbstractListModel, QModelIndex, QObject, QPersistentModelIndex, Qt

from engine.device_info import AUTO
from engine.host.messages import VariantInfo
from engine.host.protocol import Filtered
from engine.results.compare import comparable
from engine.results.quantities import ms_text
from gui.engine_link.engine_state import EngineState
from gui.engine_link.refusal_text import reasons_in_list
from gui.explore.results.comparison import problem_of, workspace_comparable
from gui.explore.results.results_model import ResultsModel
from gui.explore.workspace import Workspace

Index = QModelIndex | QPersistentModelIndex

KEY_ROLE = Qt.ItemDataRole.UserRole
TIME_ROLE = Qt.ItemDataRole.UserRole + 1
REASON_ROLE = Qt.ItemDataRole.UserRole + 2
SUBTITLE_ROLE = Qt.ItemDataRole.UserRole + 3
UNDER_ROLE = Qt.ItemDataRole.UserRole + 4

_NO_PARENT = QModelIndex()
_AUTO_IDEA = "Haloscope chooses the kernel for this picture, mask and device, and says why."


@dataclass(frozen=True, slots=True)
class VariantRow:
    """What one row shows.

    Parameters
    ----------
    remark : str
        What a person should know before using it; often empty.
    subtitle : str
        What stands beside the title: the key, or for auto the variant that it chose.
    time : str
        Newest kernel time on the present problem, or a word in its place.
    reason : str
        Why the variant cannot do the present job; empty if it can.
    selectable : bool
        False where only another device or picture would help; a block can be mended once the row is chosen.
    under : str
        What stands under the title of a greyed row: the reason, unless the row above has told it.
    """

    key: str
    title: str
    idea: str
    remark: str = ""
    subtitle: str = ""
    time: str = ""
    reason: str = ""
    selectable: bool = True
    under: str = ""


@dataclass(frozen=True, slots=True)
class _Choice:
    """What auto chose, why, and for which job."""

    variant: str
    because: str
    job: object


class VariantsModel(QAbstractListModel):
    """Variants that can be chosen, those that cannot (with the reason), and their newest kernel times."""

    def __init__(
        self,
        workspace: Workspace,
        engine_state: EngineState,
        results: ResultsModel,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._workspace = workspace
        self._engine_state = engine_state
        self._results = results
        self._rows: list[VariantRow] = []
        self._choice: _Choice | None = None
        self.refresh()
        engine_state.ready_changed.connect(self.refresh)
        engine_state.availability_changed.connect(self.refresh)
        engine_state.filtered.connect(self._take_choice)
        workspace.job_changed.connect(self.refresh)
        results.rowsInserted.connect(self.refresh)
        results.modelReset.connect(self.refresh)

    def refresh(self) -> None:
        """Read the state anew; rows stay in place unless the ladder itself changed, so a selection survives."""
        rows = self._read_rows()
        if [row.key for row in rows] != [row.key for row in self._rows]:
            self.beginResetModel()
            self._rows = rows
            self.endResetModel()
        elif rows != self._rows:
            self._rows = rows
            self.dataChanged.emit(self.index(0), self.index(len(rows) - 1))

    def row(self, key: str) -> VariantRow | None:
        """Return the row of a variant, or None if the engine has not named it."""
        return next((row for row in self._rows if row.key == key), None)

    def rows(self) -> tuple[VariantRow, ...]:
        """All rows, auto first."""
        return tuple(self._rows)

    def position(self, key: str) -> int:
        """Return where a variant stands, or -1."""
        return next((i for i, row in enumerate(self._rows) if row.key == key), -1)

    def rowCount(self, parent: Index = _NO_PARENT) -> int:
        return 0 if parent.isValid() else len(self._rows)

    def flags(self, index: Index) -> Qt.ItemFlag:
        if not index.isValid():
            return Qt.ItemFlag.NoItemFlags
        if not self._rows[index.row()].selectable:
            return Qt.ItemFlag.ItemNeverHasChildren
        return Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable | Qt.ItemFlag.ItemNeverHasChildren

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid():
            return None
        row = self._rows[index.row()]
        if role == Qt.ItemDataRole.DisplayRole:
            return row.title
        if role == KEY_ROLE:
            return row.key
        if role == TIME_ROLE:
            return row.time
        if role == REASON_ROLE:
            return row.reason
        if role == SUBTITLE_ROLE:
            return row.subtitle
        if role == UNDER_ROLE:
            return row.under
        if role == Qt.ItemDataRole.ToolTipRole:
            told = f"{row.title} cannot do this now. {row.reason}" if row.reason else row.idea
            return f"{told}\n\n{row.remark}" if row.remark else told
        if role == Qt.ItemDataRole.AccessibleTextRole:
            return ", ".join(part for part in (row.title, row.key, row.time, row.reason) if part)
        return None

    def _read_rows(self) -> list[VariantRow]:
        times = self._newest_times()
        variants = self._engine_state.variants
        rows = [self._auto_row(), *(self._variant_row(entry, times.get(entry.key, "")) for entry in variants)]
        told = reasons_in_list(["" if row.selectable else row.reason for row in rows])
        return [replace(row, under=under) for row, under in zip(rows, told, strict=True)]

    def _variant_row(self, variant: VariantInfo, newest_time: str) -> VariantRow:
        found = self._engine_state.availability.get(variant.key)
        reason = found.reason if found else ""
        selectable = not reason or (found is not None and found.nearest_block is not None)
        # A greyed row says enough: its title needs the room, and the reason stands under it.
        refused = "block refused" if selectable else ""
        time = refused if reason else newest_time
        subtitle = variant.key if variant.key != variant.title.casefold() else ""
        return VariantRow(
            variant.key, variant.title, variant.idea, variant.remark, subtitle, time, reason, selectable
        )

    def _newest_times(self) -> dict[str, str]:
        """Return the newest kernel time of each variant on the present problem, or a word in its place."""
        present = workspace_comparable(self._workspace)
        layouts = ("", self._workspace.settings.layout)
        return {
            result.variant: result.no_speed or ms_text(result.kernel_ms or 0.0)
            for result in self._results.results()
            if result.layout in layouts and comparable(result) == present
        }

    def _auto_row(self) -> VariantRow:
        choice = self._choice
        if choice is None or self._workspace.settings.variant != AUTO or choice.job != self._chosen_for():
            return VariantRow(AUTO, "Automatic", _AUTO_IDEA)
        idea = f"Chose {choice.variant}: {choice.because}."
        return VariantRow(AUTO, "Automatic", idea, subtitle=choice.variant)

    def _take_choice(self, filtered: Filtered) -> None:
        # Runs of named variants come in between and chose nothing.
        if filtered.chosen_because:
            self._choice = _Choice(filtered.variant, filtered.chosen_because, self._chosen_for())
        self.refresh()

    def _chosen_for(self) -> object:
        settings = self._workspace.settings
        # Not the weights: the choice stays in sight while a mask is being edited, until the next preview.
        job = self._workspace.job()
        return job and problem_of(job), settings.device, settings.block
