"""`auto`: chooses a variant, and says why. It never hides which one ran."""

from dataclasses import dataclass

from engine.variants.contract import DeviceKind


@dataclass(frozen=True, slots=True)
class Choice:
    """The variant that `auto` stands for now, and the reason in words."""

    key: str
    reason: str
