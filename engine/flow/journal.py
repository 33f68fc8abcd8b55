"""What is done of a large picture, as the journal of its part has it."""

import os
from dataclasses import asdict, dataclass, field
from pathlib import Path

import msgspec

from engine.files.reading import Json
from engine.image.save import Loss
from engine.verify.verification import NOTHING, Verification
from engine.work.filtering.clipping import Clipped


@dataclass(slots=True)
class State:
    """What is done of a result, as its journal has it."""

    rows: int = 0
    proof: Verification = NOTHING  # of all bands
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
            self.proof = self.proof.joined(proof)
        self.loss.merge(loss)

    def as_json(self) -> Json:
        """Return it as plain data; errors as text, as they may be infinite."""
        document = asdict(self)
        document["proof"] |= {name: repr(document["proof"][name]) for name in ("max_error", "bound")}
        return document

    @classmethod
    def read(cls, done: Json) -> "State":
        """Return what a journal says; raises ValueError."""
        return msgspec.convert(done, cls, strict=False)


def identity_of(path: Path) -> Json:
    """Return what changes with a file: its name, size and time; of a store those of its metadata."""
    files = [path]
    if path.is_dir():
        names = ("zarr.json", ".zarray", ".zattrs", ".zgroup")
        files = [child for name in names for child in (path / name, path / "0" / name) if child.exists()]
    facts = [(os.path.realpath(file), file.stat().st_size, file.stat().st_mtime_ns) for file in files]
    return {"files": [list(fact) for fact in facts]}
