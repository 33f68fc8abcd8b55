"""The variants of the operation as a list model: auto first, then the engine's order; times and reasons."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

from PySide6.QtCore import QAbstractListModel, QModelIndex, QObject, QPersistentModelIndex, Qt

from engine.device_info import AUTO
from engine.host.messages import VariantInfo
from engine.host.protocol import Availability, Filtered
from engine.reason import Reason
from engine.results.quantities import ms_text
from engine.tasks.filtering.messages import FilterJob
from gui.engine_link.engine_state import EngineState
from gui.explore.picture_job import comparable_of, problem_of
from gui.explore.results.results_model import ResultsModel
from gui.explore.workspace import Workspace

Index = QModelIndex | QPersistentModelIndex

# The VariantRow itself.
ROW_ROLE = Qt.ItemDataRole.UserRole

_NO_PARENT = QModelIndex()
_AUTO_IDEA = "Haloscope chooses the kernel for these settings and this device, and says why."


@dataclass(frozen=True, slots=True)
class VariantRow:
    """What one row shows."""

    key: str
    title: str
    idea: str
    # What a person should know before using it; often empty.
    remark: str = ""
    # Beside the title: the key, or for auto the variant that it chose.
    subtitle: str = ""
    # Newest kernel time on the present problem, or a word in its place.
    time: str = ""
    # Why the variant cannot do the present job; None if it can.
    reason: Reason | None = None
    # False where only another device or picture would help; a block can be mended once the row is chosen.
    selectable: bool = True
    # Under the title of a greyed row: the reason, unless the row above has said it.
    under: str = ""


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
        # The variant that auto chose, why, and for which job.
        self._choice: tuple[str, Reason, Hashable] | None = None
        self.refresh()
        for signal in (
            engine_state.ready_changed,
            engine_state.availability_changed,
            workspace.job_changed,
            results.rowsInserted,
            results.modelReset,
        ):
            signal.connect(self.refresh)
        engine_state.filtered.connect(self._keep_choice)

    def refresh(self) -> None:
        """Read the state again; a selection survives unless the ladder itself changed."""
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
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return row.title
            case Qt.ItemDataRole.ToolTipRole:
                why = f"{row.title} cannot do this now. {row.reason}" if row.reason else row.idea
                return "\n\n".join(filter(None, (why, row.remark)))
            case Qt.ItemDataRole.AccessibleTextRole:
                return ", ".join(filter(None, (row.title, row.key, row.time, str(row.reason or ""))))
            case Qt.ItemDataRole.UserRole:
                return row
        return None

    def _read_rows(self) -> list[VariantRow]:
        times = self._newest_times()
        variants = self._engine_state.variants_of(self._workspace.operation)
        rows = [self._auto_row(), *(self._variant_row(entry, times.get(entry.key, "")) for entry in variants)]
        reasons = reasons_in_list([None if row.selectable else row.reason for row in rows])
        return [replace(row, under=under) for row, under in zip(rows, reasons, strict=True)]

    def _variant_row(self, variant: VariantInfo, newest_time: str) -> VariantRow:
        found = self._engine_state.availability.get(variant.key, Availability(variant.key))
        selectable = not found.reason or found.nearest_block is not None
        # The title of a greyed row needs the room of its time, and the reason stands under it.
        refused = "block refused" if selectable else ""
        return VariantRow(
            variant.key,
            variant.title,
            variant.idea,
            variant.remark,
            subtitle=variant.key if variant.key != variant.title.casefold() else "",
            time=refused if found.reason else newest_time,
            reason=found.reason,
            selectable=selectable,
        )

    def _newest_times(self) -> dict[str, str]:
        """Return the newest kernel time of each variant on the present problem, or a word in its place."""
        job = self._workspace.job()
        present = job and comparable_of(job)
        layouts = ("", self._workspace.settings.layout)
        return {
            result.variant: result.no_speed or ms_text(result.kernel_ms or 0.0)
            for result in self._results.results()
            if result.layout in layouts and self._results.problem_of(result) == present
        }

    def _auto_row(self) -> VariantRow:
        row = VariantRow(AUTO, "Automatic", _AUTO_IDEA)
        if self._choice is None or self._workspace.settings.variant != AUTO:
            return row
        variant, because, chosen_for = self._choice
        if chosen_for != self._chosen_for():
            return row
        choice = "; ".join(filter(None, (f"Chose {variant} ({because.short})", because.detail)))
        return replace(row, idea=f"{choice}.", subtitle=variant)

    def _keep_choice(self, filtered: Filtered) -> None:
        # Runs of named variants come in between and chose nothing.
        if filtered.chosen_because:
            self._choice = filtered.variant, filtered.chosen_because, self._chosen_for()
        self.refresh()

    def _chosen_for(self) -> Hashable:
        """Return what the choice depends on, less the weights: it stays while a mask is being edited."""
        settings, job = self._workspace.settings, self._workspace.job()
        problem = problem_of(job) if isinstance(job, FilterJob) else job and comparable_of(job)
        return problem, settings.device, settings.block


def reasons_in_list(reasons: Sequence[Reason | None]) -> list[str]:
    """Return the text under each kernel of a list: its short reason, once for neighbours that share it.

    `reasons` has the reason of each kernel that is greyed, None for the others.
    """
    texts: list[str] = []
    for short, group in groupby(reason.short if reason else "" for reason in reasons):
        count = len(list(group))
        text = f"{short}: {count} kernels" if short and count > 1 else short
        texts += [text] + [""] * (count - 1)
    return texts
