"""What is done of a large picture, as the journal of its part has it, and the proofs of all bands."""

from dataclasses import asdict, dataclass, field
from typing import Any

from engine.image.result_picture import Loss
from engine.tasks.filtering.clipping import Clipped
from engine.verify.verification import Verification


@dataclass(slots=True)
class Proof:
    """The proofs of all bands together."""

    checked: int = 0
    error: float = 0.0
    bound: float = 0.0
    exact: bool = True
    in_steps: bool = False

    def add(self, found: Verification) -> None:
        """Add the proof of a band."""
        self.checked += found.checked_pixels
        self.exact = bool(self.exact and found.exact)
        self.in_steps = found.in_steps
        if found.max_error > self.error:
            self.error, self.bound = float(found.max_error), float(found.bound)

    def whole(self, pixels: int) -> Verification:
        """Return the proof of the picture."""
        return Verification(True, self.error, self.bound, self.checked, pixels, self.exact, "", self.in_steps)


@dataclass(slots=True)
class State:
    """What is done of a result, as its journal has it."""

    rows: int = 0
    file: dict[str, Any] | None = None
    proof: Proof = field(default_factory=Proof)
    loss: Loss = field(default_factory=Loss)
    ends: list[float] | None = None
    # Rows whose values are below black and above white, by the share of each band.
    clipped: list[float] = field(default_factory=lambda: [0.0, 0.0])
    # The level of the pyramid that is being written.
    level: int = 0

    def add(self, rows: int, proof: Verification | None, loss: Loss, clipped: Clipped) -> None:
        """Add what was found of a band of so many rows."""
        self.clipped = [
            before + rows * share
            for before, share in zip(self.clipped, (clipped.below, clipped.above), strict=True)
        ]
        if proof is not None:
            self.proof.add(proof)
        self.loss.merge(loss)

    def as_json(self) -> dict[str, Any]:
        """Return it as plain data; errors as text, as they may be infinite."""
        document = asdict(self)
        document["proof"] |= {"error": repr(self.proof.error), "bound": repr(self.proof.bound)}
        return document

    @classmethod
    def read(cls, done: dict[str, Any]) -> "State":
        """Return what a journal says; raises TypeError, KeyError, ValueError."""
        state = cls(**done)
        state.loss = Loss(**done["loss"])
        proof = dict(done["proof"])
        state.proof = Proof(**proof | {"error": float(proof["error"]), "bound": float(proof["bound"])})
        return state
