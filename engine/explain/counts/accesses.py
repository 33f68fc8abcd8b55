"""What the warps of a launch execute and ask of memory. No Numba in here.

A request is one instruction of one warp: the addresses of its threads that are active there. Global memory
serves a request by sectors of 32 bytes, which lie in lines of 128 bytes, one transaction each. Shared memory
serves it in wavefronts: in each, every one of the 32 banks gives one word of 4 bytes, to any number of
threads. Constant memory gives one word after another.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field

from engine.errors import Reason
from engine.ptx.counts import Requests
from engine.results.text_forms import MISSING, rate_text

BANKS = 32
WORD_BYTES = 4


_EVERY = ("loads", "stores", "copies", "atomics")
REQUESTS: dict[str, tuple[str, tuple[str, ...]]] = {
    "global_loads": ("global", ("loads", "copies")),
    "global_stores": ("global", ("stores",)),
    "global_accesses": ("global", _EVERY),
    "shared_loads": ("shared", ("loads",)),
    "shared_stores": ("shared", ("stores", "copies")),
    "shared_accesses": ("shared", _EVERY),
    "constant_loads": ("constant", _EVERY),
}
"""Memory and kinds of requests by name; a copy loads from global memory and stores to shared memory."""


@dataclass(frozen=True, slots=True)
class ArrayAccesses:
    """Requests to one array of a pass."""

    # "global", "shared", "constant" or "local".
    memory: str
    # "loads", "stores", "copies" (from global to shared memory, without a register) or "atomics".
    kind: str
    array: str  # the parameter of the kernel, or the memory
    requests: Requests
    # Sectors of global memory that a block asks for, each once per block, in all blocks together.
    block_sectors: int = 0
    # The least sectors that must move between L2 and the device's memory: each of the array's once.
    launch_sectors: int = 0


@dataclass(frozen=True, slots=True)
class CountedAccesses:
    """What one launch executes and asks of memory: counted in `counted_blocks` of its blocks, for all.

    `is_exact` says whether the numbers are those of the whole launch: every block was counted, or those
    counted in the middle of the grid, which stand for all others there, agree.
    """

    name: str
    blocks: int
    counted_blocks: int
    is_exact: bool
    arrays: tuple[ArrayAccesses, ...]
    barriers: int = 0  # of warps: each warp at each barrier
    executed: Mapping[str, int] = field(default_factory=dict)  # by warps, of each instruction of PTX

    def of(self, name: str) -> Requests:
        """Return some requests together, by their name in `REQUESTS`."""
        memory, kinds = REQUESTS[name]
        wanted = (one for one in self.arrays if one.memory == memory and one.kind in kinds)
        return sum((one.requests for one in wanted), Requests())

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
        """Return some requests of all launches together, by their name in `REQUESTS`."""
        return sum((one.of(of) for one in self.passes), Requests())

    @property
    def transactions_per_request(self) -> float | None:
        """128-byte transactions per request to global memory; None without any."""
        return self.total("global_accesses").transactions_per_request


Row = tuple[str, ...]


def accesses_document(run: CountedRun) -> dict[str, object]:
    """Return everything that is counted, or why nothing is."""
    reason = run.not_counted
    return {
        "not_counted": None if reason is None else reason.as_json(),
        "transactions_per_request": run.transactions_per_request,
        "launches": [
            {
                "name": one.name,
                "blocks": one.blocks,
                "counted_blocks": one.counted_blocks,
                "exact": one.is_exact,
                "barriers": one.barriers,
                "arrays": [_array_document(array) for array in one.arrays],
            }
            for one in run.passes
        ],
    }


def _array_document(one: ArrayAccesses) -> dict[str, object]:
    return {
        "memory": one.memory,
        "kind": one.kind,
        "array": one.array,
        **asdict(one.requests),
        "block_sectors": one.block_sectors,
        "launch_sectors": one.launch_sectors,
    }


def accesses_rows(launches: Sequence[CountedAccesses]) -> list[Row]:
    """Return a name and a text for each launch; without what no launch has."""
    rows = [(name, *map(text, launches)) for name, text in _ROWS]
    return [row for row in rows if any(text != MISSING for text in row[1:])]


Text = Callable[[CountedAccesses], str]


def _text(of: str, number: str) -> Text:
    """Return what writes a number of some requests of a launch, by the names of both."""

    def text(launch: CountedAccesses) -> str:
        requests = launch.of(of)
        value = getattr(requests, number)
        return rate_text(value) if value and requests.requests else MISSING

    return text


def _rows_of(of: str, words: str, *numbers: tuple[str, str]) -> list[tuple[str, Text]]:
    rows = [(f"{words}: requests", _text(of, "requests"))]
    return rows + [(f"{words}: {name}", _text(of, number)) for name, number in numbers]


_GLOBAL = (
    ("sectors of 32 bytes per request", "sectors_per_request"),
    ("transactions of 128 bytes per request", "transactions_per_request"),
    ("bytes asked for per byte of sectors", "efficiency"),
)
_SHARED = ("wavefronts per request", "wavefronts_per_request")
_ROWS: list[tuple[str, Text]] = [
    *_rows_of("global_loads", "global loads", *_GLOBAL),
    *_rows_of("global_stores", "global stores", *_GLOBAL),
    *_rows_of("shared_loads", "shared loads", _SHARED),
    *_rows_of("shared_stores", "shared stores", _SHARED),
    *_rows_of("constant_loads", "constant loads", ("different words per request", "wavefronts_per_request")),
    ("warps at barriers", lambda launch: rate_text(launch.barriers) if launch.barriers else MISSING),
]
