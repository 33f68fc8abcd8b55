"""Numba's compiler for the CPU. The one file that uses private names of Numba; imported to compile only."""

import importlib
import sys
from collections.abc import Callable
from typing import Any

import llvmlite.binding as llvm

from engine.garbage import no_collection


def load_numba(*, without_scipy: bool) -> None:
    """Import Numba; without scipy.linalg, which it needs for products of matrices alone, in 0.1 s less."""
    if not without_scipy or "scipy.linalg" in sys.modules:
        return
    # What is None there counts as not installed.
    sys.modules["scipy.linalg"] = None  # type: ignore[assignment]
    try:
        importlib.import_module("numba.np.arraymath")
    finally:
        del sys.modules["scipy.linalg"]


def compiled_library(
    function: Callable[..., None], types: str, options: dict[str, Any]
) -> tuple[str, object]:
    """Return the name of a function that is compiled for arguments of these types, and its code library."""
    # After `load_numba`.
    import numba.core.sigutils

    # Without Numba's own runtime, which counts references: arrays belong to the caller.
    plain = {"_nrt": False, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    # What reads lines of assembly in the code of a function.
    llvm.initialize_native_asmparser()
    arguments, _ = numba.core.sigutils.normalize_signature(f"void({types})")
    # Looking for garbage in between takes a twelfth of the time of compiling.
    with no_collection():
        result = numba.njit(**plain, **options)(function)._compiler.compile(arguments, None)
    return result.fndesc.llvm_func_name, result.library


def object_code(library: Any) -> bytes:
    """Return the object file of a code library."""
    code: bytes = library._get_compiled_object()
    return code
