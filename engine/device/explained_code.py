"""The code of a kernel for people: PTX and machine code that name the lines of the source.

A kernel that is launched is compiled without lines. What is explained is compiled once more, with them and
with the same options: the instructions are the same (tests/engine/explain). No device is needed. The texts are
kept as machine code is (`kernel_code.py`).
"""

from dataclasses import dataclass
from typing import Any

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
    options = with_lines(kernel).targetoptions

    def compile_now() -> bytes:
        ptx, _ = cuda.compile(
            kernel.py_func,
            signature,
            device=False,
            abi="numba",
            cc=architecture_of(capability),
            output="ptx",
            **{name: options[name] for name in COMPILED_WITH},
        )
        return ptx.encode()

    return _kept("ptx", kernel, signature, capability, compile_now).decode()


def explained_machine_code(kernel: Kernel, signature: Signature, capability: tuple[int, int]) -> bytes:
    """Return the machine code for an architecture, with the lines of the source."""
    return _kept(
        "cubin", kernel, signature, capability, lambda: compiled(with_lines(kernel), signature, capability)
    )


def _kept(kind: str, kernel: Kernel, signature: Signature, capability: tuple[int, int], compile_now) -> bytes:
    key = key_of(kernel, signature, capability)
    if key is None:
        return compile_now()
    found = code_store().load(kind, key)
    if found is None:
        found = compile_now()
        code_store().save(kind, key, found)
    return found
