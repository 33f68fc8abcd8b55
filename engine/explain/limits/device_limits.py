"""The limits of a device, in units per second: what was measured, beside the theoretical values. No Numba."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, NamedTuple


class Limit(NamedTuple):
    """What a device does per second at most."""

    measured: float
    theoretical: float | None = None  # None where nothing that the driver states gives it


@dataclass(frozen=True, slots=True)
class DeviceLimits:
    """The limits of a CPU or a GPU; None where a device has no such part.

    A multiply-add counts once. Rates of a GPU are those of all its multiprocessors together, rates of a CPU
    those of all cores that this process may use.
    """

    device: str
    copy_bytes_per_s: Limit
    """Bytes read and bytes written, together, in memory outside the caches."""
    l2_bytes_per_s: Limit
    """GPU: bytes read from L2. CPU: bytes read and written within the cache of each core."""
    multiply_adds_per_s: Limit
    """Of float32."""
    core_multiply_adds_per_s: Limit | None = None
    """CPU: of one core while the others are idle."""
    shared_bytes_per_s: Limit | None = None
    """GPU: bytes read from shared memory without bank conflicts."""
    integer_operations_per_s: Limit | None = None
    """GPU: additions and bitwise operations of int32."""
    integer_multiply_adds_per_s: Limit | None = None
    """GPU: of int32."""
    instructions_per_s: Limit | None = None
    """GPU: instructions issued, each for the 32 threads of a warp."""
    int8_tensor_multiply_adds_per_s: Limit | None = None
    """GPU: of int8 into int32 by `mma.sync`."""
    float16_tensor_multiply_adds_per_s: Limit | None = None
    """GPU: of float16 into float32 by `mma.sync`."""
    cores: int = 0
    """CPU: cores that this process may use."""
    vector_bits: int = 0
    """CPU: width of the widest vectors that its code uses."""

    def rates(self) -> Iterator[tuple[str, Limit]]:
        """Yield the name and the value of each limit that the device has."""
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, Limit):
                yield field.name, value

    def as_json(self) -> dict[str, Any]:
        """Return the limits as plain data for JSON."""
        return asdict(self) | {name: value._asdict() for name, value in self.rates()}

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> "DeviceLimits":
        """Return the limits that `as_json` wrote."""
        known = {field.name for field in fields(cls)}
        values = {name: value for name, value in document.items() if name in known}
        return cls(
            **{name: Limit(**value) if isinstance(value, dict) else value for name, value in values.items()}
        )
