"""A judged kernel, whatever it is written in: its PTX, its parameters by name, and how it is launched."""

from dataclasses import dataclass

from engine.errors import EngineError
from engine.judging.header import Header

ARRAYS = ("image", "mask", "out")
NUMBERS = ("width", "height", "mask_width", "mask_height", "channels")
NAMES = (*ARRAYS, *NUMBERS, "border_value")
"""The names of parameters that are known."""
EXPECTED = f"Its parameters are known by their names, in any order: {', '.join(NAMES)}."


class NotJudged(EngineError):
    """A kernel that cannot be judged: it does not compile, or is none."""

    code = "refused"
    is_refusal = True

    def __init__(self, what: str, why: str = "", remedy: str = "", line: int = 0) -> None:
        super().__init__(what, why, remedy)
        self.line = line


@dataclass(frozen=True, eq=False)
class JudgedKernel:
    """A kernel that can be launched.

    `parameters` are names in the kernel's order; `is_numba` says whether arrays are passed with their shapes.
    """

    name: str
    ptx: str
    entry: str
    parameters: tuple[str, ...]
    header: Header
    dtype: str  # of the picture
    result_dtype: str
    is_numba: bool = False


def checked_parameters(name: str, parameters: tuple[str, ...]) -> None:
    """Refuse a kernel with parameters that are not known, or without a picture or a result."""
    for one in parameters:
        if one not in NAMES:
            raise NotJudged(f"the kernel {name}", f"its parameter {one} is not known", EXPECTED)
    for one in ("image", "out"):
        if one not in parameters:
            raise NotJudged(f"the kernel {name}", f"it has no parameter {one}", EXPECTED)
    if len({*parameters}) != len(parameters):
        raise NotJudged(f"the kernel {name}", "two of its parameters have one name", EXPECTED)


def only_one(found: list[str], wanted: str | None) -> str:
    """Return the name of the kernel that is judged; `wanted` chooses among several."""
    if wanted is not None:
        if wanted not in found:
            known = ", ".join(found) or "none"
            raise NotJudged(f"the function {wanted}", f"the file has the kernels: {known}")
        return wanted
    if not found:
        remedy = 'A kernel is `extern "C" __global__ void name(...)`, or a Python function under `@cuda.jit`.'
        raise NotJudged("the file", "it has no kernel", remedy)
    if len(found) > 1:
        remedy = "Name one of them (--function NAME); a filter in two kernels is not judged as a whole."
        raise NotJudged("the file", f"it has {len(found)} kernels: {', '.join(found)}", remedy)
    return found[0]
