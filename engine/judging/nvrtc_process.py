"""Compiles CUDA C by NVRTC, as a process of its own that is short of memory and time.

Macros and templates of a few lines can make a compiler use all memory or never end, and it cannot be stopped
within a process. Run with NVRTC's options as arguments and the source on standard input. Standard output:
PTX; exit status 1: standard error has the compiler's words. Nothing of the engine is imported here: it starts
in 0.2 s.
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


def main() -> int:
    """Compile standard input; return the exit status."""
    if resource is not None:
        resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    source, options = sys.stdin.buffer.read(), [one.encode() for one in sys.argv[1:]]
    status, program = nvrtc.nvrtcCreateProgram(source, NAME.encode(), 0, [], [])
    if not int(status):
        (status,) = nvrtc.nvrtcCompileProgram(program, len(options), options)
        _, size = nvrtc.nvrtcGetProgramLogSize(program)
        log = b" " * size
        nvrtc.nvrtcGetProgramLog(program, log)
        sys.stderr.buffer.write(log.rstrip(b"\0"))
    if int(status):
        return 1
    _, size = nvrtc.nvrtcGetPTXSize(program)
    ptx = b" " * size
    nvrtc.nvrtcGetPTX(program, ptx)
    sys.stdout.buffer.write(ptx.rstrip(b"\0"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
