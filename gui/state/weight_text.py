"""Weights as people read them in a narrow cell, and as they type them. No widgets in here."""

from functools import lru_cache

from engine.errors import MaskError
from engine.mask.json_form import number_text
from engine.mask.text import parse_mask

_WHAT = "The weight was not changed"
_MINUS = "\N{MINUS SIGN}"
_LONGEST_EXACT = 6


def read_weight(text: str) -> float:
    """Return the number that a person typed: `2`, `-0.5`, `1e-3` or `1/9`.

    Raises
    ------
    MaskError
        It is no number, or more than one.
    """
    if not text.strip():
        raise MaskError(_WHAT, "nothing was typed", "Write a number; Delete sets a cell to 0.")
    try:
        mask = parse_mask(text)
    except MaskError as error:
        why = error.why.replace("row 1, column 1 says", "you typed")
        raise MaskError(_WHAT, why, error.remedy) from error
    if mask.taps != 1:
        raise MaskError(
            _WHAT,
            f"a cell holds one number, and you typed {mask.taps}",
            "Write a half as 0.5; paste several cells with Ctrl+V.",
        )
    return float(mask.weights[0, 0])


def typed_text(weight: float) -> str:
    """Return a weight with all its digits, as an editor shows it."""
    return number_text(weight)


@lru_cache(maxsize=8192)
def short_texts(weight: float) -> tuple[str, ...]:
    """Return a weight in ever shorter forms, for cells of any width.

    A cell shows the first that fits, so 1/9 is 0.1111, 0.111, 0.11, .11 or .1.
    """
    exact = _with_short_exponent(number_text(weight))
    texts = {exact} if len(exact) <= _LONGEST_EXACT else set()
    for digits in (4, 3, 2, 1):
        text = _rounded(weight, digits)
        texts |= {text, text.replace("0.", ".", 1) if abs(float(text)) < 1.0 else text}
    longest_first = sorted(texts, key=lambda text: (-len(text), text))
    return tuple(text.replace("-", _MINUS) for text in longest_first)


def _rounded(weight: float, digits: int) -> str:
    """Return a weight with so many significant digits, with an exponent only where that is shorter."""
    text = f"{weight:.{digits}g}"
    short = _with_short_exponent(text)
    _, _, exponent = short.partition("e")
    if not exponent:
        return text
    power = int(exponent)
    plain = f"{float(text):.0f}" if power > 0 else f"{float(text):.{digits - 1 - power}f}"
    return plain if len(plain) <= len(short) else short


def _with_short_exponent(text: str) -> str:
    """Return 1e-07 as 1e-7."""
    mantissa, _, exponent = text.partition("e")
    return f"{mantissa}e{int(exponent)}" if exponent else text
