"""`Recipe`: a picture and everything that is done with it, as one value that can be written down."""

from dataclasses import dataclass
from pathlib import PurePath

import numpy as np

from engine.device_info import AUTO
from engine.errors import BadValue
from engine.geometry.layout import Layout
from engine.mask.presets import presets
from engine.work.request import PictureRequest
from engine.work.steps import Chain, MaskStep

# What a picture that is in no file is called in the texts.
UNSAVED = "picture.png"


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """The picture, as far as it has to be known: its file (empty: it is in none), samples and channels."""

    path: str = ""
    dtype: str = "uint8"
    channels: int = 3  # without the alpha
    has_alpha: bool = False
    in_parts: bool = False  # whether it stays in its file, because it is too large for memory

    @property
    def name(self) -> str:
        """The name of its file as it is written; refuses one whose bytes are no text."""
        try:
            self.path.encode()
        except UnicodeEncodeError as error:
            shown = ascii(PurePath(self.path).name)
            why = "some bytes of the name are no characters, so it cannot be written as text"
            raise BadValue(f"The name of {shown}", why, "Rename the file, and open it again.") from error
        return self.path or UNSAVED

    @property
    def hint(self) -> str:
        """What has to be done before the text works; empty where it works at once."""
        return "" if self.path else f"This picture is in no file yet: save it as {UNSAVED} first."


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """A picture, what is done with it, with masks as they were typed, and the file that is written."""

    source: Source
    asked: PictureRequest
    output: str  # name of the file to write
    patch_path: str = ""
    host: str = ""  # the server that computes, as ssh calls it; empty for this machine

    @property
    def notes(self) -> list[str]:
        """What a person has to know of the picture and of where it is computed; each stands in a comment."""
        where = f"In the window it was computed on {as_comment(self.host)}; this computes here."
        return [note for note in (self.source.hint, where if self.host else "") if note]

    @property
    def filter(self) -> MaskStep:
        """The mask, where that is all that is done."""
        step = self.asked.filter
        assert step is not None
        return step

    @property
    def chain(self) -> Chain | None:
        """The steps, where there are several."""
        return self.asked.chain if self.asked.step is None else None

    @property
    def range_mode(self) -> str:
        """What becomes of values outside the range."""
        return self.asked.chain.range

    @property
    def where(self) -> dict[str, str]:
        """How it is computed, by the names of options: what is not left to the program."""
        asked = self.asked
        found = {
            "variant": asked.variant,
            "block": AUTO if asked.block is None else f"{asked.block.x}x{asked.block.y}",
            "device": asked.device,
            "layout": AUTO if asked.layout is Layout.PITCHED else str(asked.layout),
        }
        return {name: text for name, text in found.items() if text != AUTO}

    @property
    def preset(self) -> str:
        """Key of the preset that the mask is; empty where it is none."""
        return next((known.key for known in presets() if known.mask == self.filter.mask), "")

    @property
    def summary(self) -> str:
        """What is done, in a line of plain characters: it stands in comments."""
        if self.chain is not None:
            return as_comment(f"{self.chain.title or 'Chain'}: {self.chain.text}.")
        step, mask = self.filter, self.filter.mask
        name = mask.name or "Custom mask"
        how = "convolved (the mask is rotated by 180°)" if step.flip else "correlated"
        normalised = ", divided by its sum" if step.normalise else ""
        return as_comment(
            f"{name}, {mask.rows} × {mask.columns}{normalised}, {how} with border {step.border}."
        )

    def refuse_operation(self, target: str) -> None:
        """Refuse another operation than a mask, which a target cannot say."""
        if self.chain is not None and target == "a C array":
            why = "it has several steps, and an array has one mask"
            raise BadValue("A chain as a C array", why, "Select one step alone, or copy it as Python.")
        if self.asked.operation is not None:
            what, why = f"{self.asked.operation.operation} as {target}", "only a mask can be written for it"
            raise BadValue(what, why, "Copy it as a command line or as Python.")

    def refuse_parts(self, target: str) -> None:
        """Refuse a picture that is too large for memory, which only the command filters."""
        if self.source.in_parts:
            what, why = f"This picture as {target}", "it is read in parts, and this needs all of it in memory"
            raise BadValue(what, why, "Copy it as a command line: `filter` takes any size.")


def as_comment(text: str) -> str:
    """Return a text on one line that no comment of Python, a shell or C ends in."""
    line = "".join(letter if letter.isprintable() else " " for letter in text)
    return " ".join(line.split()).replace("*/", "* /").rstrip("\\")


def float32_text(value: float) -> str:
    """Return the shortest digits that read back to the same float32, also by way of float64."""
    exact = np.float32(value)
    text = str(exact)
    return text if np.float32(float(text)) == exact else repr(float(exact))
