"""What a launch executes and requests of memory: by instruction, memory, kind and array.

A request is one instruction of one warp. Global memory serves it by sectors of 32 bytes, in transactions of
128 bytes; constant memory word by word; shared memory in wavefronts, in which every bank gives one word.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from engine.ptx.memory import WARP, WARP_SHIFT, Access, Active, Numbers, Segment

SECTOR_BYTES = 32
# Offsets within a segment of memory are less than 2 to this.
_PART_SHIFT = 44
_WHOLE = np.zeros(1, np.int64)


@dataclass(slots=True)
class Requests:
    """Requests to memory and what they take; 0 where a kind of memory knows no such thing."""

    requests: int = 0
    bytes: int = 0  # that threads request, each for itself
    sectors: int = 0  # global and local memory: 32 bytes, each once per request
    transactions: int = 0  # the same of 128 bytes
    wavefronts: int = 0  # shared memory: passes over the banks; constant memory: different words

    def __add__(self, other: "Requests") -> "Requests":
        return Requests(
            self.requests + other.requests,
            self.bytes + other.bytes,
            self.sectors + other.sectors,
            self.transactions + other.transactions,
            self.wavefronts + other.wavefronts,
        )

    @property
    def sectors_per_request(self) -> float | None:
        """32-byte sectors per request; None without requests."""
        return self.sectors / self.requests if self.requests else None

    @property
    def transactions_per_request(self) -> float | None:
        """128-byte transactions per request; None without requests."""
        return self.transactions / self.requests if self.requests else None

    @property
    def wavefronts_per_request(self) -> float | None:
        """Wavefronts per request; None without requests."""
        return self.wavefronts / self.requests if self.requests else None

    @property
    def efficiency(self) -> float | None:
        """Bytes that threads request per byte of sectors: above 1 where threads share them."""
        return self.bytes / (self.sectors * SECTOR_BYTES) if self.sectors else None


class AccessKey(NamedTuple):
    """Which requests are counted together."""

    number: int  # of the instruction in the program
    space: str  # "global", "shared", "local" or "const"
    kind: str  # "loads", "stores", "copies" or "atomics"
    array: str


class Counts:
    """The counts of a launch; chunk after chunk of its blocks is added.

    With `weights`, whole numbers, a block counts as so many.
    """

    def __init__(self, weights: Sequence[float] | None = None) -> None:
        self.block_runs: dict[int, list[int]] = defaultdict(lambda: [0, 0])
        self.accesses: dict[AccessKey, Requests] = defaultdict(Requests)
        self.touched: dict[str, np.ndarray] = {}
        self.block_sectors: dict[str, int] = defaultdict(int)
        self.barriers = 0
        self._weights = None if weights is None else np.asarray(weights, np.int64)
        self._of_blocks: list[Numbers] = []
        self._sectors_of_blocks: dict[str, list[Numbers]] = defaultdict(list)

    def begin_chunk(self, blocks: int, row: int) -> None:
        """Go on with the next blocks, so many of them, with so many slots of threads each."""
        if self._weights is None:
            self._chunk = np.ones(blocks, np.int64)
        else:
            self._chunk, self._weights = np.split(self._weights, [blocks])
        self._weight_of_warps = np.repeat(self._chunk, row // WARP)
        self._of_warps = np.zeros_like(self._weight_of_warps)

    def _sum(self, active: Active, of_warps: Numbers) -> int:
        self._of_warps[active.warp_numbers] += of_warps
        return int(of_warps @ self._weight_of_warps[active.warp_numbers])

    def _warps(self, active: Active) -> int:
        return int(self._weight_of_warps[active.warp_numbers].sum())

    def ran(self, block: int, active: Active) -> None:
        """Count that threads ran a basic block."""
        runs = self.block_runs[block]
        runs[0] += self._warps(active)
        runs[1] += self._sum(active, active.threads_of_warps)

    def waited(self, active: Active) -> None:
        """Count that warps came to a barrier."""
        self.barriers += self._warps(active)

    def access(self, access: Access) -> None:
        """Count a request of each warp."""
        segment, active, size = access.segment, access.active, access.size
        offsets = access.offsets.view(np.int64)
        if offsets.ndim == 0:
            offsets = offsets.repeat(active.count)
        kind = {"read": "loads", "write": "stores"}.get(access.effect, "atomics")
        kind = "copies" if access.instruction.name == "cp" else kind
        counted = self.accesses[AccessKey(access.instruction.number, segment.space, kind, segment.name)]
        counted.requests += self._warps(active)
        counted.bytes += size * self._sum(active, active.threads_of_warps)
        if segment.space == "global":
            numbers, of_warps = different(offsets >> 5, active.starts(WARP_SHIFT))
            _, lines = different(numbers >> 2, np.cumsum(of_warps) - of_warps)
            counted.sectors += self._sum(active, of_warps)
            counted.transactions += self._sum(active, lines)
            self._touch(segment, active, offsets >> 5, numbers)
        elif segment.space == "shared":
            counted.wavefronts += self._sum(active, wavefronts(active, offsets, size))
        elif segment.space == "const":
            counted.wavefronts += self._sum(active, different(offsets >> 2, active.starts(WARP_SHIFT))[1])
        else:
            # Words of one number lie side by side for the threads of a warp.
            words = max(1, size >> 2)
            counted.sectors += self._sum(active, words * -(-active.threads_of_warps // 8))
            counted.transactions += words * self._warps(active)

    def _touch(self, segment: Segment, active: Active, of_threads: Numbers, numbers: Numbers) -> None:
        if segment.name not in self.touched:
            self.touched[segment.name] = np.zeros(len(segment.data) // SECTOR_BYTES + 2, bool)
        self.touched[segment.name][numbers] = True
        keys = active.blocks * len(self.touched[segment.name]) + of_threads
        own = self._sectors_of_blocks[segment.name]
        own.append(different(keys)[0])
        if len(own) > 64:
            self._sectors_of_blocks[segment.name] = [different(np.concatenate(own))[0]]

    def end_chunk(self) -> None:
        """Count the sectors that each block of the chunk requested, once per block and array."""
        for name, keys in self._sectors_of_blocks.items():
            blocks = different(np.concatenate(keys))[0] // len(self.touched[name])
            self.block_sectors[name] += int(self._chunk[blocks].sum())
        self._sectors_of_blocks.clear()
        self._of_blocks.append(self._of_warps.reshape(len(self._chunk), -1).sum(1))

    @property
    def of_blocks(self) -> Numbers:
        """What each block takes by itself, added up: it differs where blocks differ."""
        return np.concatenate(self._of_blocks)

    @property
    def launch_sectors(self) -> dict[str, int]:
        """Sectors of each array that any block requested, each once; with weights at most so many."""
        if self._weights is None:
            return {name: int(np.count_nonzero(touched)) for name, touched in self.touched.items()}
        return {name: min(len(self.touched[name]) - 2, most) for name, most in self.block_sectors.items()}

    def total(self, space: str, *kinds: str, array: str = "") -> Requests:
        """Return the requests of some kinds in one memory, or to one array there."""
        keys = (key for key in self.accesses if key.space == space and key.kind in kinds)
        return sum((self.accesses[key] for key in keys if array in ("", key.array)), Requests())


def wavefronts(active: Active, addresses: Numbers, size: int) -> Numbers:
    """Return the passes over the 32 banks of shared memory that each warp's request takes.

    Up to 4 bytes a warp is served together; of 8 bytes each half of it, of 16 each quarter.
    """
    each = max(1, size >> 2)
    shift = {1: 5, 2: 4, 4: 3}[each]
    starts, words = active.starts(shift), addresses >> 2
    least, most = np.minimum.reduceat(words, starts), np.maximum.reduceat(words, starts)
    if (most - least <= WARP - each).all():
        fronts = np.ones_like(starts)
    else:
        words = (words[:, None] + np.arange(each)).reshape(-1)
        words, counts = different(words, starts * each)
        banks = np.repeat(np.arange(len(starts)) * WARP, counts) + (words & (WARP - 1))
        fronts = np.bincount(banks, minlength=len(starts) * WARP).reshape(-1, WARP).max(1)
    if shift == WARP_SHIFT:
        return fronts
    return np.add.reduceat(fronts, np.searchsorted(starts, active.starts(WARP_SHIFT)))


def different(numbers: Numbers, starts: Numbers = _WHOLE) -> tuple[Numbers, Numbers]:
    """Return the different ones of each part of some numbers, sorted, and how many each part has.

    NumPy's own takes five times as long, and mostly the numbers are in order.
    """
    falls_between = np.count_nonzero(numbers[starts[1:]] < numbers[starts[1:] - 1])
    if np.count_nonzero(numbers[1:] < numbers[:-1]) > falls_between:
        parts = np.repeat(np.arange(len(starts)) << _PART_SHIFT, np.diff(starts, append=len(numbers)))
        numbers = np.sort(parts + numbers) & ((1 << _PART_SHIFT) - 1)
    is_first = np.empty(len(numbers), bool)
    np.not_equal(numbers[1:], numbers[:-1], out=is_first[1:])
    is_first[starts] = True
    return numbers[is_first], np.add.reduceat(is_first, starts, dtype=np.int64)
