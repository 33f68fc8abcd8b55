"""What is done of a large picture, as the journal of its part has it, and the proofs of all bands."""

import os
from dataclasses import asdict, dataclass, field
from pathlib import Path

from engine.files.reading import Json
from engine.image.result_picture import Loss
from engine.verify.verification import Verification
from engine.work.filtering.clipping import Clipped


@dataclass(slots=True)
class Proof:
    """The proofs of all bands together."""

    checked: int = 0
    error: float = 0.0
    bound: float = 0.0
    exact: bool = True
    in_steps: bool = False
    chosen: str = ""  # how the pixels of a band were chosen where not all were checked
    undecided: int = 0
    unproven: int = 0
    reason: str = ""  # of the first band whose bound proves nothing

    def add(self, found: Verification) -> None:
        """Add the proof of a band."""
        self.checked += found.checked_pixels
        self.exact = bool(self.exact and found.exact)
        self.in_steps = found.in_steps
        self.chosen = found.chosen or self.chosen
        self.undecided += found.undecided
        self.unproven += found.unproven_samples
        self.reason = self.reason or found.reason
        if found.max_error > self.error:
            self.error, self.bound = float(found.max_error), float(found.bound)

    def whole(self, pixels: int) -> Verification:
        """Return the proof of the picture."""
        return Verification(
            not self.reason,
            self.error,
            self.bound,
            self.checked,
            pixels,
            self.exact,
            self.reason,
            self.in_steps,
            self.undecided,
            f"in each band {self.chosen}" if self.chosen else "",
            unproven_samples=self.unproven,
        )


@dataclass(slots=True)
class State:
    """What is done of a result, as its journal has it."""

    rows: int = 0
    proof: Proof = field(default_factory=Proof)
    loss: Loss = field(default_factory=Loss)
    ends: list[float] | None = None
    # Rows whose values are below black and above white, by the share of each band.
    clipped: list[float] = field(default_factory=lambda: [0.0, 0.0])
    # The level of the pyramid that is being written; 0: the full size.
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

    def as_json(self) -> Json:
        """Return it as plain data; errors as text, as they may be infinite."""
        document = asdict(self)
        document["proof"] |= {"error": repr(self.proof.error), "bound": repr(self.proof.bound)}
        return document

    @classmethod
    def read(cls, done: Json) -> "State":
        """Return what a journal says; raises TypeError, KeyError, ValueError."""
        state = cls(**done)
        state.loss = Loss(**done["loss"])
        proof = dict(done["proof"])
        state.proof = Proof(**proof | {"error": float(proof["error"]), "bound": float(proof["bound"])})
        return state


def identity_of(path: Path) -> Json:
    """Return what changes with a file: its name, size and time; of a store those of its metadata."""
    files = [path]
    if path.is_dir():
        names = ("zarr.json", ".zarray", ".zattrs", ".zgroup")
        files = [child for name in names for child in (path / name, path / "0" / name) if child.exists()]
    facts = [(os.path.realpath(file), file.stat().st_size, file.stat().st_mtime_ns) for file in files]
    return {"files": [list(fact) for fact in facts]}
