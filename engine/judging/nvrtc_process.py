"""Compiles CUDA C by NVRTC, as a process of its own that is short of memory and time.

Macros and templates of a few lines can make a compiler use all memory or never end, and it cannot be stopped
within a process. Run with NVRTC's options as arguments and the source on standard input. Standard output:
PTX; exit status 1: standard error has the compiler's words. It starts in 0.2 s, without the engine.
"""

import sys

from cuda.bindings import nvrtc

try:
    import resource
except ImportError:  # Windows has no such limit
    resource = None  # type: ignore[assignment]

NAME = "judged.cu"
# NVRTC takes 1 GB of addresses, and `cooperative_groups.h` 300 MB.
MOST_MEMORY = 4 << 30


def compiled(source: bytes, options: list[str]) -> tuple[bool, bytes]:
    """Return whether a source compiles, and its PTX or the compiler's words."""
    status, program = nvrtc.nvrtcCreateProgram(source, NAME.encode(), 0, [], [])
    if int(status):
        return False, b""
    (status,) = nvrtc.nvrtcCompileProgram(program, len(options), [one.encode() for one in options])
    size_of, get = nvrtc.nvrtcGetPTXSize, nvrtc.nvrtcGetPTX
    if int(status):
        size_of, get = nvrtc.nvrtcGetProgramLogSize, nvrtc.nvrtcGetProgramLog
    output = b" " * size_of(program)[1]
    get(program, output)
    return not int(status), output.rstrip(b"\0")


def main() -> int:
    """Compile standard input; return the exit status."""
    if resource is not None:
        resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    is_right, output = compiled(sys.stdin.buffer.read(), sys.argv[1:])
    (sys.stdout if is_right else sys.stderr).buffer.write(output)
    return int(not is_right)


if __name__ == "__main__":
    sys.exit(main())
