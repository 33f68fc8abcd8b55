"""The code of a kernel for people: PTX and machine code that name the lines of the source.

A kernel that is launched is compiled without lines. What is explained is compiled once more, with them and
with the same options: the instructions are the same (tests/engine/explain). No device is needed. The texts
are kept as machine code is (`kernel_code.py`).

With lines Numba also describes variables, which changes the code a little, and of which NVVM refuses some
("Symbol name with unsupported characters": numba-cuda 0.30.4). Nobody needs them here: they are left out.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from numba.cuda.core.compiler_lock import global_compiler_lock
from numba.cuda.debuginfo import CUDADIBuilder

from engine.compiled.code_store import code_store
from engine.device.kernel_code import COMPILED_WITH, architecture_of, compiled, key_of
from engine.device.launches import Kernel, Signature
from engine.device.numba_cuda import cuda


@dataclass(frozen=True, eq=False)
class _WithLines:
    """A kernel, to be compiled with the lines of its source."""

    py_func: Any
    targetoptions: dict[str, Any]


def with_lines(kernel: Kernel) -> Kernel:
    """Return a kernel of the same function and options that is compiled with the lines of its source."""
    return _WithLines(kernel.py_func, kernel.targetoptions | {"lineinfo": True})


def explained_ptx(kernel: Kernel, signature: Signature, capability: tuple[int, int]) -> str:
    """Return what NVVM writes for an architecture, with the lines of the source."""

    def compile_now() -> bytes:
        return ptx_with_lines(kernel, signature, capability).encode()

    return _kept("ptx", kernel, signature, capability, compile_now).decode()


def ptx_with_lines(kernel: Kernel, signature: Signature, capability: tuple[int, int]) -> str:
    """Return the same, compiled now."""
    options = with_lines(kernel).targetoptions
    with _without_variables():
        ptx, _ = cuda.compile(
            kernel.py_func,
            signature,
            device=False,
            abi="numba",
            cc=architecture_of(capability),
            output="ptx",
            **{name: options[name] for name in COMPILED_WITH},
        )
    found: str = ptx
    return found


def explained_machine_code(kernel: Kernel, signature: Signature, capability: tuple[int, int]) -> bytes:
    """Return the machine code for an architecture, with the lines of the source."""

    def compile_now() -> bytes:
        with _without_variables():
            return compiled(with_lines(kernel), signature, capability)

    return _kept("cubin", kernel, signature, capability, compile_now)


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


def _kept(
    kind: str,
    kernel: Kernel,
    signature: Signature,
    capability: tuple[int, int],
    compile_now: Callable[[], bytes],
) -> bytes:
    key = key_of(kernel, signature, capability)
    if key is None:
        return compile_now()
    found = code_store().load(kind, key)
    if found is None:
        found = compile_now()
        code_store().save(kind, key, found)
    return found
