"""What the person has chosen on the page Explore, as one frozen value, which undo and sessions bring back.

A state has a picture's source and steps; panels show and change the selected step. A mask goes by the name of
its preset, also while it is edited. No Qt in here.
"""

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from engine.device_info import AUTO
from engine.errors import EngineError, MaskError
from engine.geometry.block import Block, Layout
from engine.geometry.border import Border, RangeMode
from engine.host.protocol import OpenPicture, PictureHandle
from engine.mask.mask import Mask
from engine.mask.presets import Preset, presets
from engine.mask.typed import TypedWeights
from engine.verify.verification import Region
from engine.work.steps import PICTURE

EDITED = ", edited"


def preset_of(mask: Mask) -> Preset | None:
    """Return the preset that has these very weights, anchor and offset."""
    return _by_mask().get(mask)


def title_of(mask: Mask) -> str:
    """Return what a mask is called, a preset by its title; empty where it has no name."""
    preset = preset_of(mask)
    return preset.title if preset is not None else mask.name.removesuffix(EDITED)


def known_presets() -> tuple[Preset, ...]:
    """Return all presets; none where their file is damaged."""
    try:
        return presets()
    except EngineError:
        return ()


# Several panels ask with each edit; comparing with all of them took 0.7 ms.
@cache
def _by_mask() -> dict[Mask, Preset]:
    # Of two with the same weights the first.
    return {preset.mask: preset for preset in reversed(known_presets())}


def name_of(mask: Mask, title: str) -> str:
    """Return what a mask of a title is called: Sobel x; Sobel x, edited; nothing if it is another one."""
    # A preset with another anchor, offset or divisor keeps its name, but is not what the name promises.
    is_own = bool(mask.name) and mask.name not in _by_title() and not mask.name.endswith(EDITED)
    if not title or is_own or preset_of(mask) is not None:
        return title
    known = _by_title().get(title)
    return f"{title}{EDITED}" if known is None or _resembles(mask, known.mask) else ""


@cache
def _by_title() -> dict[str, Preset]:
    return {preset.title: preset for preset in known_presets()}


# Read several times with each edit.
@lru_cache(64)
def _resembles(mask: Mask, original: Mask) -> bool:
    """Whether half of the weights of two masks are the same, or are in one proportion."""
    own, other = mask.weights, original.resized(*mask.shape).weights
    used = (own != 0) | (other != 0)
    proportion = float((own * other).sum() / max((other * other).sum(), np.finfo(float).tiny))
    same = max(int(np.isclose(own, factor * other)[used].sum()) for factor in (1.0, proportion))
    return 2 * same >= int(used.sum())


@dataclass(frozen=True, slots=True, kw_only=True)
class StepSettings:
    """Everything of a step but operation and cells: fields of the engine, by its names, then our own."""

    variant: str = AUTO
    block: Block | None = None
    border: Border = Border.ZERO
    cval: float = 0.0
    flip: bool = False
    normalise: bool = False
    device: str = AUTO
    layout: Layout = Layout.PITCHED
    result_type: str = "float32"

    range_mode: RangeMode = "clip"  # how results outside the picture's range are shown
    baseline: str = "cpu-serial"  # variant that speed-ups are measured against
    blocks: tuple[Block, ...] = ()  # runs cross these with the kernels; none: only `block`
    # Of an operation beside convolution: those that differ from their defaults, and the file of a patch.
    parameters: Mapping[str, Any] = field(default_factory=dict)
    patch_path: str = ""


def values_of(names: Iterable[str], whole: object) -> dict[str, Any]:
    """Return what something has of some settings, by name."""
    return {name: getattr(whole, name) for name in names}


