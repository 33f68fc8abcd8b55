"""Masks as text: `parse_mask` reads what people type and paste, `format_mask` writes it.

Read are

- rows of numbers, separated by `;` or new lines, with cells separated by spaces, commas or tabs;
- NumPy, C and MATLAB literals, with a declaration, a call or a `dtype` around them;
- the spelling of a generator, `gaussian:9:1.5` (`generators`);
- kernels of ImageMagick, `3x3: 1,2,1 2,4,2 1,2,1`, and of ImageJ (rows of numbers);
- Haloscope's own JSON (`json_form`), the only form that keeps the anchor and the offset.

A cell is a number or a fraction (`1/9`). Where blanks separate cells, `1,5` is 1.5. A factor of the whole
mask may be before it (`1/16 *`) or after it, with a blank before the sign (`... 1 2 1 /16`), also on its own
line (`/ 256`). `#`, `//` and `/* */` begin comments.

Files of masks are JSON (everything), text (weights as typed), CSV, ImageJ and ImageMagick.
"""

import os
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

from engine.errors import MaskError, UnknownName
from engine.files.atomic_write import atomic_write
from engine.files.reading import read_text
from engine.mask.generator_table import number_text
from engine.mask.generators import parse_generator
from engine.mask.json_form import mask_from_json, mask_to_json
from engine.mask.mask import Mask
from engine.mask.typed import (
    FRACTION,
    NUMBER,
    WHAT,
    Scale,
    TypedWeights,
    check_rectangle,
    divisor_text,
    quoted,
    read_rows,
    refuse,
    scale_around,
    slashes_without_blanks,
)

# Around brackets there may be a declaration (`float m[3][3] =`), a factor (`1/16 *`), a call (`np.array(...,
# dtype=np.float32)`) and a divisor (`/ 16`). Longer text, of so many characters, is no form of a mask.
_MAX_AROUND = 200
_CALLS = "array|asarray|matrix|tensor|Tensor|float32|float64"
_BEFORE = re.compile(rf"(?:\(?({FRACTION})\)? ?\* ?)?((?:[A-Za-z_]\w*\.)*(?:{_CALLS}) ?\()?")
_AFTER = re.compile(
    r"(?: ?, ?(?:dtype ?= ?)?['\"]?[A-Za-z_][\w.]*['\"]?)?(?: ?,)?(?P<closed> ?\))?"
    r"(?:\.astype\([\w.'\"]*\))?"
    rf"(?: ?/ ?\(?(?P<over>{NUMBER})\)?| ?\* ?\(?(?P<times>{FRACTION})\)?)? ?;?"
)
_DECLARATION = re.compile(r"[\w \*&:<>,.\[\]]*")
_CLOSING = {"[": "]", "{": "}"}
# Brackets that hold no other ones.
_ROW = re.compile(r"\[([^][{}]*)\]|\{([^][{}]*)\}")
_ONE_TABLE = "Write one table, such as [[1, 0, -1], [2, 0, -2]]."
_PLAIN_TABLE = (
    "Leave it out, or write [[1, 0, -1], [2, 0, -2]], with a factor (1/16 *) before it or a divisor (/ 16) "
    "after it."
)
# Columns come first in ImageMagick, and in its origin, which is the anchor. Cells that are `nan` or `-` take
# no part there, which is a weight of 0. Kernels by name, rotations (`>`) and lists of kernels are more than
# one mask and are refused. `-morphology Correlate` applies a mask as here; `Convolve` turns it.
_HEAD = re.compile(r"\s*(\d{1,9})(?:x(\d{1,9}))?(?:\+(\d{1,9})\+(\d{1,9}))?([<>@]?)\s*:")
_EXAMPLE = "Write width x height: and the numbers of all rows, such as 3x3: 1,2,1 2,4,2 1,2,1."
# 63 x 63 cells of 25 characters are 99,225; the rest is for blanks, fractions and comments.
MAX_CHARACTERS = 262_144

# What documents and web pages put in place of the plain characters.
_PLAIN = str.maketrans(
    dict.fromkeys("\N{MINUS SIGN}\N{EN DASH}\N{FIGURE DASH}\N{FULLWIDTH HYPHEN-MINUS}", "-")
    | dict.fromkeys("\N{MULTIPLICATION SIGN}\N{DOT OPERATOR}\N{MIDDLE DOT}", "*")
    | {"\N{DIVISION SIGN}": "/", "\r": "\n"}
)

_LEADING_FACTOR = re.compile(rf"({FRACTION})\s*\*")
_TRAILING = re.compile(rf"(?:^|[\s;])(?:/\s*(?P<over>{NUMBER})|\*\s*(?P<times>{FRACTION}))$")


