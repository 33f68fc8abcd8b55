"""What the two sides of a line say to each other beside the engine's own messages."""

from dataclasses import dataclass

from engine.host.process import HostOptions
from engine.remote.places import refuse_place


@dataclass(frozen=True, slots=True)
class Begin:
    """The first message to a server: the version of the program, the server's name, how its engine is."""

    version: str
    title: str
    options: HostOptions


@dataclass(frozen=True, slots=True)
class Arrays:
    """Pixels follow, with these shapes and types. `request` is what they answer, or 0."""

    key: str
    forms: tuple[tuple[tuple[int, ...], str], ...]
    request: int = 0


@dataclass(frozen=True, slots=True)
class Band:
    """So many rows of one of those arrays lie beside this message, packed as `codec` says."""

    key: str
    array: int
    first: int
    rows: int
    codec: str


@dataclass(frozen=True, slots=True)
class Needed:
    """The server has no pixels of this digest any more, and a request waits for them."""

    key: str


@dataclass(frozen=True, slots=True)
class Written:
    """A file that was written on the server: its place below what a request names.

    Without a place it is what the request names.
    """

    request: int
    place: str
    key: str

    def check_arrived(self) -> None:
        """Refuse a name that leads anywhere else."""
        if self.place:
            refuse_place(self.place)
