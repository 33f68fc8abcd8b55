"""The code of a kernel for people: PTX and machine code that name the lines of the source.

A kernel that is launched is compiled without lines. What is explained is compiled once more, with them and
with the same options: the instructions are the same (tests/engine/explain). No device is needed. The texts
are kept as machine code is (`kernel_code.py`).

With lines Numba also describes variables, which changes the code a little, and of which NVVM refuses some
("Symbol name with unsupported characters": numba-cuda 0.30.4). Nobody needs them here: they are left out.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from numba.cuda.core.compiler_lock import global_compiler_lock
from numba.cuda.debuginfo import CUDADIBuilder

from engine.device.kernel_code import code_for_linker, compiled, kept
from engine.device.launches import Kernel, Signature


def explained_ptx(kernel: Kernel, signature: Signature, capability: tuple[int, int]) -> str:
    """Return what NVVM writes for an architecture, with the lines of the source."""

    def compile_now() -> bytes:
        return ptx_with_lines(kernel, signature, capability).encode()

    return kept("ptx", kernel, signature, capability, compile_now, bytes.decode)


def ptx_with_lines(kernel: Kernel, signature: Signature, capability: tuple[int, int]) -> str:
    """Return the same, compiled now."""
    with _without_variables():
        ptx: str = code_for_linker(kernel, signature, capability, "ptx", lineinfo=True)
    return ptx


def explained_machine_code(kernel: Kernel, signature: Signature, capability: tuple[int, int]) -> bytes:
    """Return the machine code for an architecture, with the lines of the source."""

    def compile_now() -> bytes:
        with _without_variables():
            return compiled(kernel, signature, capability, lineinfo=True)

    return kept("cubin", kernel, signature, capability, compile_now, bytes)


@contextmanager
def _without_variables() -> Iterator[None]:
    """Let Numba describe no variables within; other threads compile before or after.

    Code without lines is made by another builder, so nothing else would change.
    """
    names = "mark_variable", "update_variable"
    with global_compiler_lock:
        own = {name: vars(CUDADIBuilder)[name] for name in names}
        try:
            for name in names:
                setattr(CUDADIBuilder, name, lambda *arguments, **named: None)
            yield
        finally:
            for name, method in own.items():
                setattr(CUDADIBuilder, name, method)
