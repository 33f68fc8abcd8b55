"""Why a paper's kernel cannot be loaded, and what is loaded, in words."""

from collections.abc import Iterable

from engine.course.paper import Configuration
from engine.errors import EngineError
from engine.geometry.border import Border
from engine.geometry.layout import Layout
from engine.mask.resolve import resolve_mask


def why_not_loadable(here: Configuration, variants: Iterable[str]) -> str:
    """Return why a configuration cannot be loaded, in words; empty if it can.

    Whether this machine can run it is told where it is loaded, with what would do.
    """
    if here.is_product:
        return ""
    known = tuple(variants)
    if not known:
        return "The engine is still starting."
    if here.variant not in known:
        return f"This version of Haloscope has no variant {here.variant}."
    if here.border not in set(Border):
        return f"There is no border called {here.border}."
    if here.layout not in set(Layout):
        return f"There is no layout called {here.layout}."
    try:
        resolve_mask(here.mask)
    except EngineError as error:
        return str(error)
    return ""


def configuration_text(here: Configuration) -> str:
    """Return a configuration but for its variant, in a line."""
    block = f"{here.block.x} x {here.block.y}" if here.block else ""
    if here.is_product:
        return f"tile {block}" if block else ""
    layout = "" if here.layout == "pitched" else f"rows {here.layout}"
    return ", ".join(filter(None, (here.mask, block, f"border {here.border}", layout)))
