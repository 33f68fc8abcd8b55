"""What a session keeps: state, results, view, and the parts of other pages. Its file is in `session_file`."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

from msgspec import Meta, Struct

from gui.explore.results.results_model import Asked
from gui.explore.state import State
from gui.typed_json import Text

_Window = tuple[float, float]
_Place = Annotated[float, Meta(gt=-1e9, lt=1e9)]


class View(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """How the page looks."""

    # Value of a `ViewMode`.
    mode: Text = ""
    # Names of those in front.
    panels: tuple[Text, ...] = ()
    # Which of the rows is selected.
    run: Annotated[int, Meta(ge=0)] | None = None
    # Pixels of the screen for one of the picture, and the pixel in the middle; None where it is fitted.
    zoom: Annotated[float, Meta(gt=0, lt=1e9)] | None = None
    row: _Place = 0.0
    column: _Place = 0.0
    # The values that are black and white, of the original and of the result; none: as the display range says.
    original_window: _Window | None = None
    result_window: _Window | None = None


@dataclass(frozen=True, slots=True)
class Session:
    """All that is kept. Nobody changes it, so that any thread can write it."""

    state: State
    runs: tuple[Asked, ...] = ()
    # Of the file of the picture, when it was opened; empty for a sample, and where it is not known.
    digest: str = ""
    view: View = field(default_factory=View)
    # What other pages add, by their keys; they check it themselves.
    pages: Mapping[str, Any] = field(default_factory=dict)
    # Of one that was read: a sentence for each thing that was left out.
    left_out: tuple[str, ...] = ()
