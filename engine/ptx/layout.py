"""What a launch is given: arrays, parameters and variables of the kernel, and where they lie in memory."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from engine.ptx.dependence import written_parameters
from engine.ptx.kernel import Kernel
from engine.ptx.memory import ARRAY_SHIFT, Array, Segment
from engine.ptx.module import PtxError, Variable

# What a block may have on any device, declared and with dynamic memory (CUDA C++ Programming Guide, "Compute
# Capabilities").
MOST_DECLARED_SHARED, MOST_SHARED = 48 * 1024, 227 * 1024
# Of a thread; a device allows more, which nobody's kernel is quick with.
MOST_LOCAL = 16 * 1024
# All variables of a module in global and constant memory.
MOST_STATIC = 1 << 26


class Layout:
    """Where a kernel's parameters, arrays and variables lie."""

    def __init__(
        self,
        kernel: Kernel,
        arguments: Sequence[object],
        constants: Mapping[str, np.ndarray],
        dynamic_shared: int,
        checks: bool,
    ) -> None:
        self._granule, self._checks = kernel.global_granule, checks
        self.segments: list[Segment] = []
        self.dynamic_shared = dynamic_shared
        if len(arguments) != len(kernel.parameters):
            why = f"it takes {len(kernel.parameters)} arguments, not {len(arguments)}"
            raise PtxError(f"a launch of {kernel.name}", why)
        pairs = [*zip(kernel.parameters, arguments, strict=True)]
        names = written_parameters(kernel) if checks else ()
        self._written = {id(one.values) for to, one in pairs if to.name in names and isinstance(one, Array)}
        self.parameters = {variable.name: self._parameter(variable, argument) for variable, argument in pairs}
        self._addresses: dict[str, int] = {}
        self.shared_bytes = self._lay_out_shared(kernel)
        static = [one for one in kernel.variables.values() if one.space in ("const", "global")]
        size = sum(one.size for one in static)
        _refuse_more(size, MOST_STATIC, "of variables in global and constant memory")
        for one in static:
            self._lay_out(one, constants.get(one.name))
        own = [one for one in kernel.code.variables.values() if one.space == "local"]
        self.local_bytes = self._one_after_another(own)
        _refuse_more(self.local_bytes, MOST_LOCAL, "of local memory for each thread")

    def _parameter(self, variable: Variable, argument: object) -> NDArray[np.uint8]:
        """Return the bytes of a parameter; an array is taken in."""
        if isinstance(argument, Array):
            values = argument.values
            memory = values if argument.around is None else argument.around
            segment = next((one for one in self.segments if one.array is values), None)
            if segment is None:
                segment = self._add(argument.name, memory)
                segment.array = values
                if self._checks:
                    granule, may_change = min(values.itemsize, self._granule), id(values) in self._written
                    segment.watch(granule, is_written=not argument.is_output, tracks_reads=may_change)
            argument = segment.base + values.ctypes.data - memory.ctypes.data
        return np.atleast_1d(np.array(argument).astype(variable.dtype)).view(np.uint8)

    def _add(self, name: str, values: np.ndarray, space: str = "global") -> Segment:
        data = values.reshape(-1).view(np.uint8)
        segment = Segment(name, space, data, (len(self.segments) + 1) << ARRAY_SHIFT, len(data))
        self.segments.append(segment)
        return segment

    def at(self, address: int) -> Segment | None:
        """Return the array that an address belongs to, as far as it lies within 2^39 of its beginning."""
        number = (address + (1 << (ARRAY_SHIFT - 1))) >> ARRAY_SHIFT
        return self.segments[number - 1] if 1 <= number <= len(self.segments) else None

    def _lay_out_shared(self, kernel: Kernel) -> int:
        """Lay out shared memory; dynamic memory begins behind what is declared."""
        shared = [one for one in kernel.variables.values() if one.space == "shared"]
        dynamic = [one for one in shared if one.extern and not one.size]
        declared = self._one_after_another([one for one in shared if one not in dynamic])
        _refuse_more(declared, MOST_DECLARED_SHARED, "of declared shared memory")
        for one in dynamic:
            declared = _aligned(declared, max(16, one.alignment))
        self._addresses |= {one.name: declared for one in dynamic}
        _refuse_more(declared + self.dynamic_shared, MOST_SHARED, "of shared memory")
        return declared + self.dynamic_shared

    def _one_after_another(self, variables: Sequence[Variable]) -> int:
        """Give variables addresses that count from the beginning of their window; return their bytes."""
        size = 0
        for one in variables:
            self._addresses[one.name] = _aligned(size, one.alignment)
            size = self._addresses[one.name] + one.size
        return size

    def _lay_out(self, variable: Variable, given: np.ndarray | None) -> None:
        """Lay out a variable in global or constant memory with what it holds at first."""
        if given is None:
            given = np.zeros(max(variable.size, 1), np.uint8)
            given[: len(variable.contents)] = np.frombuffer(variable.contents, np.uint8)
        segment = self._add(variable.name, np.ascontiguousarray(given), variable.space)
        self._addresses[variable.name] = segment.base
        if variable.space == "global" and self._checks:
            # As aligned as its granule, so that every place lies whole within it.
            segment.watch(min(len(segment.data) & -len(segment.data), self._granule), is_written=True)

    def address_of(self, name: str) -> int:
        """Return the address of a variable."""
        try:
            return self._addresses[name]
        except KeyError:
            raise PtxError(f"the address of {name}", "a parameter's own address is not known") from None


def _aligned(address: int, alignment: int) -> int:
    return -(-address // alignment) * alignment


def _refuse_more(size: int, most: int, what: str) -> None:
    if size > most:
        raise PtxError("the launch", f"it has {size:,} bytes {what}; {most:,} are possible")