def _read_literal(text: str) -> tuple[list[list[str]], Scale]:
    """Return the rows of a mask in brackets, and the factor around it, or refuse the text."""
    opening = "{" if "{" in text else "["
    start, end = text.find(opening), text.rfind(_CLOSING[opening]) + 1
    if end <= start:
        refuse(f"the bracket {opening} is not closed", f"Close it with {_CLOSING[opening]}.")
    declared, scale = _read_around(text[:start], text[end:])
    rows = _literal_rows(text[start:end])
    check_rectangle(rows)
    return _as_declared(rows, declared), scale


def _read_around(before: str, after: str) -> tuple[list[int | None], Scale]:
    """Return the sides that a declaration names, and the factor before times the one after."""
    # One blank for each run of them keeps the patterns free of repeated blanks, and so linear.
    before, after = " ".join(before.split()), " ".join(after.split())
    declaration, _, factor = before.rpartition("=")
    matched_before = _BEFORE.fullmatch(slashes_without_blanks(factor)) if len(before) <= _MAX_AROUND else None
    if matched_before is None or not _DECLARATION.fullmatch(declaration):
        refuse(f"{quoted(before)} before the brackets is not understood", _PLAIN_TABLE)
    matched_after = _AFTER.fullmatch(after) if len(after) <= _MAX_AROUND else None
    is_call = matched_before[2] is not None
    has_comma = after.startswith(",") and not is_call
    if matched_after is None or is_call != (matched_after["closed"] is not None) or has_comma:
        refuse(f"{quoted(after)} after the brackets is not understood", _PLAIN_TABLE)
    scale = scale_around(matched_before[1], matched_after["over"], matched_after["times"])
    sides = re.findall(r"\[([^\]]*)\]", declaration)
    return [int(side) if side.strip().isdecimal() else None for side in sides], scale


def _literal_rows(body: str) -> list[list[str]]:
    lines = [row[1] or row[2] or "" for row in _ROW.finditer(body)]
    # Comments are gone, so that # stands for a row alone.
    around = _ROW.sub("#", body)
    frame = re.sub(r"[^][{}#]", "", around)
    if not re.fullmatch(r"#+|\[#+\]|\{#+\}", frame):
        refuse("its brackets are not those of one table, which has each row in its own", _ONE_TABLE)
    if between := re.search(r"[^][{}#,;\s]+", around):
        refuse(f"{quoted(between[0])} stands between the brackets of two rows", _ONE_TABLE)
    # Blanks around a slash are fine here: a divisor of the whole mask is outside the brackets.
    if frame == "#":
        # The rows of [1 0 -1; 2 0 -2]; a line that ends with a comma is continued by the next.
        inside = re.sub(r",[^\S\n]*\n", ", ", slashes_without_blanks(lines[0]))
        lines = [row for row in re.split("[;\n]", inside) if row.strip()]
    return read_rows(" ".join(slashes_without_blanks(line).split("\n")) for line in lines)


def _as_declared(rows: list[list[str]], declared: list[int | None]) -> list[list[str]]:
    """Return the rows as a C declaration shapes them; it may list the cells of all rows in one bracket."""
    if len(declared) < 2:
        return rows
    if len(declared) > 2:
        refuse(f"it is declared with {len(declared)} sides", "A mask has rows and columns only.")
    high, wide = declared
    cells = [cell for row in rows for cell in row]
    if len(rows) == 1 and wide and len(cells) % wide == 0:
        rows = [cells[at : at + wide] for at in range(0, len(cells), wide)]
    is_unknown = len(rows) == 1 and high is None and wide is None
    if is_unknown or high not in (None, len(rows)) or wide not in (None, len(rows[0])):
        declared_as = f"it is declared as {high or '?'} × {wide or '?'}"
        why = f"{declared_as} and holds {len(rows)} × {len(rows[0])} numbers"
        refuse(why, "Write each row in its own brackets, or correct the declared sides.")
    return rows


def _mask_from_imagemagick(head: re.Match[str], text: str) -> Mask:
    """Return the mask of such a kernel that begins with a head; all else is refused by a `MaskError`."""
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


def _imagemagick(mask: Mask) -> str:
    rows = " ".join(",".join(map(number_text, row)) for row in mask.weights.tolist())
    return f"{mask.columns}x{mask.rows}+{mask.anchor[1]}+{mask.anchor[0]}: {rows}"