KERNEL = ("variant", "block")
"""Settings that say what computes a step."""
WHERE = ("device", "layout", "result_type")
"""Settings that say where, and what is written."""
MASK_USE = ("border", "cval", "flip", "normalise")
"""Settings that say how a mask is applied."""
PER_OPERATION = (*KERNEL, "baseline", "blocks", "parameters", "patch_path")
"""Settings that each operation of a step has for itself."""
SHARED = (*WHERE, "range_mode")
"""Settings that hold for the whole page: all steps have the same."""
COMBINE = "combine"
"""Stands for an operation in a step that makes one of two results; its parameters are `how` and `weight`."""
FIRST_ID = "s1"
_OF_RUNS = ("baseline", "blocks")  # what only runs read: no result depends on them
# Its variant on the CPU becomes the baseline once the engine has listed it.
_NEVER_CHOSEN = StepSettings(baseline="")
# Where they are no capitalised names.
_TITLES = {
    "cval": "Border value", "variant": "Kernel", "layout": "Rows", "result_type": "Output type",
    "range_mode": "Display range", "blocks": "Block sizes", "patch_path": "Patch",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class PictureSource:
    """Where a picture comes from: a file, or a sample by its key; with neither it cannot be opened again."""

    path: str = ""
    sample: str = ""
    crop: Region | None = None  # the part of it that is the picture; None: all of it

    @classmethod
    def of(cls, picture: PictureHandle) -> "PictureSource":
        """Return where a picture came from."""
        return cls(picture.path, picture.sample, picture.crop)

    @property
    def request(self) -> OpenPicture | None:
        """What opens it again; None where nothing does."""
        return OpenPicture(self.path, self.sample, self.crop) if self.path or self.sample else None


@dataclass(frozen=True, slots=True)
class EditedStep:
    """One step: an operation, or the mask as typed with the name that it goes by, and its settings."""

    mask: Mask
    title: str = ""  # name of the mask, or of the one that it was edited from; empty where there was none
    operation: str = ""  # key of the operation, or COMBINE; empty for convolution with the mask
    settings: StepSettings = field(default_factory=StepSettings)
    # Those of the operations that were chosen before, by their keys.
    kept: Mapping[str, StepSettings] = field(default_factory=dict)
    id: str = FIRST_ID  # its name in a chain, by which others read it
    input: str = ""  # id of the earlier step whose result it reads, or PICTURE; empty: the step before
    second: str = PICTURE  # the other result, of a step that combines two
    on: bool = True  # switched off, its readers get what it reads
    # Of the mask: a step with 1/9 is another one than that with 0.1111111111111111, with an equal mask.
    typed: TypedWeights | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        object.__setattr__(self, "typed", self.mask.more_than_weights)

    @classmethod
    def of(cls, mask: Mask) -> "EditedStep":
        """Return the step that a mask begins with."""
        return cls(mask, title_of(mask))

    def settings_of(self, operation: str) -> StepSettings:
        """Return the settings of an operation, whichever is chosen."""
        if operation == self.operation:
            return self.settings
        kept = self.kept.get(operation, _NEVER_CHOSEN)
        return replace(self.settings, **values_of(PER_OPERATION, kept))

    def with_operation(self, operation: str) -> "EditedStep":
        """Return the step with another operation, and the settings that this had before."""
        if operation == self.operation:
            return self
        kept = {**self.kept, self.operation: self.settings}
        return replace(self, operation=operation, settings=self.settings_of(operation), kept=kept)

    def with_mask(self, mask: Mask, *, is_new: bool = False) -> "EditedStep":
        """Return the step as a convolution with this mask; a new one does not go by the name before."""
        title = title_of(mask) or ("" if is_new else self.title)
        return replace(self.with_operation(""), mask=mask, title=title)

    def with_settings(self, **fields: Any) -> "EditedStep":
        return replace(self, settings=replace(self.settings, **fields))

    @property
    def mask_title(self) -> str:
        """What the mask is called for people: Custom mask where it has no name."""
        return name_of(self.mask, self.title) or "Custom mask"

    @property
    def mask_words(self) -> str:
        """The same with its size: Sharpen 3 × 3."""
        size, title = "{} × {}".format(*self.mask.shape), self.mask_title
        return title if size in title else f"{title} {size}"

    @property
    def can_normalise(self) -> bool:
        """Whether the mask has a sum to divide by."""
        try:
            self.mask.normalised()
        except MaskError:
            return False
        return True

    @property
    def applied_mask(self) -> Mask:
        """The mask as it is applied, normalised and flipped by the settings, with the name that is shown."""
        mask, name = self.mask, name_of(self.mask, self.title)
        mask = mask if mask.name == name else mask.with_name(name)
        if self.settings.normalise and self.can_normalise:
            mask = mask.normalised()
        return mask.flipped() if self.settings.flip else mask

    @property
    def result_part(self) -> tuple[object, ...]:
        """What a result depends on."""
        settings = replace(self.settings, **values_of(_OF_RUNS, _NEVER_CHOSEN))
        return self.operation, self.mask, settings, self.id, self.input, self.second, self.on


@dataclass(frozen=True, slots=True)
class State:
    """The source of the picture, the steps, and which of them is selected: there is always one."""

    steps: tuple[EditedStep, ...]
    selected: int = 0
    source: PictureSource | None = None
    title: str = ""  # name of the chain, or of the one that it was edited from; empty where there was none

    @property
    def step(self) -> EditedStep:
        """The selected step."""
        return self.steps[self.selected]

    @property
    def is_chain(self) -> bool:
        """Whether there is more to do than one step with the picture."""
        return len(self.steps) > 1 or self.step.operation == COMBINE

    def with_step(self, step: EditedStep) -> "State":
        """Return the state with another one instead of the selected step; what is shared, all have."""
        shared, steps = values_of(SHARED, step.settings), list(self.steps)
        if shared != values_of(SHARED, self.step.settings):
            steps = [other.with_settings(**shared) for other in steps]
        steps[self.selected] = step
        return replace(self, steps=tuple(steps))

    @property
    def result_part(self) -> tuple[object, ...]:
        """What a result depends on, beside the picture."""
        return self.selected, *(step.result_part for step in self.steps)


def words_of_change(step: EditedStep, fields: Mapping[str, Any]) -> tuple[str, Hashable]:
    """Return what an edit of settings is called in the history, "Border: wrap", and its merge key.

    Edits of one number in a row, which share the key, are one edit; it is None for other settings.
    """
    changed: dict[str, tuple[object, str]] = {}
    for name, value in fields.items():
        old = getattr(step.settings, name)
        if name == "parameters":
            for key in (key for key in {**old, **value} if old.get(key) != value.get(key)):
                new = value.get(key, "default")
                changed[key.replace("_", " ").capitalize()] = new, str(new)
        elif value != old:
            changed[_TITLES.get(name, name.capitalize())] = value, _text(name, value)
    is_number = all(isinstance(new, int | float) and not isinstance(new, bool) for new, _ in changed.values())
    key = (step.operation, *changed) if is_number and len(changed) == 1 else None
    return ", ".join(f"{title}: {words}" for title, (_, words) in changed.items()), key


def _text(name: str, value: Any) -> str:
    if name == "patch_path":
        return Path(value).name or "of the picture itself"
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, tuple):
        return ", ".join(map(str, value)) if len(value) <= 3 else f"{len(value)} chosen"
    if value is None:
        return "default"
    return f"{value:g}" if isinstance(value, float) else str(value)
