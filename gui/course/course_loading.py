"""What it means to load a paper's kernel: where it goes, what it sets, and why it may not be possible."""

from collections.abc import Iterable

from engine.course.paper import Configuration
from engine.errors import EngineError
from engine.geometry.border import Border
from engine.geometry.layout import Layout
from engine.mask.resolve import resolve_mask

EXPLORE = "explore"
MATRICES = "matrices"
_PRODUCTS = "matmul-"


def page_of(here: Configuration) -> str:
    """Return the key of the page that runs a configuration."""
    return MATRICES if here.variant.startswith(_PRODUCTS) else EXPLORE


def why_not_loadable(here: Configuration, variants: Iterable[str], pages: Iterable[str]) -> str:
    """Return why a configuration cannot be loaded, in words; empty if it can.

    Whether this machine can run it is told where it is loaded, with what would do.
    """
    page = page_of(here)
    if page not in pages:
        return f"This version of Haloscope has no page for {here.variant}."
    if page != EXPLORE:
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
    if page_of(here) != EXPLORE:
        return f"tile {block}" if block else ""
    layout = "" if here.layout == "pitched" else f"rows {here.layout}"
    return ", ".join(filter(None, (here.mask, block, f"border {here.border}", layout)))
