"""What the person has chosen: picture, operation, mask, kernel, block, device. No widgets in here.

Panels show this state and change it through its setters; controllers turn it into requests. A setter emits
its signal only when the value really changed.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QUndoCommand, QUndoStack

from engine.errors import MaskError
from engine.geometry.block import Block
from engine.host.protocol import PictureHandle
from engine.mask.mask import Mask
from engine.tasks.filtering.messages import FilterJob
from engine.tasks.filtering.request import FilterOptions
from engine.tasks.operation.messages import OperationJob
from gui.explore.mask.preset_names import title_of
from gui.explore.picture_job import PictureJob


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings(FilterOptions):
    """Everything of the workspace that is neither the picture nor the mask's cells."""

    # Convolution (the mask is rotated by 180 degrees) instead of correlation.
    flip: bool = False
    # Divide the mask by its sum.
    normalise: bool = False
    # How results outside the picture's range are shown.
    range_mode: str = "clip"
    # Variant that speed-ups are measured against.
    baseline: str = "cpu-serial"
    # Runs cross these with the kernels; none: only `block`.
    blocks: tuple[Block, ...] = ()
    # Keys of the kernels that Run all runs; none: all that can.
    kernels: tuple[str, ...] = ()
    # Of an operation beside convolution: those that differ from their defaults, and the file of a patch.
    parameters: Mapping[str, Any] = field(default_factory=dict)
    patch_path: str = ""


# Settings per operation; the others hold for all of them.
_PER_OPERATION = ("variant", "block", "baseline", "blocks", "kernels", "parameters", "patch_path")
# What only runs read: no result depends on them.
_OF_RUNS = ("baseline", "blocks", "kernels")
# Its variant on the CPU becomes the baseline once the engine has listed it.
_NEVER_CHOSEN = Settings(baseline="")


class _Edit(QUndoCommand):
    """A mask, the name that it goes by, and settings that belong to it, as one step.

    Edits with the same merge key in a row become one step.
    """

    def __init__(
        self, workspace: "Workspace", mask: Mask, settings: dict[str, object], text: str, merge_key: int = -1
    ) -> None:
        super().__init__(text)
        self._workspace = workspace
        before = {name: getattr(workspace.settings, name) for name in settings}
        self._before = workspace.mask, workspace.mask_title, before
        self._after = mask, title_of(mask) or workspace.mask_title, settings
        self._merge_key = merge_key

    def id(self) -> int:
        return self._merge_key

    def mergeWith(self, other: QUndoCommand) -> bool:
        if not isinstance(other, _Edit):
            return False
        self._after = other._after
        return True

    def redo(self) -> None:
        self._show(*self._after)

    def undo(self) -> None:
        self._show(*self._before)

    def _show(self, mask: Mask, title: str, settings: dict[str, object]) -> None:
        self._workspace.choose("")
        if not mask.is_typed_as(self._workspace.mask) or title != self._workspace.mask_title:
            self._workspace._show_mask(mask, title)
        self._workspace.change(**settings)