def parse_mask(text: str) -> Mask:
    """Return the mask that a text describes.

    Parameters
    ----------
    text : str
        At most `MAX_CHARACTERS` characters in one of the forms of this module.

    Returns
    -------
    Mask
        With the anchor in the middle and no offset, unless the text is JSON that says otherwise.

    Raises
    ------
    MaskError
        The text is too long or no mask: the error names the row, the column and the word.
    """
    if not isinstance(text, str):
        refuse(
            f"it is not text but of type {type(text).__name__}", "Give weights as an array to `engine.Mask`."
        )
    if len(text) > MAX_CHARACTERS:
        why = f"the text has {len(text):,} characters, and at most {MAX_CHARACTERS:,} are read"
        refuse(why, "Check that this is a mask.")
    # Some editors put this mark before everything they save.
    text = text.removeprefix("\N{ZERO WIDTH NO-BREAK SPACE}")
    # Not a C literal.
    if re.match(r"\s*\{\s*[\"}]", text):
        return mask_from_json(text)
    if (generated := parse_generator(text)) is not None:
        return generated
    if head := _HEAD.match(text):
        return _mask_from_imagemagick(head, text)
    text = _without_comments(text.translate(_PLAIN)).strip(" \t\n;")
    rows, scale = _read_literal(text) if "[" in text or "{" in text else _read_rows(text)
    if scale.over == 0.0:
        refuse("its divisors multiply to zero", "Divide by a larger number.")
    if scale.times == 0.0:
        # No divisor gives this.
        return Mask([[0.0] * len(row) for row in rows])
    return Mask(TypedWeights(tuple(map(tuple, rows)), divisor_text(scale)))


def _without_comments(text: str) -> str:
    whole = re.sub(r"/\*.*?\*/", " ", text, flags=re.DOTALL)
    if "/*" in whole:
        refuse("a comment begins with /* and does not end", "End it with */.")
    return "\n".join(re.split("#|//", line, maxsplit=1)[0] for line in whole.split("\n"))


def _read_rows(text: str) -> tuple[list[list[str]], Scale]:
    """Return the rows of a text without brackets, and the factors before and after them."""
    before = over = times = None
    if leading := _LEADING_FACTOR.match(text):
        before, text = leading[1], text[leading.end() :]
    if trailing := _TRAILING.search(text):
        over, times, text = trailing["over"], trailing["times"], text[: trailing.start()]
    scale = scale_around(before, over, times)
    lines = [[piece.strip() for piece in line.split(";") if piece.strip()] for line in text.split("\n")]
    lines, pieces = [line for line in lines if line], [piece for line in lines for piece in line]
    # The CSV of a spreadsheet that separates cells by semicolons would be read as one column.
    has_single_cells = all(re.fullmatch(r"[^\s,]+(?:,[0-9]+)?", piece) for piece in pieces)
    if 1 < len(lines) < len(pieces) and has_single_cells:
        remedy = "Separate cells with commas, tabs or spaces, and write a half as 0.5."
        refuse("semicolons separate single numbers, but a semicolon ends a row here", remedy)
    rows = read_rows(pieces)
    check_rectangle(rows)
    return rows, scale


def format_mask(mask: Mask, style: str = "rows") -> str:
    """Return a mask as text that `parse_mask` reads back to the same weights.

    Parameters
    ----------
    mask : Mask
        The mask to write.
    style : str
        A key of `STYLES`.

    Raises
    ------
    UnknownName
        There is no such style.
    """
    if style not in STYLES:
        remedy = f"Take one of {', '.join(STYLES)}."
        raise UnknownName(f"{style!r} is not a style of text", "masks are not written so", remedy)
    return STYLES[style].write(mask if isinstance(mask, Mask) else Mask(mask))


def _plain(between_cells: str, mask: Mask) -> str:
    return "\n".join(between_cells.join(map(number_text, row)) for row in mask.weights.tolist())


def _rows(mask: Mask) -> str:
    cells = mask.typed.cells
    width = max(len(cell) for row in cells for cell in row)
    return _scaled(mask, "\n".join(" ".join(cell.rjust(width) for cell in row) for row in cells))


def _line(mask: Mask) -> str:
    return _scaled(mask, "; ".join(map(" ".join, mask.typed.cells)))


def _scaled(mask: Mask, rows: str) -> str:
    # After a single cell a factor would be read as the cell, and the cell as the factor before it.
    divisor, fraction, times = mask.typed.divisor.partition("/")
    return f"{times}/{divisor} * {rows}" if fraction else f"{rows}{_over(mask, ' /')}"


def _over(mask: Mask, sign: str) -> str:
    """Return the divisor after a mask, or the factor that a fraction stands for; both are read back."""
    divisor, fraction, times = mask.typed.divisor.partition("/")
    if fraction:
        return f" * {times}/{divisor}"
    return f"{sign}{divisor}" if divisor else ""


