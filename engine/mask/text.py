"""Masks as text: `parse_mask` reads what people type and paste, `format_mask` writes it.

Read are

- rows of numbers, separated by `;` or new lines, with cells separated by spaces, commas or tabs;
- NumPy, C and MATLAB literals, with a declaration, a call or a `dtype` around them (`text_literals`);
- the spelling of a generator, `gaussian:9:1.5` (`generators`);
- kernels of ImageMagick, `3x3: 1,2,1 2,4,2 1,2,1` (`imagemagick_form`), and of ImageJ (rows of numbers);
- Haloscope's own JSON (`json_form`), the only form that keeps the anchor and the offset.

A cell is a number or a fraction (`1/9`). Where blanks separate cells, `1,5` is 1.5. A factor of the whole
mask may be before it (`1/16 *`) or after it, with a blank before the sign (`... 1 2 1 /16`), also on its own
line (`/ 256`). `#`, `//` and `/* */` begin comments.
"""

import re
from collections.abc import Callable, Iterable

from engine.errors import UnknownName
from engine.mask.generators import parse_generator
from engine.mask.imagemagick_form import (
    looks_like_imagemagick,
    mask_from_imagemagick,
    mask_to_imagemagick,
)
from engine.mask.json_form import looks_like_json, mask_from_json, mask_to_json
from engine.mask.mask import Mask
from engine.mask.text_cells import (
    FRACTION,
    NUMBER,
    Scale,
    check_rectangle,
    number_text,
    read_rows,
    refuse,
    scale_around,
)
from engine.mask.text_literals import read_literal
from engine.mask.typed import TypedWeights, divisor_text

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
            f"it is not text but of type {type(text).__name__}",
            "Give weights as an array to `engine.Mask`.",
        )
    if len(text) > MAX_CHARACTERS:
        refuse(
            f"the text has {len(text):,} characters, and at most {MAX_CHARACTERS:,} are read",
            "Check that this is a mask.",
        )
    # Some editors put this mark before everything they save.
    text = text.removeprefix("\N{ZERO WIDTH NO-BREAK SPACE}")
    if looks_like_json(text):
        return mask_from_json(text)
    generated = parse_generator(text)
    if generated is not None:
        return generated
    if looks_like_imagemagick(text):
        return mask_from_imagemagick(text)
    text = _without_comments(text.translate(_PLAIN)).strip(" \t\n;")
    rows, scale = read_literal(text) if "[" in text or "{" in text else _read_rows(text)
    if scale.over == 0.0:
        refuse("its divisors multiply to zero", "Divide by a larger number.")
    if scale.times == 0.0:
        # No divisor gives this.
        return Mask([[0.0] * len(row) for row in rows])
    return Mask(TypedWeights(tuple(map(tuple, rows)), divisor_text(scale)))


def _without_comments(text: str) -> str:
    kept: list[str] = []
    at = 0
    while (start := text.find("/*", at)) >= 0:
        end = text.find("*/", start + 2)
        if end < 0:
            refuse("a comment begins with /* and does not end", "End it with */.")
        kept.append(text[at:start])
        at = end + 2
    whole = " ".join([*kept, text[at:]])
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
    _refuse_semicolons_as_commas([line for line in lines if line])
    rows = read_rows(piece for line in lines for piece in line)
    check_rectangle(rows)
    return rows, scale


def _refuse_semicolons_as_commas(lines: list[list[str]]) -> None:
    """Refuse the CSV of a spreadsheet that separates cells by semicolons: it would be read as one column."""
    has_single_cells = all(re.fullmatch(r"[^\s,]+(?:,[0-9]+)?", piece) for line in lines for piece in line)
    if len(lines) > 1 and has_single_cells and any(len(line) > 1 for line in lines):
        refuse(
            "semicolons separate single numbers, but a semicolon ends a row here",
            "Separate cells with commas, tabs or spaces, and write a half as 0.5.",
        )


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
    return STYLES[style](mask if isinstance(mask, Mask) else Mask(mask))


def _cells(mask: Mask) -> list[list[str]]:
    return [[number_text(weight) for weight in row] for row in mask.weights.tolist()]


def _separated(cells: Iterable[Iterable[str]], between_cells: str = " ", between_rows: str = "\n") -> str:
    return between_rows.join(between_cells.join(row) for row in cells)


def _rows(mask: Mask) -> str:
    typed = mask.typed
    width = max(len(cell) for row in typed.cells for cell in row)
    return _scaled(mask, _separated([cell.rjust(width) for cell in row] for row in typed.cells))


def _line(mask: Mask) -> str:
    return _scaled(mask, _separated(mask.typed.cells, between_rows="; "))


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
    rows = (f"[{', '.join(map(_python_number, row))}]" for row in mask.typed.cells)
    return f"np.array([{(',' + chr(10) + ' ' * 10).join(rows)}], dtype=np.float64){_over(mask, ' / ')}"


def _python_number(cell: str) -> str:
    return cell if "/" in cell else repr(float(cell))


def _c(mask: Mask) -> str:
    rows = ("    {" + ", ".join(f"{weight!r}f" for weight in row) + "}" for row in mask.weights.tolist())
    return f"const float mask[{mask.rows}][{mask.columns}] = {{\n" + ",\n".join(rows) + "\n};"


def _matlab(mask: Mask) -> str:
    return f"[{_separated(mask.typed.cells, between_rows='; ')}]{_over(mask, ' / ')}"


# Each keeps every weight exactly, in the shortest digits of its float64. Those for programs that know neither
# fractions nor divisors, or round their quotients to float32, have the weights themselves. Only JSON keeps
# anchor and offset, and ImageMagick's the anchor.
STYLES: dict[str, Callable[[Mask], str]] = {
    "rows": _rows,
    "line": _line,
    "csv": lambda mask: _separated(_cells(mask), between_cells=","),
    "tabs": lambda mask: _separated(_cells(mask), between_cells="\t"),
    "numpy": _numpy,
    "c": _c,
    "matlab": _matlab,
    "imagej": lambda mask: _separated(_cells(mask)),
    "imagemagick": mask_to_imagemagick,
    "json": mask_to_json,
}
