"""Kernels of CUDA C: compiled by NVRTC, which needs no driver and no GPU.

A file reaches nothing of the host: it is compiled and interpreted, never run, with CUDA's own headers alone.
"""

import importlib.util
import re
import subprocess
import sys
import time
from dataclasses import replace
from functools import cache
from pathlib import Path

from engine.judging.judgement import (
    EXPECTED,
    NUMBERS,
    Header,
    JudgedKernel,
    NotJudged,
    checked_parameters,
    only_one,
)
from engine.ptx.launch import Checkpoint

CAPABILITY = "compute_80"
MOST_BYTES = 1 << 20
# A line that goes on in the next one; `??/` is a backslash in old C.
_SPLICE = re.compile(r"(?:\\|\?\?/)[ \t\r\f\v]*\n")
# What makes the compiler read or look for a file, wherever it stands: a line's beginning is easily hidden.
_READS = re.compile(
    r"(?:(?:#|%:|\?\?=)\s*(?:include|include_next|import|embed)\b|\b__has_(?:include|include_next|embed)\b\s*\(?)"
    r"([^\n]*)"
)
_HEADER = re.compile(r"\s*<\s*[A-Za-z](?!\S*\.\.)[\w./]*\s*>.*")
_LITERAL = r'"(?:\\.|[^"\\\n])*"' + r"|'(?:\\.|[^'\\\n])*'"
_COMMENT_OR_LITERAL = re.compile(rf"//[^\n]*|/\*.*?\*/|{_LITERAL}", re.DOTALL)
# Words in parentheses, such as those of __launch_bounds__(16 * (4 + 4)).
_IN_PARENTHESES = r"\((?:[^()]|\([^()]*\))*\)"
_KERNEL = re.compile(
    rf"__global__\b(?:\s|\w+\s*{_IN_PARENTHESES}(?=\s*\w)|\w+(?=\s))*?\b(\w+)\s*\(([^()]*)\)\s*[{{;]"
)
_ERROR = re.compile(r"judged\.cu\((\d+)\): (?:catastrophic )?error(?:[^:]*): (.*)")
_QUALIFIERS = re.compile(r"\b(const|volatile|restrict|__restrict__|__restrict|__grid_constant__)\b")
_ARRAY_TYPES = {"float": "float32"} | dict.fromkeys(
    ("unsigned char", "uint8_t", "std::uint8_t", "unsigned char int"), "uint8"
)
_INTEGERS = {"int", "unsigned", "unsigned int", "long", "long long", "size_t", "unsigned long long", "short"}
_INCLUDES = "*/include", "*/include/cccl", "*/cccl/include"
# What compilers print of a whole file is too much for a person. `cooperative_groups.h` takes 4 s.
MOST_ERRORS, MOST_COMPILE_S, WAIT_S = 3, 15.0, 0.1
_COMPILER = Path(__file__).with_name("nvrtc_process.py")


def judged_cuda_c(
    text: str, header: Header, function: str | None = None, checkpoint: Checkpoint = lambda done: None
) -> JudgedKernel:
    """Return the kernel of a CUDA C source; raises NotJudged for what does not compile or is no filter."""
    _refuse_files(text)
    bare = _without_comments(text)
    declared = {kernel[1]: kernel[2] for kernel in _KERNEL.finditer(bare)}
    name = only_one([*declared], function)
    ptx = compiled(text, checkpoint)
    if not re.search(rf"\.entry\s+{re.escape(name)}\b", ptx):
        raise NotJudged("the file", f'the kernel {name} is not declared extern "C"', EXPECTED)
    parameters, dtypes = _parameters(name, declared[name])
    checked_parameters(name, parameters)
    header = replace(header, dtype=dtypes["image"], result_dtype=dtypes["out"])
    return JudgedKernel(name, ptx, parameters, header)


def _refuse_files(text: str) -> None:
    if re.search(r'\bR"[^\s()\\"]{0,16}\(|\b(?:u8|[uUL])R"', text):
        raise NotJudged("the file", 'it has a raw string, R"...", which no kernel needs')
    bare = _without_comments(text)
    # A quote without its pair: what is a comment and what is not is unknown, so comments count as code.
    is_clear = not re.search("[\"']", re.sub(_LITERAL, "", bare))
    for one in (bare,) if is_clear else (bare, text):
        for joined in (_SPLICE.sub("", one), one):
            for directive in _READS.finditer(joined):
                if not _HEADER.fullmatch(directive[1]):
                    what = directive[1].strip()[:60]
                    why = f"it includes {what}; only headers of CUDA in angle brackets are read"
                    raise NotJudged("the file", why, line=joined.count("\n", 0, directive.start()) + 1)


