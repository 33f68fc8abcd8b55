"""A judged kernel, whatever it is written in: its PTX, its parameters by name, and how it is launched.

A file says that in comments at its top: `// block: 32 8`, `# border: replicate`.
"""

import re
from dataclasses import dataclass, replace

from engine.errors import BadValue, EngineError
from engine.geometry.border import Border
from engine.ptx.launch import MOST_THREADS_PER_BLOCK
from engine.ptx.machine import MOST_SHARED

MOST_MASK_SIDE = 31
DTYPES = ("float32", "uint8")
_LINE = re.compile(r"\s*(?://|#)\s*(block|results|mask|border|shared|type)\s*:\s*(.*?)\s*")
# The first declaration: words behind it are the author's own.
_CODE = re.compile(r"\s*(?:@|(?:extern|template|struct|class|static|const|constexpr|using|__\w+__|def)\b)")


@dataclass(frozen=True)
class Header:
    """How a kernel is launched.

    Parameters
    ----------
    block : tuple of int
        Threads of a block along x, y, z.
    results : tuple of int or None
        Results of a block along x and y; None: one for each thread.
    mask : tuple of int or None
        Columns and rows of the one mask that the kernel takes; None: any odd ones up to 9 x 9.
    border : Border
    shared : int
        Bytes of dynamic shared memory.
    dtype, result_dtype : str
        Sample types of the picture and of the result: float32 or uint8. CUDA C says them in its parameters.
    """

    block: tuple[int, int, int] = (16, 16, 1)
    results: tuple[int, int] | None = None
    mask: tuple[int, int] | None = None
    border: Border = Border.ZERO
    shared: int = 0
    dtype: str = "float32"
    result_dtype: str = "float32"

    @property
    def block_results(self) -> tuple[int, int]:
        """Results of a block along x and y."""
        return self.results or (self.block[0], self.block[1] * self.block[2])


def header_of(text: str) -> Header:
    """Return what the comment lines of a source say; raises NotJudged for a value that cannot be."""
    header = Header()
    for number, line in enumerate(text.splitlines(), start=1):
        if _CODE.match(line):
            break
        if found := _LINE.fullmatch(line):
            try:
                header = _with(header, found[1], found[2])
            except EngineError as error:
                raise NotJudged(error.what, error.why, error.remedy, number) from error
    return header


def _with(header: Header, name: str, value: str) -> Header:
    what = f"the header '{name}: {value}'"
    if name == "border":
        # An unknown one is refused with all that there are.
        return replace(header, border=Border.named(value))
    if name == "type":
        dtypes = value.split()
        if not 1 <= len(dtypes) <= 2 or not {*dtypes} <= {*DTYPES}:
            remedy = "Write `type: uint8`, `type: uint8 uint8` for a result of bytes, or nothing."
            raise BadValue(what, "pictures and results are float32 or uint8", remedy)
        return replace(header, dtype=dtypes[0], result_dtype=(*dtypes, "float32")[1])
    if not re.fullmatch(r"\d{1,6}([ ,x×]+\d{1,6}){0,2}", value):
        raise BadValue(what, "it needs whole numbers, as in 'block: 32 8'")
    numbers = [int(one) for one in re.findall(r"\d+", value)]
    if len(numbers) > (most := {"block": 3, "shared": 1}.get(name, 2)):
        raise BadValue(what, f"of its {len(numbers)} numbers {most} would be used")
    if name == "shared":
        if numbers[0] > MOST_SHARED:
            raise BadValue(what, f"a block has at most {MOST_SHARED:,} bytes of shared memory")
        return replace(header, shared=numbers[0])
    if min(numbers) < 1:
        raise BadValue(what, "a side is at least 1")
    x, y, z = (*numbers, 1, 1)[:3]
    if name == "block":
        if x * y * z > MOST_THREADS_PER_BLOCK:
            raise BadValue(what, f"a block has at most {MOST_THREADS_PER_BLOCK:,} threads")
        return replace(header, block=(x, y, z))
    if name == "results":
        return replace(header, results=(x, y))
    if len(numbers) < 2:
        y = x
    if not (x % 2 and y % 2) or max(x, y) > MOST_MASK_SIDE:
        why = (
            f"both sides of a mask are odd here, so that one cell lies in its middle, up to {MOST_MASK_SIDE}"
        )
        raise BadValue(what, why)
    return replace(header, mask=(x, y))


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
    parameters: tuple[str, ...]
    header: Header
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
