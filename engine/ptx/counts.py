"""What a launch executes and asks of memory: for each instruction, each line of the source, and in all.

A request is one instruction of one warp. Global memory serves it by sectors of 32 bytes, in lines of 128
bytes; shared memory in wavefronts, in each of which every bank gives one word; constant memory word by word.
"""

from collections import defaultdict
from dataclasses import dataclass, fields
from typing import NamedTuple

import numpy as np

from engine.ptx.active import WARP, Active, Numbers
from engine.ptx.memory import Segment
from engine.ptx.module import Instruction, SourceLine


@dataclass(slots=True)
class Requests:
    """Requests to memory and what they take; 0 where a kind of memory knows no such thing."""

    requests: int = 0
    bytes: int = 0  # that threads ask for, each for itself
    sectors: int = 0  # global and local memory: 32 bytes, each once per request
    lines: int = 0  # the same of 128 bytes
    wavefronts: int = 0  # shared memory: passes over the banks; constant memory: different words

    def add(self, other: "Requests") -> None:
        """Add another one's numbers."""
        for one in fields(self):
            setattr(self, one.name, getattr(self, one.name) + getattr(other, one.name))


class AccessKey(NamedTuple):
    """Which requests are counted together."""

    number: int  # of the instruction in the program
    space: str  # "global", "shared", "local" or "const"
    kind: str  # "loads", "stores", "copies" or "atomics"
    array: str


class Counts:
    """The counts of a launch; chunk after chunk is added."""

    def __init__(self, instructions: list[Instruction]) -> None:
        self.instructions = instructions
        self.block_runs: dict[int, list[int]] = defaultdict(lambda: [0, 0])
        self.accesses: dict[AccessKey, Requests] = defaultdict(Requests)
        self.touched: dict[str, np.ndarray] = {}
        self.block_sectors: dict[str, int] = defaultdict(int)
        self._of_blocks: dict[str, list[Numbers]] = defaultdict(list)
        self.barriers = 0

    def ran(self, block: int, active: Active) -> None:
        """Count that threads ran a basic block."""
        runs = self.block_runs[block]
        runs[0] += active.warps
        runs[1] += active.count

    def access(
        self, number: int, kind: str, segment: Segment, active: Active, offsets: Numbers, size: int
    ) -> None:
        """Count a request of each warp: `size` bytes from each offset within the memory of its owner."""
        counted = self.accesses[AccessKey(number, segment.space, kind, segment.name)]
        counted.requests += active.warps
        counted.bytes += size * active.count
        if segment.space == "global":
            sectors, lines, numbers = active.sectors(offsets)
            counted.sectors += sectors
            counted.lines += lines
            self._touch(segment, active, offsets >> 5, numbers)
        elif segment.space == "shared":
            counted.wavefronts += active.wavefronts(offsets, size)
        elif segment.space == "const":
            counted.wavefronts += active.different_words(offsets)
        else:
            # Words of one number lie side by side for the threads of a warp.
            words = max(1, size >> 2)
            counted.sectors += words * -(-active.count // 8)
            counted.lines += words * active.warps

    def _touch(self, segment: Segment, active: Active, of_threads: Numbers, numbers: Numbers) -> None:
        touched = self.touched.get(segment.name)
        if touched is None:
            touched = self.touched[segment.name] = np.zeros(len(segment.data) // 32 + 2, bool)
        touched[numbers] = True
        keys = active.blocks * len(touched) + of_threads
        self._of_blocks[segment.name].append(keys[np.concatenate(([True], keys[1:] != keys[:-1]))])
        if len(self._of_blocks[segment.name]) > 64:
            self._of_blocks[segment.name] = [np.unique(np.concatenate(self._of_blocks[segment.name]))]

    def end_chunk(self) -> None:
        """Count the sectors that each block of the chunk asked for, once per block and array."""
        for name, keys in self._of_blocks.items():
            self.block_sectors[name] += len(np.unique(np.concatenate(keys)))
        self._of_blocks.clear()

    @property
    def launch_sectors(self) -> dict[str, int]:
        """Sectors of each array that any block asked for, each once."""
        return {name: int(np.count_nonzero(touched)) for name, touched in self.touched.items()}

    def total(self, space: str, kind: str) -> Requests:
        """Return the requests of one kind in one memory."""
        found = Requests()
        for key, requests in self.accesses.items():
            if key.space == space and key.kind == kind:
                found.add(requests)
        return found

    def by_line(self) -> dict[SourceLine, dict[tuple[str, str], Requests]]:
        """Return the requests of each line of the source, by memory and kind."""
        found: dict[SourceLine, dict[tuple[str, str], Requests]] = defaultdict(lambda: defaultdict(Requests))
        for key, requests in self.accesses.items():
            found[self.instructions[key.number].line][key.space, key.kind].add(requests)
        return found


def idle_lanes(warps: int, threads: int) -> int:
    """Return the lanes that took no part when warps executed with so many threads."""
    return warps * WARP - threads
