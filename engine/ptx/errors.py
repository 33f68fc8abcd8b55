"""What the interpreter refuses, in words."""

from engine.errors import EngineError


class PtxError(EngineError):
    """PTX that cannot be read or run: what is not known is named, never guessed."""

    code = "ptx"
    is_refusal = True
