"""What the warps of a launch ask of memory: requests, and what serves them. No Numba in here.

A request is one instruction of one warp: the addresses of its threads that are active there. Global memory
serves a request by sectors of 32 bytes, which lie in lines of 128 bytes, one transaction each. Shared memory
serves it in wavefronts: in each, every one of the 32 banks gives one word of 4 bytes, to any number of
threads. Constant memory gives one word after another.
"""

from dataclasses import dataclass, fields
from functools import reduce
from operator import add
from typing import NamedTuple

from engine.explain.code.listing import SourceLine
from engine.reason import Reason

SECTOR_BYTES = 32
LINE_BYTES = 128
BANKS = 32
WORD_BYTES = 4
WARP = 32


@dataclass(frozen=True, slots=True)
class Requests:
    """Requests of one kind, and what they take; 0 where a kind of memory knows no such thing."""

    requests: int = 0
    bytes: int = 0  # that threads ask for, each thread for itself
    sectors: int = 0  # global memory: 32 bytes, each once a request
    transactions: int = 0  # global memory: lines of 128 bytes, each once a request
    # Shared memory: passes over the 32 banks. Constant memory: different words of a request.
    wavefronts: int = 0
    # Global memory: sectors that a block asks for, each once a block and array, in all blocks together.
    block_sectors: int = 0

    def __add__(self, other: "Requests") -> "Requests":
        return Requests(*(getattr(self, one.name) + getattr(other, one.name) for one in fields(self)))

    def _per_request(self, number: int) -> float | None:
        return number / self.requests if self.requests else None

    @property
    def sectors_per_request(self) -> float | None:
        """32-byte sectors per request; None without requests."""
        return self._per_request(self.sectors)

    @property
    def transactions_per_request(self) -> float | None:
        """128-byte transactions per request; None without requests."""
        return self._per_request(self.transactions)

    @property
    def wavefronts_per_request(self) -> float | None:
        """Wavefronts per request; None without requests."""
        return self._per_request(self.wavefronts)

    @property
    def sector_bytes(self) -> int:
        """Bytes of all sectors: what L1 delivers."""
        return self.sectors * SECTOR_BYTES

    @property
    def efficiency(self) -> float | None:
        """Bytes that threads ask for per byte of sectors: above 1 where threads share them."""
        return self.bytes / self.sector_bytes if self.sectors else None


NONE = Requests()


@dataclass(frozen=True, slots=True)
class ArrayAccesses:
    """Requests to one array of a pass."""

    # "global", "shared" or "constant".
    memory: str
    # "loads", "stores", "copies" (from global to shared memory, without a register) or "atomics".
    kind: str
    array: str  # the parameter of the kernel, or the variable in shared memory
    requests: Requests
    # The least sectors that must move between L2 and the device's memory: each of the array's once.
    launch_sectors: int = 0


class Place(NamedTuple):
    """Where the source of a kernel does something: a line, and the innermost loop around it."""

    line: SourceLine
    loop: SourceLine | None  # the line that begins it; None outside of loops


@dataclass(frozen=True, slots=True)
class PlaceAccesses:
    """Requests of one kind at one place of the source."""

    place: Place
    memory: str
    kind: str
    requests: int
    per_round: float  # of a warp in a round of the loop, the most that one has on average; 0 outside of loops


@dataclass(frozen=True, slots=True)
class LoopRounds:
    """How often warps go round a loop of the source."""

    line: SourceLine
    outer: SourceLine | None  # the loop around it
    entries: tuple[tuple[int, int], ...]  # a number of rounds, and how often a warp comes to the loop for it

    @property
    def most_rounds(self) -> int:
        """Of one entry."""
        return max((rounds for rounds, _ in self.entries), default=0)

    @property
    def rounds(self) -> int:
        """Of all entries."""
        return sum(rounds * times for rounds, times in self.entries)


@dataclass(frozen=True, slots=True)
class CountedAccesses:
    """What one launch asks of memory: counted in `counted_blocks` of its blocks, for all of them.

    `is_exact` says whether the numbers are those of the whole launch: every block was counted, or those
    counted in the middle of the grid, which stand for all others there, agree.
    """

    name: str
    blocks: int
    counted_blocks: int
    is_exact: bool
    arrays: tuple[ArrayAccesses, ...]
    barriers: int = 0  # of warps: each warp at each barrier
    places: tuple[PlaceAccesses, ...] = ()  # of accesses that stand in the source as such
    loops: tuple[LoopRounds, ...] = ()

    def of(self, memory: str, *kinds: str) -> Requests:
        """Return the requests of some kinds to all arrays in a memory together; of no kind: of all."""
        found = (
            one.requests for one in self.arrays if one.memory == memory and (not kinds or one.kind in kinds)
        )
        return reduce(add, found, NONE)

    @property
    def global_loads(self) -> Requests:
        """Loads from global memory, those of copies to shared memory too."""
        return self.of("global", "loads", "copies")

    @property
    def global_stores(self) -> Requests:
        """Stores to global memory."""
        return self.of("global", "stores")

    @property
    def global_accesses(self) -> Requests:
        """Loads, stores and atomics of global memory."""
        return self.of("global")

    @property
    def shared_loads(self) -> Requests:
        """Loads from shared memory."""
        return self.of("shared", "loads")

    @property
    def shared_stores(self) -> Requests:
        """Stores to shared memory, those of copies from global memory too."""
        return self.of("shared", "stores", "copies")

    @property
    def shared_accesses(self) -> Requests:
        """Loads, stores and atomics of shared memory."""
        return self.of("shared")

    @property
    def constant_loads(self) -> Requests:
        """Loads from constant memory."""
        return self.of("constant")

    @property
    def launch_sectors(self) -> int:
        """The least sectors that must move between L2 and the device's memory; an estimate."""
        return sum(one.launch_sectors for one in self.arrays)


@dataclass(frozen=True, slots=True)
class CountedRun:
    """The counted launches of a variant, in order; none where `not_counted` says why."""

    passes: tuple[CountedAccesses, ...] = ()
    not_counted: Reason | None = None

    def total(self, of: str) -> Requests:
        """Return one of the requests of `CountedAccesses`, by its name, of all launches together."""
        return reduce(add, (getattr(one, of) for one in self.passes), NONE)

    @property
    def transactions_per_request(self) -> float | None:
        """128-byte transactions per request to global memory; None without any."""
        return self.total("global_accesses").transactions_per_request
