"""Why a variant or a block cannot do something, as data and as an error."""

from dataclasses import dataclass, replace

from engine.errors import EngineError
from engine.geometry.block import Block
from engine.reason import Reason


@dataclass(frozen=True, slots=True)
class Refusal(Reason):
    """Why something cannot be done, and the nearest legal block if the block is the reason."""

    nearest_block: Block | None = None

    @classmethod
    def of(cls, reason: Reason) -> "Refusal":
        """Return a reason as a refusal."""
        if isinstance(reason, Refusal):
            return reason
        return cls(reason.code, reason.short, reason.detail, reason.remedy)

    def nearest(self, block: Block | None) -> "Refusal":
        """Return the same refusal with the nearest legal block, None where there is none."""
        remedy = self.remedy if block is None else f"The nearest legal block is {block}."
        return replace(self, remedy=remedy, nearest_block=block)


class UnsupportedVariant(EngineError):
    """A variant cannot compute this; where the block is the reason, `nearest_block` is a legal one."""

    is_refusal = True
    is_about_run = True

    def __init__(self, what: str, refusal: Refusal) -> None:
        super().__init__(what, refusal.sentence, refusal.remedy)
        self.args = (what, refusal)
        self.refusal = refusal

    @property
    def nearest_block(self) -> Block | None:
        """A legal block; None where the block is not the reason."""
        return self.refusal.nearest_block

    @property
    def reason(self) -> Refusal:
        """Why the variant cannot do it."""
        return self.refusal
