"""The masks of a benchmark: sizes with random weights, and masks by name."""

import re
from collections.abc import Callable

from engine.commands.arguments import sides
from engine.errors import BadValue, MaskError
from engine.mask.generators import GENERATORS
from engine.mask.mask import MAX_LINE, MAX_SIDE, SIDES_ALLOWED, is_size_allowed
from engine.mask.resolve import resolve_mask
from engine.run.sweep import GridMask

# The words that `masks --help` and the errors show.
KINDS = ", ".join(GENERATORS)


def mask_of_grid(option: str) -> Callable[[str], GridMask]:
    """Return the type of one entry of a list of masks: 5, 2x5, box:5, sobel-x, or the name of a file."""
    read_size = sides(option, "rows x columns", MAX_LINE, is_size_allowed, SIDES_ALLOWED)

    def read(text: str) -> GridMask:
        if re.fullmatch(r"\d{1,9}(?:[xX×]\d{1,9})?", text):
            return GridMask(*read_size(text))
        if re.match(r"[\d+.-]", text):
            raise BadValue(
                f"{option} {text}",
                f"it is neither a side from 1 to {MAX_SIDE} nor rows x columns, and weights are not taken here",
                f"Write a size such as 5 or 5x7, or one by name such as box:5 ({KINDS}).",
            )
        try:
            mask = resolve_mask(text)
        except MaskError as error:
            remedy = f"{error.remedy.partition(' Give ')[0]} " if error.remedy.startswith("Did") else ""
            raise MaskError(
                f"{option}: {error.what}",
                error.why,
                f"{remedy}Write a size such as 5 or 5x7, one by name such as box:5 ({KINDS}), a preset (`masks` lists them), "
                "or a file.",
            ) from error
        return GridMask(*mask.shape, mask.with_name(text))

    return read
