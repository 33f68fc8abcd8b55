"""What a launch is given: arrays, parameters and variables of the kernel, and where they lie in memory."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.ptx.errors import PtxError
from engine.ptx.hazards import Hazards
from engine.ptx.inline import local_memory
from engine.ptx.kernel import KernelFacts
from engine.ptx.memory import Array, GlobalMemory, Segment
from engine.ptx.module import Variable
from engine.ptx.types import DTYPES

# What a block may have on any device, declared and with dynamic memory (CUDA C++ Programming Guide, "Compute
# Capabilities").
MOST_DECLARED_SHARED, MOST_SHARED = 48 * 1024, 227 * 1024
# Of a thread; a device allows more, which nobody's kernel is quick with.
MOST_LOCAL = 16 * 1024
# All variables of a module in global and constant memory.
MOST_STATIC = 1 << 26


class Layout:
    """Where a kernel's parameters, arrays and variables lie.

    Parameters
    ----------
    tracked : set of str
        The arrays whose reads are noted, beside their writes.
    """

    def __init__(
        self,
        kernel: KernelFacts,
        arguments: Sequence[Any],
        constants: Mapping[str, np.ndarray],
        dynamic_shared: int,
        checks: bool,
        tracked: set[str],
    ) -> None:
        self._kernel, self._checks, self._tracked = kernel, checks, tracked
        self._saved: dict[str, NDArray[np.uint8]] = {}
        self.memory = GlobalMemory()
        self.dynamic_shared = dynamic_shared
        self._arrays: dict[int, Segment] = {}
        self._itemsizes: dict[str, int] = {}
        self.parameters = self._parameters(arguments)
        self.shared_bytes = self.local_bytes = 0
        self._addresses = self._lay_out(constants)

    def _parameters(self, arguments: Sequence[Any]) -> dict[str, tuple[int, Any]]:
        function = self._kernel.function
        if len(arguments) != len(function.parameters):
            why = f"it takes {len(function.parameters)} arguments, not {len(arguments)}"
            raise PtxError(f"a launch of {function.name}", why)
        found = {}
        pairs = zip(function.parameters, function.parameter_types, arguments, strict=True)
        for number, (variable, kind, argument) in enumerate(pairs):
            dtype = DTYPES[kind]
            if isinstance(argument, Array):
                if id(argument.values) not in self._arrays:
                    memory = argument.values if argument.around is None else argument.around
                    segment = self.memory.add(argument.name, memory)
                    self._arrays[id(argument.values)] = segment
                    self._itemsizes[argument.name] = argument.values.itemsize
                    self._watch(segment, argument.values.itemsize, argument.is_output)
                begin = 0
                if argument.around is not None:
                    begin = argument.values.ctypes.data - argument.around.ctypes.data
                argument = self._arrays[id(argument.values)].base + begin
            if isinstance(argument, bytes):
                data = np.frombuffer(argument.ljust(variable.size, b"\0"), np.uint8)
            else:
                data = np.atleast_1d(np.array(argument).astype(dtype)).view(np.uint8)
            found[variable.name] = (number, data)
        return found

    def _watch(self, segment: Segment, itemsize: int, is_output: bool) -> None:
        if self._checks:
            segment.granule = min(itemsize, self._kernel.global_granule, 4).bit_length() - 1
            segment.hazards = Hazards(
                len(segment.data) >> segment.granule,
                is_written=not is_output,
                knows_warps=self._kernel.knows_warps,
                among_blocks=True,
            )
            segment.hazards.tracks_reads = segment.name in self._tracked

    def _lay_out(self, constants: Mapping[str, np.ndarray]) -> dict[str, int]:
        """Return the address of each variable; shared and local ones count from the window's beginning."""
        addresses: dict[str, int] = {}
        shared = static = 0
        variables = self._kernel.variables
        dynamic = []
        for name, one in variables.items():
            if one.space == "shared" and one.extern and not one.size:
                dynamic.append(one)
            elif one.space == "shared":
                shared = -(-shared // one.alignment) * one.alignment
                addresses[name] = shared
                shared += one.size
            elif one.space in ("const", "global"):
                static += one.size
                _refuse_more(static, MOST_STATIC, "of variables in global and constant memory")
                segment = self.memory.add(name, _contents(one, constants.get(name)), one.space)
                addresses[name] = segment.base
                if one.space == "global":
                    # As aligned as its granule, so that every place lies whole within it.
                    self._watch(segment, len(segment.data) & -len(segment.data), False)
        _refuse_more(shared, MOST_DECLARED_SHARED, "of declared shared memory")
        for one in dynamic:
            shared = -(-shared // max(16, one.alignment)) * max(16, one.alignment)
        addresses |= {one.name: shared for one in dynamic}
        self.shared_bytes = shared + self.dynamic_shared
        _refuse_more(self.shared_bytes, MOST_SHARED, "of shared memory")
        local = 0
        for name, one in local_memory(self._kernel.function).items():
            local = -(-local // one.alignment) * one.alignment
            addresses[name] = local
            local += one.size
        self.local_bytes = local
        _refuse_more(local, MOST_LOCAL, "of local memory for each thread")
        return addresses

    def address_of(self, name: str) -> int:
        """Return the address of a variable."""
        try:
            return self._addresses[name]
        except KeyError:
            raise PtxError(f"the address of {name}", "a parameter's own address is not known") from None

    def save(self, segment: Segment) -> None:
        """Keep what an array holds before its first write."""
        if segment.name not in self._saved:
            self._saved[segment.name] = segment.data.copy()

    def restore(self) -> None:
        """Give arrays back what they held before the launch."""
        for segment in self.memory.segments:
            if segment.name in self._saved:
                segment.data[:] = self._saved[segment.name]

    def segment_of(self, array: Array) -> Segment:
        """Return where an array lies."""
        return self._arrays[id(array.values)]

    def written(self, array: Array) -> NDArray[np.bool_]:
        """Return which values of an array were written, for one that is an output."""
        segment = self._arrays[id(array.values)]
        hazards = segment.hazards
        if hazards is None or hazards.written is None:
            raise ValueError(f"{array.name} is no output that was checked")
        each = array.values.itemsize >> segment.granule
        found: NDArray[np.bool_] = hazards.written.reshape(-1, each).min(1).reshape(array.values.shape)
        return found

    def itemsize_of(self, name: str) -> int:
        """Return the bytes of a value of an array that the kernel was launched with."""
        return self._itemsizes[name]


def _refuse_more(size: int, most: int, what: str) -> None:
    if size > most:
        raise PtxError("the launch", f"it has {size:,} bytes {what}; {most:,} are possible")


def _contents(variable: Variable, given: np.ndarray | None) -> np.ndarray:
    """Return what a variable in global or constant memory holds at first."""
    if given is not None:
        return np.ascontiguousarray(given)
    found = np.zeros(max(variable.size, 1), np.uint8)
    found[: len(variable.contents)] = np.frombuffer(variable.contents, np.uint8)
    return found
