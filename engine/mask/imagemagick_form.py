"""Kernels as ImageMagick's `-morphology` takes them: `3x3+1+1: 1,2,1 2,4,2 1,2,1`.

Columns come before rows, and the origin, which is the anchor, is a column and a row too. Cells that are `nan`
or `-` take no part there, which is a weight of 0. Kernels by name, rotations (`>`) and lists of kernels are
more than one mask and are refused. A mask is applied as here by `-morphology Correlate`; `Convolve` turns it.
"""

import re

from engine.mask.mask import Mask
from engine.mask.text_cells import number_text, read_rows, refuse
from engine.mask.typed import TypedWeights

_HEAD = re.compile(r"\s*(\d{1,9})(?:x(\d{1,9}))?(?:\+(\d{1,9})\+(\d{1,9}))?([<>@]?)\s*:")
_EXAMPLE = "Write width x height: and the numbers of all rows, such as 3x3: 1,2,1 2,4,2 1,2,1."


def looks_like_imagemagick(text: str) -> bool:
    """Return whether a text begins with a size and a colon, as ImageMagick's kernels do."""
    return _HEAD.match(text) is not None


def mask_from_imagemagick(text: str) -> Mask:
    """Return the mask of such a kernel; all else is refused by a `MaskError`."""
    head = _HEAD.match(text)
    if head is None:
        refuse("it does not begin with a size", _EXAMPLE)
    width, height, x, y, rotated = head.groups()
    body = text[head.end() :].strip().removesuffix(";")
    if rotated or ";" in body:
        refuse("it is a list of kernels, and a mask is one", "Write one kernel, without < > @ or ;.")
    words = ["0" if word.lower() in ("nan", "-") else word for word in re.findall(r"[^\s,]+", body)]
    (cells,) = read_rows([" ".join(words)])
    columns, rows = int(width), int(height or width)
    if len(cells) != columns * rows:
        refuse(f"it is {columns} wide and {rows} high and has {len(cells)} numbers", _EXAMPLE)
    table = tuple(tuple(cells[row * columns : (row + 1) * columns]) for row in range(rows))
    return Mask(TypedWeights(table), (int(y), int(x)) if x else None)


def mask_to_imagemagick(mask: Mask) -> str:
    """Return a mask as such a kernel, with its anchor."""
    rows = " ".join(",".join(map(number_text, row)) for row in mask.weights.tolist())
    return f"{mask.columns}x{mask.rows}+{mask.anchor[1]}+{mask.anchor[0]}: {rows}"