class Workspace(QObject):
    """The state of the Explore page."""

    # Another operation; its settings are those of the workspace now.
    operation_changed = Signal()
    # The new PictureHandle.
    picture_changed = Signal(object)
    # The new Mask, as typed (neither flipped nor normalised).
    mask_changed = Signal(object)
    # The new Settings; something other than picture and mask changed.
    settings_changed = Signal(object)
    # Anything that a result depends on changed; emitted after the more specific signal.
    job_changed = Signal()

    def __init__(self, mask: Mask) -> None:
        super().__init__()
        self.undo_stack = QUndoStack(self)
        self._picture: PictureHandle | None = None
        self._mask = mask
        self._mask_title = title_of(mask)
        self._settings = Settings()
        self._operation = ""
        self.looked_at: tuple[int, int] | None = None
        """Row and column in the middle of the view: of a large picture a run measures a part around it."""
        # Those of the operations that were chosen before, by their keys.
        self._kept: dict[str, Settings] = {}

    @property
    def operation(self) -> str:
        """Key of the chosen operation; empty for convolution with the mask."""
        return self._operation

    @property
    def is_filtering(self) -> bool:
        """Whether the picture is filtered with the mask."""
        return not self._operation

    @property
    def picture(self) -> PictureHandle | None:
        return self._picture

    @property
    def mask(self) -> Mask:
        """The mask as typed."""
        return self._mask

    @property
    def mask_title(self) -> str:
        """Name of the mask, or of the one that it was edited from; empty where there was none."""
        return self._mask_title

    @property
    def settings(self) -> Settings:
        """The settings of the chosen operation."""
        return self._settings

    def settings_of(self, operation: str) -> Settings:
        """Return the settings of an operation, whichever is chosen."""
        if operation == self._operation:
            return self._settings
        kept = self._kept.get(operation, _NEVER_CHOSEN)
        return replace(self._settings, **{name: getattr(kept, name) for name in _PER_OPERATION})

    def choose(self, operation: str) -> None:
        """Choose an operation by its key, with the settings that it had before."""
        if operation != self._operation:
            settings = self.settings_of(operation)
            self._kept[self._operation] = self._settings
            self._operation, self._settings = operation, settings
            self.operation_changed.emit()
            self.settings_changed.emit(self._settings)
            self.job_changed.emit()

    def set_picture(self, picture: PictureHandle) -> None:
        if picture != self._picture:
            self.looked_at = None
            self._picture = picture
            self.picture_changed.emit(picture)
            self.job_changed.emit()

    def set_mask(self, mask: Mask, text: str = "Edit mask", merge_key: int = -1, **fields: object) -> None:
        """Change the mask, and fields of the settings with it, as one step that can be undone.

        Whoever changes the mask wants to see what it does: convolution is chosen.
        Edits with the same `merge_key` (not -1) in a row become one step.
        """
        self.choose("")
        is_same = mask.is_typed_as(self._mask)
        if not is_same or replace(self._settings, **fields) != self._settings:  # type: ignore[arg-type]
            self.undo_stack.push(_Edit(self, mask, fields, text, merge_key))

    def change(self, **fields: object) -> None:
        """Change fields of the settings: `workspace.change(border=Border.WRAP)`."""
        before, self._settings = self._settings, replace(self._settings, **fields)  # type: ignore[arg-type]
        if self._settings != before:
            self.settings_changed.emit(self._settings)
            if any(getattr(before, name) != value for name, value in fields.items() if name not in _OF_RUNS):
                self.job_changed.emit()

    def set_parameter(self, name: str, value: Any) -> None:
        """Give a parameter of the operation another value."""
        self.change(parameters={**self._settings.parameters, name: value})

    @property
    def can_normalise(self) -> bool:
        """Whether the mask has a sum to divide by."""
        try:
            self._mask.normalised()
        except MaskError:
            return False
        return True

    @property
    def result_dtype(self) -> str:
        """Sample type of the results: that of the picture where "same" is chosen."""
        if self._picture is None or (self.is_filtering and self._settings.result_type == "float32"):
            return "float32"
        return self._picture.dtype

    @property
    def can_leave_range(self) -> bool:
        """Whether results can lie outside the picture's range: then a range mode says how they are shown."""
        return self.is_filtering and self.result_dtype == "float32"

    @property
    def range_mode(self) -> str:
        """How results outside the picture's range are shown and saved; results of 8 or 16 bit are clipped."""
        return self._settings.range_mode if self.can_leave_range else "clip"

    def applied_mask(self) -> Mask:
        """Return the mask as it is applied: normalised (where it has a sum) and flipped, by the settings."""
        mask = self._mask
        if self._settings.normalise and self.can_normalise:
            mask = mask.normalised()
        return mask.flipped() if self._settings.flip else mask

    def job(self) -> PictureJob | None:
        """Return the job that the state describes; None without a picture."""
        settings = self._settings
        if self._picture is None or self.is_filtering:
            return self.filter_job()
        return OperationJob(
            operation=self._operation,
            # With a patch from a file, the whole file is the patch.
            settings={} if settings.patch_path else dict(settings.parameters),
            variant=settings.variant,
            block=settings.block,
            device=settings.device,
            layout=settings.layout,
            picture=self._picture,
            patch_path=settings.patch_path,
        )

    def filter_job(self) -> FilterJob | None:
        """Return the job where that is a convolution, else None."""
        if self._picture is None or not self.is_filtering:
            return None
        mask, options = self.applied_mask(), self._settings.options
        return FilterJob(picture=self._picture, mask=mask, range_mode=self.range_mode, **options)

    def _show_mask(self, mask: Mask, title: str) -> None:
        self._mask, self._mask_title = mask, title
        self.mask_changed.emit(mask)
        self.job_changed.emit()