def _without_comments(text: str) -> str:
    # As spaces: every line stays in its place.
    def blank(part: re.Match[str]) -> str:
        return part[0] if part[0][0] in "\"'" else re.sub(r"[^\n]", " ", part[0])

    return _COMMENT_OR_LITERAL.sub(blank, text)


def _parameters(name: str, declared: str) -> tuple[tuple[str, ...], dict[str, str]]:
    names, dtypes = [], {}
    for text in filter(None, (one.strip() for one in declared.split(","))):
        bare = " ".join(_QUALIFIERS.sub(" ", text).split())
        parts = re.fullmatch(r"(.*?)(\w+)\s*(\[[^\]]*\])?", bare, re.DOTALL)
        if parts is None:
            raise NotJudged(f"the kernel {name}", f"the parameter '{text}' is not understood", EXPECTED)
        # An array as a parameter is a pointer.
        kind = " ".join((parts[1] + "*" * bool(parts[3])).replace("*", " * ").split())
        dtype = _ARRAY_TYPES.get(kind.removesuffix(" *"), "") if kind.endswith(" *") else ""
        wanted, fits = {
            "image": ("a pointer to float or unsigned char", dtype != ""),
            "out": ("a pointer to float or unsigned char", dtype != ""),
            "mask": ("a pointer to float", dtype == "float32"),
            "border_value": ("float", kind == "float"),
        }.get(parts[2], ("int", kind in _INTEGERS or parts[2] not in NUMBERS))
        if not fits:
            raise NotJudged(f"the kernel {name}", f"its parameter {parts[2]} must be {wanted}", EXPECTED)
        names.append(parts[2])
        dtypes[parts[2]] = dtype
    return tuple(names), dtypes


@cache
def _headers() -> list[str]:
    package = importlib.util.find_spec("nvidia")
    folders = (package.submodule_search_locations or ()) if package is not None else ()
    known = [one for folder in folders for shape in _INCLUDES for one in Path(folder).glob(shape)]
    return [f"--include-path={one}" for one in sorted(known) if one.is_dir()]


def compiled(text: str, checkpoint: Checkpoint = lambda done: None) -> str:
    """Return the PTX of a CUDA C source with the lines of it; raises NotJudged with NVRTC's own words."""
    options = [f"--gpu-architecture={CAPABILITY}", "-lineinfo", "--std=c++17", *_headers()]
    is_right, output = _in_own_process(text.encode(), options, checkpoint)
    if is_right:
        return output.decode()
    log = output.decode(errors="replace")
    errors = _ERROR.findall(log)[:MOST_ERRORS]
    if not errors:
        why = " ".join(log.split())[:400] or "NVRTC needs more memory than it gets, or fails without a word"
        raise NotJudged("the file does not compile", why)
    (first, why), *rest = errors
    more = (f"; line {line}: {message.strip()}" for line, message in rest)
    raise NotJudged("the file does not compile", why.strip() + "".join(more), line=int(first))


def _in_own_process(source: bytes, options: list[str], checkpoint: Checkpoint) -> tuple[bool, bytes]:
    """Return whether a source compiles, and its PTX or NVRTC's words."""
    unsent: bytes | None = source
    command, pipe = [sys.executable, "-P", str(_COMPILER), *options], subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe) as process:
        end = time.monotonic() + MOST_COMPILE_S
        try:
            while True:
                try:
                    ptx, log = process.communicate(unsent, timeout=WAIT_S)
                    return not process.returncode, log if process.returncode else ptx
                except subprocess.TimeoutExpired:
                    unsent = None
                    checkpoint(0.0)
                    if time.monotonic() > end:
                        why = f"NVRTC takes longer than {MOST_COMPILE_S:.0f} s for it"
                        raise NotJudged("the file does not compile", why) from None
        except BaseException:
            process.kill()
            raise
