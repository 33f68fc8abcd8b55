"""What becomes of text that is pasted into the mask's table. No widgets in here.

- One number fills the cells that are selected.
- Plain rows of numbers (a spreadsheet's cells) that are smaller than the mask are put in at the current cell.
- Everything else is a whole mask and replaces this one with its size: rows of the mask's size or larger,
  NumPy, C and MATLAB literals, JSON, `gaussian:9:1.5`, and rows with a divisor (`1 2 1 /16`).
"""

import re

from engine.errors import MaskError
from engine.mask.mask import Mask
from engine.mask.text import parse_mask
from engine.mask.typed import TypedWeights

Cell = tuple[int, int]

# A bracket begins a literal, and a colon follows the name of a generator or ImageMagick's size; a slash or an
# asterisk with a blank before it is a factor of the whole mask.
_WHOLE_MASK = re.compile(r"[\[{:]|[\s;][/*]|\*")


def pasted(mask: Mask, text: str, cells: list[Cell], *, whole: bool = False) -> tuple[Mask, str, bool]:
    """Return the mask after a paste, the name of this step, and whether it is a new mask, not an edited one.

    `cells` are rows and columns that are selected, the current cell first. With `whole` the text is a whole
    mask, however small it is.

    Raises
    ------
    MaskError
        The text is not a mask, or it does not fit at the current cell.
    """
    new = parse_mask(text)
    is_smaller = new.rows <= mask.rows and new.columns <= mask.columns and new.shape != mask.shape
    if whole or not is_smaller or _WHOLE_MASK.search(text.strip()):
        return new, f"Paste a mask of {new.rows} × {new.columns}", True
    if new.taps == 1:
        return mask.with_cells(cells, new.typed.cells[0][0]), "Paste a weight", False
    row, column = map(min, zip(*cells, strict=True))
    if row + new.rows > mask.rows or column + new.columns > mask.columns:
        raise MaskError(
            f"{new.rows} × {new.columns} cells were not pasted",
            f"they do not fit at row {row + 1}, column {column + 1} of {mask.rows} × {mask.columns}",
            "Choose a cell further up and left, enlarge the mask, or use Paste as whole mask (Ctrl+Shift+V).",
        )
    table = list(mask.typed.cells)
    for at, put in enumerate(new.typed.cells, start=row):
        table[at] = table[at][:column] + put + table[at][column + new.columns :]
    typed = TypedWeights(tuple(table), mask.typed.divisor)
    return mask.with_typed(typed), f"Paste {new.rows} × {new.columns} cells", False
