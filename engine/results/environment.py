"""The machine and the versions behind a result."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Environment:
    """The machine and the versions behind a result; `bandwidth_gb_s` as in `DeviceInfo`."""

    device: str
    driver: str = ""
    clocks: str = ""
    versions: dict[str, str] = field(default_factory=dict)
    commit: str = ""
    bandwidth_gb_s: float | None = None
