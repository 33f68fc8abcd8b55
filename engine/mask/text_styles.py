"""The styles in which a mask is written: each keeps every weight exactly (the shortest digits of its float64).

Only JSON keeps the anchor and the offset; the other styles are weights alone.
"""

from collections.abc import Callable
from types import MappingProxyType

from engine.errors import UnknownName
from engine.mask.json_form import mask_to_json, number_text
from engine.mask.mask import Mask


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
        raise UnknownName(
            f"{style!r} is no style of text", "masks are not written so", f"Take one of {', '.join(STYLES)}."
        )
    return STYLES[style](mask if isinstance(mask, Mask) else Mask(mask))


def _cells(mask: Mask) -> list[list[str]]:
    return [[number_text(weight) for weight in row] for row in mask.weights.tolist()]


def _rows(mask: Mask) -> str:
    cells = _cells(mask)
    width = max(len(cell) for row in cells for cell in row)
    return "\n".join(" ".join(cell.rjust(width) for cell in row) for row in cells)


def _line(mask: Mask) -> str:
    return "; ".join(" ".join(row) for row in _cells(mask))


def _csv(mask: Mask) -> str:
    return "\n".join(",".join(row) for row in _cells(mask))


def _tabs(mask: Mask) -> str:
    return "\n".join("\t".join(row) for row in _cells(mask))


def _numpy(mask: Mask) -> str:
    rows = ("[" + ", ".join(repr(weight) for weight in row) + "]" for row in mask.weights.tolist())
    return f"np.array([{(',' + chr(10) + ' ' * 10).join(rows)}], dtype=np.float64)"


def _c(mask: Mask) -> str:
    rows = ("    {" + ", ".join(f"{weight!r}f" for weight in row) + "}" for row in mask.weights.tolist())
    return f"const float mask[{mask.rows}][{mask.columns}] = {{\n" + ",\n".join(rows) + "\n};"


def _matlab(mask: Mask) -> str:
    return f"[{_line(mask)}]"


STYLES: MappingProxyType[str, Callable[[Mask], str]] = MappingProxyType(
    {
        "rows": _rows,
        "line": _line,
        "csv": _csv,
        "tabs": _tabs,
        "numpy": _numpy,
        "c": _c,
        "matlab": _matlab,
        "json": mask_to_json,
    }
)
