"""What a session keeps: state, results, view, and the parts of other pages. Its file is in `session_file`."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from engine.results.measurement import Measurement
from gui.explore.state import PictureSource, State, Step


class KeptRun(NamedTuple):
    """A result, and the step and the picture that it is of; no step where that was not known."""

    result: Measurement[Any]
    step: Step | None = None
    source: PictureSource | None = None
    # What a person has said of it.
    note: str = ""
    is_pinned: bool = False


@dataclass(frozen=True, slots=True)
class Session:
    """All that is kept. Frozen, so that any thread can write it."""

    state: State
    runs: tuple[KeptRun, ...] = ()
    # Of the file of the picture, when it was opened; empty for a sample, and where it is not known.
    digest: str = ""
    # How the page looks, as plain JSON values.
    view: Mapping[str, Any] = field(default_factory=dict)
    # What other pages add, by their keys; they check it themselves.
    pages: Mapping[str, Any] = field(default_factory=dict)
    # Of one that was read: a sentence for each thing that was left out.
    left_out: tuple[str, ...] = ()