def _numpy(mask: Mask) -> str:
    cells = ([cell if "/" in cell else repr(float(cell)) for cell in row] for row in mask.typed.cells)
    rows = (",\n" + " " * 10).join(f"[{', '.join(row)}]" for row in cells)
    return f"np.array([{rows}], dtype=np.float64){_over(mask, ' / ')}"


def _c(mask: Mask) -> str:
    rows = ("    {" + ", ".join(f"{weight!r}f" for weight in row) + "}" for row in mask.weights.tolist())
    return f"const float mask[{mask.rows}][{mask.columns}] = {{\n" + ",\n".join(rows) + "\n};"


def _matlab(mask: Mask) -> str:
    return f"[{'; '.join(map(' '.join, mask.typed.cells))}]{_over(mask, ' / ')}"


class MaskForm(NamedTuple):
    """A form in which masks are written; those with a suffix are saved in files."""

    title: str
    write: Callable[[Mask], str]
    suffix: str = ""
    keeps_anchor: bool = False
    keeps_offset: bool = False
    has_odd_sides: bool = False


# Each keeps every weight exactly, in the shortest digits of its float64. Those for programs that know neither
# fractions nor divisors, or round their quotients to float32, have the weights themselves.
STYLES: dict[str, MaskForm] = {
    "rows": MaskForm("Text, as typed", _rows, ".txt"),
    "line": MaskForm("One line, as typed", _line),
    "csv": MaskForm("CSV, for spreadsheets", partial(_plain, ","), ".csv"),
    "tabs": MaskForm("Tabs, for spreadsheets", partial(_plain, "\t")),
    "numpy": MaskForm("NumPy", _numpy),
    "c": MaskForm("C", _c),
    "matlab": MaskForm("MATLAB", _matlab),
    "imagej": MaskForm("ImageJ, for Convolve", partial(_plain, " "), ".txt", has_odd_sides=True),
    "imagemagick": MaskForm("ImageMagick, with anchor", _imagemagick, ".kernel", keeps_anchor=True),
    "json": MaskForm("JSON, with anchor and offset", mask_to_json, ".json", True, True),
}


# A file of more bytes is not read at all; the largest mask takes 100 kB.
MAX_BYTES = 1_048_576


# That which keeps everything comes first.
FORMS = {
    style: form
    for style, form in sorted(STYLES.items(), key=lambda entry: not entry[1].keeps_offset)
    if form.suffix
}
SUFFIXES = tuple(dict.fromkeys(form.suffix for form in FORMS.values()))
"""The endings of mask files."""


def load_mask(path: str | os.PathLike[str]) -> Mask:
    """Return the mask in a text file (UTF-8), in any form that `parse_mask` reads, whatever the suffix.

    It is named after the file unless it has a name. Raises MaskError where the file is missing, no file,
    unreadable, empty, too large or no text, or its text is not a mask.
    """
    path = Path(path)
    what = f"The mask file {str(path)!r} cannot be opened"
    text = read_text(path, MAX_BYTES, what, MaskError)
    try:
        mask = parse_mask(text)
    except MaskError as error:
        why = error.why if error.what == WHAT else f"{error.what}: {error.why}"
        raise MaskError(what, why, error.remedy) from error
    return mask if mask.name else mask.with_name(path.stem)


def save_mask(mask: Mask, path: str | os.PathLike[str], style: str = "") -> None:
    """Write a mask to a file, whole or not at all.

    The suffix (.json, .csv, .txt or .kernel) chooses the form, and `style` among several of one suffix, such
    as "imagej". Raises MaskError for another suffix or a form that cannot hold the mask's anchor or offset,
    and FileWriteError.
    """
    path = Path(path)
    what = f"The mask cannot be saved as {path.name!r}"
    styles = [style for style, form in FORMS.items() if form.suffix == path.suffix.lower()]
    if not styles:
        endings = f"{', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]}"
        raise MaskError(what, f"masks are saved as {endings}", "Give the name one of these endings.")
    style = style if style in styles else styles[0]
    form = FORMS[style]
    has_anchor = mask.anchor != (mask.rows // 2, mask.columns // 2)
    if (has_anchor and not form.keeps_anchor) or (mask.offset != 0.0 and not form.keeps_offset):
        why = f"a {path.suffix} file cannot hold its anchor and its offset"
        raise MaskError(what, why, "Save it as .json instead.")
    if form.has_odd_sides and not (mask.rows % 2 and mask.columns % 2):
        why = f"ImageJ takes odd sides only, and this mask has {mask.rows} × {mask.columns} cells"
        raise MaskError(what, why, "Add a row or a column of zeros, or save it in another form.")
    atomic_write(path, (format_mask(mask, style).rstrip("\n") + "\n").encode())
