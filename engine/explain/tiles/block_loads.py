"""What one block of a kernel loads of the picture, keeps in shared memory, and computes.

The block runs in the interpreter of PTX. A load is kept where its value reaches a store to shared memory
through registers alone, or is copied there without one. Sums of what was kept before are no loads.
"""

from collections import defaultdict
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from engine.ptx.active import Numbers
from engine.ptx.kernel import Kernel
from engine.ptx.memory import Access, Array

NOT_OF_PICTURE = -1
"""In place of a sample: a value that was not loaded, as that of a ghost cell."""
# In place of a load: one from constant, shared or local memory.
_ELSEWHERE = -1


class Origin(NamedTuple):
    """A load that a stored value may come from: into which of its registers, and how many share that one."""

    load: int
    register: int
    registers: int
    turn: int  # which of the values that come from this register it is


class Accesses(NamedTuple):
    """Samples that threads accessed, one each."""

    threads: Numbers
    samples: Numbers  # counted from the beginning of the array; NOT_OF_PICTURE
    times: Numbers  # which of the block's accesses it was
    addresses: Numbers  # of values that are put into shared memory: where

    def of(self, threads: range) -> "Accesses":
        """Return those of some threads."""
        is_own = (self.threads >= threads.start) & (self.threads < threads.stop)
        return Accesses(*(one[is_own] for one in self))


@lru_cache(maxsize=64)
def _origins(kernel: Kernel) -> dict[int, list[list[Origin]]]:
    """Return for each store where each of its values may come from."""
    reaching: dict[int, set[tuple[int, int, int]]] = defaultdict(set)
    size = -1
    while size != (size := sum(map(len, reaching.values()))):
        for one in kernel.instructions:
            if one.name in ("ld", "ldu"):
                space = one.first_of("const", "shared", "local", "global")
                targets = kernel.registers_in(one.operands[0])
                for at, register in enumerate(targets):
                    number = one.number if space in ("global", "") else _ELSEWHERE
                    reaching[register].add((number, at, len(targets)))
            else:
                read = set().union(*(reaching[register] for register in kernel.read_by(one)))
                for register in kernel.written_by(one):
                    reaching[register] |= read
    turns: dict[tuple[int, int, int], int] = defaultdict(int)
    found: dict[int, list[list[Origin]]] = defaultdict(list)
    for one in kernel.instructions:
        for text in one.operands[1].strip("{}").split(",") if one.name == "st" else ():
            origins = sorted(reaching[kernel.registers.get(text.strip(), -1)])
            found[one.number].append([Origin(*origin, turns[origin]) for origin in origins])
            for origin in origins:
                turns[origin] += 1
    return found


class BlockLoads:
    """Notes the accesses of one block (`note`, for `engine.ptx.run`) between two arrays."""

    def __init__(self, kernel: Kernel, source: Array, result: Array, threads: int) -> None:
        self._origins = _origins(kernel)
        self._source, self._result, self._threads = source, result, threads
        self._now = 0
        # Loads that did not read the source.
        self._others = {_ELSEWHERE}
        # Of each load when each thread did it last, which sample was the first, and how many there are.
        self._last: dict[int, tuple[Numbers, Numbers, int]] = {}
        self._stored: dict[int, Numbers] = {}  # when each thread did each store last
        self._loads: list[tuple[int, Accesses]] = []
        self._results: list[Accesses] = []
        self._kept: list[Accesses] = []
        self.keeping = set[int]()  # the loads whose values are kept
        self.at_once = 1  # samples that a thread loads at once, at most
        self.unit = 1  # bytes of a value in shared memory

    def note(self, access: Access) -> None:
        """Note an access of some threads."""
        segment, number, size = access.segment, access.instruction.number, access.size
        threads = access.active.slots
        offsets = np.broadcast_to(access.offsets.view(np.int64), threads.shape)
        self._now += 1
        if segment.array is self._source.values:
            self._load(number, threads, offsets // self._source.values.itemsize, size)
        elif access.effect == "read":
            self._others.add(number)
        elif segment.array is self._result.values:
            itemsize = self._result.values.itemsize
            self._results.append(self._samples(threads, offsets // itemsize, size // itemsize))
        elif segment.space == "shared":
            self._keep(access, threads, offsets)

    def _samples(self, threads: Numbers, first: Numbers, count: int) -> Accesses:
        samples = (first[:, None] + np.arange(count)).reshape(-1)
        return Accesses(np.repeat(threads, count), samples, np.full(len(samples), self._now), samples)

    def _load(self, number: int, threads: Numbers, first: Numbers, size: int) -> None:
        count = size // self._source.values.itemsize
        self.at_once = max(self.at_once, count)
        never = np.full(self._threads, -1), np.zeros(self._threads, np.int64), count
        times, firsts, _ = self._last.setdefault(number, never)
        times[threads], firsts[threads] = self._now, first
        self._loads.append((number, self._samples(threads, first, count)))

    def _keep(self, access: Access, threads: Numbers, offsets: Numbers) -> None:
        number = access.instruction.number
        if access.effect == "copy":
            values = [[Origin(number, 0, 1, at)] for at in range(access.size // self._source.values.itemsize)]
        else:
            values = self._origins[number]
        loads = {origin.load for origins in values for origin in origins}
        if loads & self._others:
            return
        self.keeping |= loads
        self.unit = access.size // len(values)
        stored = self._stored.setdefault(number, np.full(self._threads, -1))
        for at, origins in enumerate(values):
            # The load that came last, since the thread stored here before.
            latest, samples = stored[threads], np.full(len(threads), NOT_OF_PICTURE)
            for origin in origins:
                if origin.load in self._last:
                    times, firsts, count = self._last[origin.load]
                    each = max(1, count // origin.registers)
                    is_later = times[threads] > latest
                    latest = np.where(is_later, times[threads], latest)
                    own = firsts[threads] + origin.register * each + origin.turn % each
                    samples = np.where(is_later, own, samples)
            times = np.full(len(threads), self._now)
            self._kept.append(Accesses(threads, samples, times, offsets + at * self.unit))
        stored[threads] = self._now

    @property
    def kept(self) -> Accesses:
        """What is kept, in the order of the stores."""
        return _joined(self._kept)

    @property
    def direct(self) -> Accesses:
        """The loads of what is not kept."""
        return _joined([one for number, one in self._loads if number not in self.keeping])

    @property
    def results(self) -> Accesses:
        """The stores of results."""
        return _joined(self._results)


def _joined(parts: list[Accesses]) -> Accesses:
    none = Accesses(*(np.zeros(0, np.int64),) * 4)
    return Accesses(*map(np.concatenate, zip(none, *parts, strict=True)))
