"""The requests of the warps that run in lockstep, collected and counted. No Numba in here."""

from collections import defaultdict
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.explain.code.listing import SourceLine
from engine.explain.counts.accesses import (
    LINE_BYTES,
    SECTOR_BYTES,
    WARP,
    WORD_BYTES,
    ArrayAccesses,
    LoopRounds,
    Place,
    PlaceAccesses,
    Requests,
)
from engine.explain.counts.warp_requests import Flags, Numbers, sectors_of, wavefronts_of, words_of

# Addresses of threads that are counted at once: 4 MB of them.
AT_ONCE = 1 << 19
# Requests between two looks at whether the person still wants the counts.
BETWEEN_CHECKPOINTS = 256


class Active:
    """The threads that do what is done now: one flag each, 32 in a row for each warp."""

    __slots__ = ("_warps", "lanes")

    def __init__(self, lanes: Flags) -> None:
        self.lanes = lanes
        self._warps: Numbers | None = None

    @property
    def warps(self) -> Numbers:
        """How many threads of each warp are active."""
        if self._warps is None:
            self._warps = self.lanes.reshape(-1, WARP).sum(1)
        return self._warps


class Key(NamedTuple):
    """Which requests are counted together."""

    memory: str
    kind: str
    array: str


class _Counted:
    """The counts of one key, for each warp."""

    def __init__(self, warps: int, array_bytes: int) -> None:
        self.array_bytes, self.all_sectors = array_bytes, -(-array_bytes // SECTOR_BYTES)
        self.numbers = {
            name: np.zeros(warps, np.int64)
            for name in ("requests", "bytes", "sectors", "transactions", "wavefronts")
        }
        self.pending: dict[int, list[tuple[Numbers, Active]]] = defaultdict(list)
        self.pending_lanes = 0
        # Requests of whole warps to one address: how often, by the address, its bytes and who was active.
        self.uniform: dict[tuple[int, int, Active], int] = defaultdict(int)
        # Sectors that blocks asked for, as block x all sectors + sector.
        self.block_sectors: list[Numbers] = []


class RequestLog:
    """Takes requests and counts them, warp by warp.

    Parameters
    ----------
    block_of_warp : array
        The number of each warp's block.
    checkpoint : callable
        Called again and again; it raises `Cancelled` to stop.
    """

    def __init__(self, block_of_warp: Numbers, checkpoint: Callable[[], None]) -> None:
        self._block_of_warp, self._checkpoint = block_of_warp, checkpoint
        self._warps = np.arange(len(block_of_warp))
        self._counted: dict[Key, _Counted] = {}
        self.barriers = np.zeros(len(block_of_warp), np.int64)
        # Requests of each warp by their place in the source, memory and kind; entries of each warp to a loop
        # by its line, the loop around it, and the number of rounds.
        self._places: dict[tuple[Place, str, str], Numbers] = {}
        self._loops: dict[tuple[SourceLine, SourceLine | None, int], Numbers] = {}
        # Accesses that threads have made, one after another: each is a request of some warps.
        self.records = 0

    def record(self, key: Key, address: Numbers | int, size: int, active: Active, array_bytes: int) -> None:
        """Take a request of each warp with active threads, for `size` bytes at an address of each thread."""
        self.records += 1
        if self.records % BETWEEN_CHECKPOINTS == 0:
            self._checkpoint()
        counted = self._counted.get(key)
        if counted is None:
            counted = self._counted[key] = _Counted(len(self._warps), array_bytes)
        if isinstance(address, np.ndarray):
            counted.pending[size].append((address, active))
            counted.pending_lanes += address.size
            if counted.pending_lanes >= AT_ONCE:
                self._count_pending(key, counted)
        else:
            counted.uniform[int(address), size, active] += 1
            if len(counted.uniform) * len(active.lanes) >= AT_ONCE:
                self._count_uniform(key, counted)

    def record_place(self, key: Key, place: Place, active: Active) -> None:
        """Note where in the source the active threads make a request."""
        self._add(self._places, (place, key.memory, key.kind), active.warps > 0)

    def record_loop(
        self, line: SourceLine, outer: SourceLine | None, entered: Active, rounds: Numbers
    ) -> None:
        """Take an entry to a loop, with the number of rounds of each warp."""
        for number in np.unique(rounds[entered.warps > 0]):
            self._add(self._loops, (line, outer, int(number)), (entered.warps > 0) & (rounds == number))

    def _add(self, counts: dict[Any, Numbers], key: Any, warps: Flags) -> None:
        if key not in counts:
            counts[key] = np.zeros(len(self._warps), np.int64)
        counts[key] += warps

    def record_barrier(self, active: Active) -> None:
        """Take a barrier of the warps with active threads."""
        self.barriers += active.warps > 0

    def _count_pending(self, key: Key, counted: _Counted) -> None:
        for size, requests in counted.pending.items():
            # 4 bytes are enough for addresses in all but huge arrays, and faster.
            kind = np.int32 if counted.array_bytes < 1 << 30 else np.int64
            addresses: Numbers = np.concatenate([address for address, _ in requests], dtype=kind)
            addresses = addresses.reshape(-1, WARP)
            lanes = np.concatenate([active.lanes for _, active in requests]).reshape(-1, WARP)
            active = np.concatenate([active.warps for _, active in requests])
            warps = np.tile(self._warps, len(requests))
            some = active > 0
            if not some.all():
                addresses, lanes, active, warps = addresses[some], lanes[some], active[some], warps[some]
            if len(warps):
                self._count(key, counted, addresses, lanes, size, warps, active)
        counted.pending.clear()
        counted.pending_lanes = 0

    def _count(
        self, key: Key, counted: _Counted, addresses: Numbers, lanes: Flags, size: int, warps: Numbers,
        active: Numbers,
    ) -> None:  # fmt: skip
        """Count requests of one warp each, of which `active` threads take part."""
        first = np.min(addresses, where=lanes, initial=0)
        last = np.max(addresses, where=lanes, initial=0)
        self._check_inside(key, counted, int(first), int(last) + size)
        found: dict[str, Any] = {"requests": None, "bytes": active * size}
        if key.memory == "global":
            lines = sectors_of(addresses, lanes, size)
            found |= {"sectors": lines.sectors, "transactions": lines.transactions}
            blocks = self._block_of_warp[warps[lines.owners]]
            counted.block_sectors.append(np.unique(blocks * counted.all_sectors + lines.numbers))
        elif key.memory == "shared":
            found["wavefronts"] = wavefronts_of(addresses, lanes, size)
        else:
            found["wavefronts"] = words_of(addresses, lanes)
        for name, of_requests in found.items():
            of_warps = np.bincount(warps, of_requests, minlength=len(self._warps))
            counted.numbers[name] += of_warps.astype(np.int64)

    def _count_uniform(self, key: Key, counted: _Counted) -> None:
        """Count requests of whole warps to one address."""
        together: dict[tuple[int, Active], list[tuple[int, int]]] = defaultdict(list)
        for (address, size, active), times in counted.uniform.items():
            self._check_inside(key, counted, address, address + size)
            together[size, active].append((address, times))
        for (size, active), requests in together.items():
            addresses, times = np.array(requests).T
            takes_part = active.warps > 0
            numbers = counted.numbers
            numbers["requests"] += times.sum() * takes_part
            numbers["bytes"] += times.sum() * size * active.warps
            if key.memory == "global":
                for name, unit in (("sectors", SECTOR_BYTES), ("transactions", LINE_BYTES)):
                    touched = (addresses + size - 1) // unit - addresses // unit + 1
                    numbers[name] += (times * touched).sum() * takes_part
                ends = np.concatenate([addresses, addresses + size - 1])
                blocks = np.unique(self._block_of_warp[takes_part])[:, None] * counted.all_sectors
                counted.block_sectors.append((blocks + np.unique(ends // SECTOR_BYTES)).ravel())
            elif key.memory == "shared":
                # 8 and 16 bytes each: halves and quarters of a warp, one after the other.
                parts = max(1, size // WORD_BYTES)
                groups = active.lanes.reshape(-1, parts, WARP // parts).any(2).sum(1)
                numbers["wavefronts"] += times.sum() * groups
            else:
                numbers["wavefronts"] += times.sum() * takes_part
        counted.uniform.clear()

    def _check_inside(self, key: Key, counted: _Counted, first: int, end: int) -> None:
        if first < 0 or end > counted.array_bytes:
            raise IndexError(f"{key.kind} of {key.array} outside its {counted.array_bytes:,} bytes")

    def finish(self) -> None:
        """Count what is still pending."""
        for key, counted in self._counted.items():
            self._count_pending(key, counted)
            self._count_uniform(key, counted)

    def of_blocks(self, numbers: Numbers) -> Numbers:
        """Return numbers of warps added up for each block."""
        return np.bincount(self._block_of_warp, numbers).astype(np.int64)

    def accesses(self, weights: NDArray[np.float64]) -> tuple[ArrayAccesses, ...]:
        """Return what all blocks ask for; a counted block stands for `weights` of them."""
        made = []
        for key, counted in self._counted.items():
            numbers = {
                name: round(float(weights @ self.of_blocks(found))) for name, found in counted.numbers.items()
            }
            launch_sectors = 0
            if counted.block_sectors:
                sectors = np.unique(np.concatenate(counted.block_sectors))
                of_blocks = np.bincount(sectors // counted.all_sectors, minlength=len(weights))
                numbers["block_sectors"] = round(float(weights @ of_blocks))
                launch_sectors = min(counted.all_sectors, numbers["block_sectors"])
            made.append(ArrayAccesses(*key, Requests(**numbers), launch_sectors))
        return tuple(made)

    def places(self, weights: NDArray[np.float64]) -> tuple[PlaceAccesses, ...]:
        """Return the requests of all blocks by their place in the source."""
        rounds: dict[SourceLine | None, Numbers] = defaultdict(lambda: np.zeros(len(self._warps), np.int64))
        for (line, _, number), entries in self._loops.items():
            rounds[line] += number * entries

        def made(place: Place, memory: str, kind: str, requests: Numbers) -> PlaceAccesses:
            own = rounds[place.loop]
            per_round = np.max(requests[own > 0] / own[own > 0], initial=0.0)
            of_all = round(float(weights @ self.of_blocks(requests)))
            return PlaceAccesses(place, memory, kind, of_all, float(per_round))

        return tuple(made(*key, requests) for key, requests in self._places.items())

    def loops(self, weights: NDArray[np.float64]) -> tuple[LoopRounds, ...]:
        """Return how often the warps of all blocks go round each loop."""
        entries: dict[tuple[SourceLine, SourceLine | None], list[tuple[int, int]]] = defaultdict(list)
        for (line, outer, rounds), times in self._loops.items():
            entries[line, outer].append((rounds, round(float(weights @ self.of_blocks(times)))))
        return tuple(LoopRounds(*key, tuple(sorted(found))) for key, found in entries.items())

    def per_block(self) -> Numbers:
        """Return all counts of each block, a row for each."""
        found = [numbers for counted in self._counted.values() for numbers in counted.numbers.values()]
        return np.stack([self.of_blocks(one) for one in [*found, self.barriers]], axis=1)
