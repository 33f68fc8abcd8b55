"""The variants of the operation as a list model: auto first, then groups in the engine's order."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

from PySide6.QtCore import QAbstractListModel, QModelIndex, QObject, QPersistentModelIndex, Qt

from engine.device_info import AUTO, SIMULATOR, SIMULATOR_PIXELS
from engine.errors import Reason
from engine.geometry.block import Refusal
from engine.host.protocol import Filtered
from engine.host.request import Availability
from engine.results.text_forms import duration_text
from gui.explore.explain.selection import Selection
from gui.explore.jobs import comparable_of, problem_of
from gui.style.metrics import follow

Index = QModelIndex | QPersistentModelIndex

ROW_ROLE = Qt.ItemDataRole.UserRole  # the VariantRow or GroupRow itself

_NO_PARENT = QModelIndex()
SIMULATE, SMALL_PICTURE = "Simulate", "Small picture"
"""What a group that cannot run is cured by; both choose the simulator with a picture that it takes."""

_AUTO_IDEA = "Haloscope chooses the kernel for these settings and this device, and says why."


@dataclass(frozen=True, slots=True)
class VariantRow:
    """What one row shows."""

    key: str
    title: str
    idea: str
    remark: str = ""  # what a person should know before using it; often empty
    subtitle: str = ""  # beside the title: the key, or for auto the variant that it chose
    time: str = ""  # newest kernel time on the present problem, or a word in its place
    is_timed: bool = False
    is_described: bool = False  # whether the run that the results describe is of this kernel
    reason: Reason | None = None  # why the variant cannot do the present job; None if it can
    # False where only another device or picture would help; a block can be mended once the row is selected.
    can_run: bool = True
    under: str = ""  # under the title of a greyed row: the reason, unless the row above shows it

    @property
    def words(self) -> str:
        return self.title

    @property
    def tip(self) -> str:
        """Why it cannot do this now, or what it does."""
        why = f"{self.title} cannot do this now. {self.reason}" if self.reason else self.idea
        return "\n\n".join(filter(None, (why, self.remark)))

    @property
    def heard(self) -> tuple[str, ...]:
        """What screen readers say."""
        return self.title, self.key, self.time, str(self.reason or "")


@dataclass(frozen=True, slots=True)
class GroupRow:
    """The head of a group; closed, its kernels are not in the list."""

    title: str
    count: int
    is_open: bool
    # Why none of them can run, where all have one reason; it stands in the head and nowhere else.
    reason: Reason | None = None
    cure: str = ""  # what helps, as the word of a button; empty where nothing does

    @property
    def words(self) -> str:
        """The head: CPU, or CUDA: 25 kernels, no NVIDIA driver."""
        if self.reason is None:
            return self.title
        short, kernels = self.reason.short, f"{self.count} kernel{'s' if self.count != 1 else ''}"
        # An abbreviation keeps its capitals.
        inside = short if short[:2].isupper() else short[:1].lower() + short[1:]
        return f"{self.title}: {kernels}, {inside}"

    @property
    def tip(self) -> str:
        """Why none of them can run, and how it opens."""
        why = str(self.reason or f"{self.count} kernels.")
        return f"{why}\n\nClick, or the left and right arrow keys, to close and open the group."

    @property
    def heard(self) -> tuple[str, ...]:
        """What screen readers say."""
        cure = f"Return: {self.cure}" if self.cure else ""
        return self.words, "open" if self.is_open else "closed", cure


class VariantsModel(QAbstractListModel):
    """Variants in groups that open and close; those that cannot run have their reason."""

    def __init__(self, selection: Selection, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._selection, self._results = selection, selection.results
        self._workspace, self._engine_state = selection.workspace, selection.state
        self._rows: list[VariantRow] = []
        self._items: list[VariantRow | GroupRow] = []
        # The groups that the person has opened or closed, while their kernels could run and while not.
        self._opened: dict[tuple[str, bool], bool] = {}
        # The variant that auto chose, why, and for which job.
        self._choice: tuple[str, Reason, Hashable] | None = None
        state = selection.state
        of_page = self._results.described_changed, selection.changed
        follow(self.refresh, state.ready_changed, state.availability_changed, *of_page)
        state.filtered.connect(self._keep_choice)

    def refresh(self) -> None:
        """Read the state again; a selection survives unless other rows are listed."""
        self._rows = self._read_rows()
        items = self._grouped(self._rows)
        if [_key(item) for item in items] != [_key(item) for item in self._items]:
            self.beginResetModel()
            self._items = items
            self.endResetModel()
        elif items != self._items:
            changed = [at for at, old in enumerate(self._items) if old != items[at]]
            self._items = items
            self.dataChanged.emit(self.index(changed[0]), self.index(changed[-1]))

    def open_group(self, title: str, is_open: bool) -> None:
        group = next((one for one in self._items if isinstance(one, GroupRow) and one.title == title), None)
        if group is not None and group.is_open != is_open:
            self._opened[title, group.reason is None] = is_open
            self.refresh()

    def row(self, key: str) -> VariantRow | None:
        """Return the row of a variant, or None if the engine has not named it."""
        return next((row for row in self._rows if row.key == key), None)

    def rows(self) -> tuple[VariantRow, ...]:
        """All variants, auto first, those of closed groups too."""
        return tuple(self._rows)

    def items(self) -> tuple[VariantRow | GroupRow, ...]:
        """Return what the list shows: auto, heads, and the variants of open groups."""
        return tuple(self._items)

    def position(self, key: str) -> int:
        """Return where a variant stands, or -1; of a group, by its title, where its head stands."""
        return next((at for at, item in enumerate(self._items) if _key(item) in (key, f"group {key}")), -1)

    def rowCount(self, parent: Index = _NO_PARENT) -> int:
        return 0 if parent.isValid() else len(self._items)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid():
            return None
        item, roles = self._items[index.row()], Qt.ItemDataRole
        match role:
            case roles.DisplayRole:
                return item.words
            case roles.ToolTipRole:
                return item.tip
            case roles.AccessibleTextRole:
                return ", ".join(filter(None, item.heard))
        return item if role == ROW_ROLE else None

    def _grouped(self, rows: Sequence[VariantRow]) -> list[VariantRow | GroupRow]:
        variants = self._engine_state.variants_of(self._workspace.operation)
        titles = {one.key: one.heading for one in variants}
        cuda = [row for row in rows[1:] if titles[row.key] != "CPU"]
        if _shared_reason(cuda) is not None:
            # One line for all of them: nothing but another device or picture helps.
            titles |= {row.key: "CUDA" for row in cuda}
        items: list[VariantRow | GroupRow] = list(rows[:1])
        groups: dict[str, list[VariantRow]] = {}
        for row in rows[1:]:
            groups.setdefault(titles[row.key], []).append(row)
        for title, kernels in groups.items():
            reason = _shared_reason(kernels)
            is_selected = any(row.key == self._selection.kernel for row in kernels)
            # With the simulator chosen, the kernels that it runs matter.
            is_aside = title == "CPU" and self._workspace.settings.device == SIMULATOR
            at_first = is_selected or (reason is None and not is_aside)
            is_open = self._opened.get((title, reason is None), at_first)
            cure = self._cure() if reason is not None and title != "CPU" else ""
            items.append(GroupRow(title, len(kernels), is_open, reason, cure))
            if is_open:
                # What the head says is not repeated.
                items += [replace(row, under="") for row in kernels] if reason else kernels
        return items

    def _cure(self) -> str:
        """Return what lets CUDA kernels run that cannot: the simulator, or a picture that it takes."""
        settings, picture = self._workspace.settings, self._workspace.picture
        if settings.device == SIMULATOR:
            is_large = picture is not None and picture.width * picture.height > SIMULATOR_PIXELS
            return SMALL_PICTURE if is_large else ""
        return "" if self._engine_state.has_gpu or not self._engine_state.is_ready else SIMULATE

    def _read_rows(self) -> list[VariantRow]:
        newest, run_of = self._selection.newest_runs(), self._results.described
        described = run_of.result.variant if run_of else ""
        no_gpu, device = self._engine_state.no_gpu, self._workspace.settings.device
        # The engine checks kernels for a picture only.
        is_checked = self._workspace.picture is not None or device == SIMULATOR
        rows = [self._auto_row()]
        for entry in self._engine_state.variants_of(self._workspace.operation):
            run = newest.get(entry.key)
            availability = self._engine_state.availability.get(entry.key, Availability(entry.key))
            if entry.kind == "cuda" and not is_checked:
                availability = Availability(entry.key, Refusal.of(no_gpu) if no_gpu else None)
            can_run = not availability.reason or availability.nearest_block is not None
            newest_time = (run.no_speed or duration_text(run.kernel_ms or 0.0)) if run else ""
            # The title of a greyed row needs the room of its time, and the reason stands under it.
            refused = "block refused" if can_run else ""
            row = VariantRow(
                entry.key,
                entry.title,
                entry.idea,
                entry.remark,
                subtitle=entry.key if entry.key != entry.title.casefold() else "",
                time=refused if availability.reason else newest_time,
                is_timed=run is not None and run.kernel_ms is not None and not availability.reason,
                is_described=run is not None and entry.key == described,
                reason=availability.reason,
                can_run=can_run,
            )
            rows.append(row)
        reasons = reasons_in_list([None if row.can_run else row.reason for row in rows])
        # Few have one: copies of all took 1 ms, three times an edit.
        return [replace(row, under=under) if under else row for row, under in zip(rows, reasons, strict=True)]

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
        settings, job = self._workspace.settings, self._workspace.step_job()
        problem = problem_of(job) if job is not None and job.filter else job and comparable_of(job)
        return problem, settings.device, settings.block


def _key(item: VariantRow | GroupRow) -> str:
    return f"group {item.title}" if isinstance(item, GroupRow) else item.key


def _shared_reason(rows: Sequence[VariantRow]) -> Reason | None:
    """Return the one reason for which none of some kernels can be chosen; None where there is no such one."""
    reasons = [None if row.can_run else row.reason for row in rows]
    return reasons[-1] if len({reason and reason.short for reason in reasons}) == 1 else None


def reasons_in_list(reasons: Sequence[Reason | None]) -> list[str]:
    """Return the text under each kernel: its short reason, if any, once for neighbours that share it."""
    texts: list[str] = []
    for short, group in groupby(reason.short if reason else "" for reason in reasons):
        count = len(list(group))
        text = f"{short}: {count} kernels" if short and count > 1 else short
        texts += [text] + [""] * (count - 1)
    return texts
