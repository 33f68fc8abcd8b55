"""What the interpreter refuses, in words."""

from engine.errors import EngineError
from engine.ptx.module import NOWHERE, SourceLine


class PtxError(EngineError):
    """PTX that cannot be read or run: what is not known is named, never guessed."""

    code = "ptx"
    is_refusal = True

    def __init__(self, what: str, why: str = "", remedy: str = "", line: SourceLine = NOWHERE) -> None:
        super().__init__(what, why, remedy)
        self.line = line.own.line

    def at(self, line: SourceLine) -> "PtxError":
        """Return it with the line of the source, where it has none yet."""
        if self.line or not line.line:
            return self
        return PtxError(f"{self.what} ({place_of(line)})", self.why, self.remedy, line)


def place_of(line: SourceLine) -> str:
    """Return a line of the source in words: `line 3 of tiled.cu`."""
    return f"line {line.own.line} of {line.own.file.rpartition('/')[2] or 'the source'}"
