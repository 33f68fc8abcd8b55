"""Kernels of CUDA C: compiled by NVRTC, which needs no driver and no GPU.

A file reaches nothing of the host: it is compiled and interpreted, never run, and includes only the headers
that come with CUDA.
"""

import importlib.util
import re
from functools import cache
from pathlib import Path

from engine.judging.header import Header
from engine.judging.source import EXPECTED, JudgedKernel, NotJudged, checked_parameters, only_one

CAPABILITY = "compute_80"
MOST_BYTES = 1 << 20
_INCLUDE = re.compile(
    r"^[ \t]*(?:#|%:|\?\?=)[ \t]*(?:include|include_next|import|embed)\b(.*)$", re.MULTILINE
)
_HEADER = re.compile(r"\s*<\s*[A-Za-z][\w./]*\s*>\s*")
_KERNEL = re.compile(
    r'extern\s+"C"\s+(?:\{\s*)?(?:static\s+)?__global__\s+(?:__launch_bounds__\s*\([^)]*\)\s*)?void\s+'
    r"(?:__launch_bounds__\s*\([^)]*\)\s*)?(\w+)\s*\(([^)]*)\)"
)
_ANY_KERNEL = re.compile(r"__global__\s+(?:__launch_bounds__\s*\([^)]*\)\s*)?void\s+(\w+)")
_ERROR = re.compile(r"judged\.cu\((\d+)\): (?:catastrophic )?error(?:[^:]*): (.*)")
_QUALIFIERS = re.compile(r"\b(const|volatile|restrict|__restrict__|__restrict|__grid_constant__)\b")
_ARRAY_TYPES = {
    "float": "float32",
    "unsigned char": "uint8",
    "uint8_t": "uint8",
    "std::uint8_t": "uint8",
    "unsigned char int": "uint8",
}
_NUMBER_TYPES = {
    "int",
    "unsigned",
    "unsigned int",
    "long",
    "long long",
    "size_t",
    "unsigned long long",
    "short",
}
_INCLUDES = "*/include", "*/include/cccl", "*/cccl/include"
# What compilers print of a whole file is too much for a person.
MOST_ERRORS = 3


def judged_cuda_c(text: str, header: Header, function: str | None = None) -> JudgedKernel:
    """Return the kernel of a CUDA C source; raises NotJudged for what does not compile or is no filter."""
    if len(text) > MOST_BYTES:
        raise NotJudged("the file", f"it has more than {MOST_BYTES:,} characters")
    bare = _without_comments(text)
    for found in _INCLUDE.finditer(bare.replace("\\\n", "")):
        if not _HEADER.fullmatch(found[1]) or ".." in found[1]:
            line = bare.replace("\\\n", "").count("\n", 0, found.start()) + 1
            why = f"it includes {found[1].strip()}; only headers of CUDA in angle brackets are read"
            raise NotJudged("the file", why, line=line)
    declared = {found[1]: found[2] for found in _KERNEL.finditer(bare)}
    others = [name for name in _ANY_KERNEL.findall(bare) if name not in declared]
    if others and not declared:
        raise NotJudged("the file", f'the kernel {others[0]} is not declared extern "C"', EXPECTED)
    name = only_one([*declared, *others] if function is None else [*declared], function)
    ptx = compiled(text)
    parameters, dtypes = _parameters(name, declared[name])
    checked_parameters(name, parameters)
    return JudgedKernel(name, ptx, name, parameters, header, dtypes["image"], dtypes["out"])


def _without_comments(text: str) -> str:
    """Return a source with comments as spaces and every line in its place."""

    def blank(found: re.Match[str]) -> str:
        return found[0] if found[0][0] in "\"'" else re.sub(r"[^\n]", " ", found[0])

    return re.sub(
        r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', blank, text, flags=re.DOTALL
    )


def _parameters(name: str, declared: str) -> tuple[tuple[str, ...], dict[str, str]]:
    names, dtypes = [], {}
    for text in filter(None, (one.strip() for one in declared.split(","))):
        found = re.fullmatch(
            r"(.*?)(\w+)\s*(?:\[\s*\])?", " ".join(_QUALIFIERS.sub(" ", text).split()), re.DOTALL
        )
        if found is None:
            raise NotJudged(f"the kernel {name}", f"the parameter '{text}' is not understood", EXPECTED)
        kind, parameter = " ".join(found[1].replace("*", " * ").split()), found[2]
        names.append(parameter)
        if parameter in ("image", "mask", "out"):
            base = kind.removesuffix(" *")
            dtype = _ARRAY_TYPES.get(base) if kind.endswith(" *") else None
            if dtype is None or (parameter == "mask" and dtype != "float32"):
                wanted = "a pointer to float" + (" or unsigned char" if parameter != "mask" else "")
                raise NotJudged(f"the kernel {name}", f"its parameter {parameter} must be {wanted}", EXPECTED)
            dtypes[parameter] = dtype
        elif parameter == "border_value":
            if kind != "float":
                raise NotJudged(f"the kernel {name}", "its parameter border_value must be float", EXPECTED)
        elif kind not in _NUMBER_TYPES:
            raise NotJudged(f"the kernel {name}", f"its parameter {parameter} must be int", EXPECTED)
    return tuple(names), dtypes


def missing() -> str:
    """Return why CUDA C cannot be compiled here; empty where it can."""
    if importlib.util.find_spec("cuda") is None or importlib.util.find_spec("cuda.bindings") is None:
        return (
            "NVRTC, the compiler of CUDA C, is not installed (pip install 'haloscope[cuda]'; none for macOS)"
        )
    return ""


@cache
def _headers() -> list[str]:
    """Return the folders of CUDA's headers, from the packages of its compilers."""
    found = importlib.util.find_spec("nvidia")
    folders = [Path(one) for one in (found.submodule_search_locations or ())] if found is not None else []
    found_here = (one for folder in folders for shape in _INCLUDES for one in folder.glob(shape))
    wanted = sorted(found_here)
    return [f"--include-path={one}" for one in wanted if one.is_dir()]


def compiled(text: str) -> str:
    """Return the PTX of a CUDA C source with the lines of it; raises NotJudged with NVRTC's own words."""
    if why := missing():
        raise NotJudged("the file", why)
    from cuda.bindings import nvrtc

    status, program = nvrtc.nvrtcCreateProgram(text.encode(), b"judged.cu", 0, [], [])
    if int(status):
        raise NotJudged("the file", f"NVRTC cannot read it: {status.name}")
    options = [f"--gpu-architecture={CAPABILITY}", "-lineinfo", "--std=c++17", *_headers()]
    (status,) = nvrtc.nvrtcCompileProgram(program, len(options), [one.encode() for one in options])
    try:
        if int(status):
            _, size = nvrtc.nvrtcGetProgramLogSize(program)
            log = b" " * size
            nvrtc.nvrtcGetProgramLog(program, log)
            raise _refusal(log.decode(errors="replace").rstrip("\0"))
        _, size = nvrtc.nvrtcGetPTXSize(program)
        ptx = b" " * size
        nvrtc.nvrtcGetPTX(program, ptx)
        return str(ptx.decode()).rstrip("\0")
    finally:
        nvrtc.nvrtcDestroyProgram(program)


def _refusal(log: str) -> NotJudged:
    errors = _ERROR.findall(log)[:MOST_ERRORS]
    if not errors:
        return NotJudged("the file does not compile", " ".join(log.split())[:400])
    said = "; ".join(f"line {line}: {message.strip()}" for line, message in errors)
    return NotJudged("the file does not compile", said, line=int(errors[0][0]))
