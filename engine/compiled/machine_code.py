"""CPU functions as machine code: compiled by Numba once, kept on disk, and loaded without Numba.

A start that finds its code loads llvmlite (0.04 s) and links an object file (1 ms). Numba, its registries and
scipy.linalg, which it loads, would take 1.1 s; they are imported where something has to be compiled.

What is compiled is a plain Python function, whose module imports late what it is written with (`late_names`);
its first statement is `entry_point()`. It allocates nothing and raises nothing: it works on arrays that it is
given. `NUMBA_CPU_NAME` and `NUMBA_CPU_FEATURES` choose another processor, as Numba reads them: code for AVX2
is tested on a machine with AVX-512 so.
"""

import ctypes
import functools
import importlib
import itertools
import json
import os
import platform
import re
import struct
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import llvmlite
import llvmlite.binding as llvm
import numpy as np
from llvmlite.utils import get_library_name

from engine.compiled.code_store import code_store
from engine.compiled.late_names import with_names
from engine.compiled.less_work import less_work
from engine.interrupts import lock_through_forks
from engine.process import is_own_process, lives_on


class CpuTarget(NamedTuple):
    """A processor, as LLVM knows it; `features` are those of LLVM, such as "+avx2,+fma"."""

    name: str
    features: str

    def has(self, feature: str) -> bool:
        """Return whether the processor has a feature."""
        return f"+{feature}" in self.features.split(",")

    @property
    def vector_floats(self) -> int:
        """The floats of its widest vector: 16 (AVX-512), 8 (AVX), else 4."""
        if self.has("avx512f"):
            return 16
        return 8 if self.has("avx") else 4


@functools.cache
def cpu_target() -> CpuTarget:
    """Return the processor that this process compiles for."""
    name = os.environ.get("NUMBA_CPU_NAME")
    features = os.environ.get("NUMBA_CPU_FEATURES")
    if features is None:
        features = "" if str(name).lower() == "generic" else llvm.get_host_cpu_features().flatten()
    return CpuTarget(name or llvm.get_host_cpu_name(), features)


ENTRY = ".entry"
"""What the name of the function that Python calls ends with."""

# Settings that change the code that Numba generates.
_COMPILING = ("NUMBA_OPT", "NUMBA_DEBUG", "NUMBA_LOOP", "NUMBA_SLP", "NUMBA_BOUNDSCHECK", "NUMBA_FASTMATH")
_DONTNEED = 4
# What of the library cannot be written, and is as in its file.
_UNCHANGED = re.compile(
    rf"^([0-9a-f]+)-([0-9a-f]+) r-\S+ [^\n]*{re.escape(get_library_name())}\n"
    r"(?:[A-Z][^\n]*\n)*?Anonymous: +0 kB$",
    re.MULTILINE,
)
_compiling = lock_through_forks()


class MachineFunction:
    """A function that is compiled for the types of the arguments that it is called with.

    The Python function is that name of a module, which is imported only to compile it, or what a factory of
    that name makes of the arguments `made_for`. The options are for Numba's compiler.
    """

    def __init__(
        self, module: str, name: str, *, made_for: tuple[object, ...] | None = None, **options: object
    ) -> None:
        self.module, self.name, self._made_for, self._options = module, name, made_for, options
        self._addresses: dict[str, int] = {}

    def __call__(self, *arguments: object) -> None:
        """Call the function; the GIL is released while it runs."""
        self.call(*arguments)()

    def call(self, *arguments: object) -> "Call":
        """Return a call with these arguments, compiled; it can be made again with others.

        Arguments are C-contiguous arrays, `int`, `bool`, `numpy.float32`, `float`, None and tuples of these.
        """
        return Call(self.address(*arguments), arguments)

    def address(self, *arguments: object) -> int:
        """Return the address of the function that is called with a `Call`'s slots, compiled for arguments."""
        types = ", ".join(map(_type_of, arguments))
        if types not in self._addresses:
            with _compiling:
                # Another thread may have loaded it meanwhile: all workers of a batch begin at once.
                if types not in self._addresses:
                    self._addresses[types] = self._loaded(types)
        return self._addresses[types]

    def function(self) -> Callable[..., None]:
        """Return the Python function; what it names of its module is imported."""
        function = getattr(importlib.import_module(self.module), self.name)
        return with_names(function) if self._made_for is None else function(*self._made_for)

    def _loaded(self, types: str) -> int:
        return code_store().built("cpu", self._key(types), partial(self._compiled, types), _linked)

    def _key(self, types: str) -> str:
        own = self.module, self.name, self._made_for, types, self._options
        return json.dumps([*own, *cpu_target(), *_compilers()], allow_nan=False)

    def _compiled(self, types: str) -> bytes:
        """Return the name of the entry point and the object file, compiled for arguments of these types."""
        if is_own_process() and "scipy.linalg" not in sys.modules:
            # What is None there counts as not installed.
            sys.modules["scipy.linalg"] = None  # type: ignore[assignment]
            try:
                importlib.import_module("numba.np.arraymath")
            finally:
                del sys.modules["scipy.linalg"]
        # After that, which is 0.1 s faster without scipy.linalg.
        import numba.core.sigutils

        # Without Numba's own runtime, which counts references: arrays belong to the caller.
        options: dict[str, Any] = {"_nrt": False, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
        options |= self._options
        # What reads lines of assembly in the code of a function.
        llvm.initialize_native_asmparser()
        arguments, _ = numba.core.sigutils.normalize_signature(f"void({types})")
        compiler = numba.njit(**options)(self.function())._compiler
        with less_work():
            result = compiler.compile(arguments, None)
        code: bytes = result.library._get_compiled_object()
        return (result.fndesc.llvm_func_name + ENTRY).encode() + b"\0" + code


class Call:
    """A call of compiled code: its arguments in slots of 8 bytes, where the code reads them.

    One thread at a time may make it.
    """

    def __init__(self, address: int, arguments: tuple[object, ...]) -> None:
        self._arguments = arguments  # arrays have to live as long as their addresses are used
        self._put: dict[int, object] = {}
        parts = [*map(_slots_of, arguments)]
        self._first = [0, *itertools.accumulate(map(len, parts))]
        self._values = (ctypes.c_int64 * self._first[-1])(*itertools.chain.from_iterable(parts))
        self._function = _FUNCTION(address)
        self.entry, self.slots = address, ctypes.addressof(self._values)

    def put(self, number: int, argument: object) -> None:
        """Replace an argument by another one of the same type, for the next call alone."""
        self._put[number] = argument
        for slot, value in enumerate(_slots_of(argument), self._first[number]):
            self._values[slot] = value

    def __call__(self) -> None:
        """Call the function; the GIL is released while it runs."""
        failed = self._function(self.slots)
        # Else whoever keeps a call would keep the pictures of the last one.
        self._put.clear()
        if failed:
            raise RuntimeError("compiled code stopped with an error")


_FUNCTION = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_int64)


def _type_of(argument: object) -> str:
    if isinstance(argument, np.ndarray):
        if not argument.flags.c_contiguous:
            raise TypeError(f"an array with strides {argument.strides} is not C-contiguous")
        return _array_type(argument.dtype, argument.ndim)
    if isinstance(argument, (bool, np.bool_)):
        return "boolean"
    if isinstance(argument, (int, np.integer)):
        return "int64"
    if isinstance(argument, tuple):
        return f"Tuple(({', '.join(map(_type_of, argument))},))"
    return {float: "float64", np.float32: "float32", type(None): "none"}[type(argument)]


# A type's name takes NumPy 2 us, and a filter has a dozen arrays.
@functools.cache
def _array_type(dtype: np.dtype, axes: int) -> str:
    return f"{dtype.name}[{', '.join([':'] * (axes - 1) + ['::1'])}]"


def _slots_of(argument: Any) -> list[int]:
    """Return an argument in slots: an array as Numba passes it, in a slot per field of its record."""
    if isinstance(argument, np.ndarray):
        # No owner and no parent: compiled code counts no references.
        data = argument.__array_interface__["data"][0]
        return [0, 0, argument.size, argument.itemsize, data, *argument.shape, *argument.strides]
    if isinstance(argument, tuple):
        # As Numba passes it: one after another.
        return [slot for part in argument for slot in _slots_of(part)]
    if isinstance(argument, np.float32):
        return list(struct.unpack("<q", struct.pack("<fi", argument, 0)))
    if isinstance(argument, float):
        return list(struct.unpack("<q", struct.pack("<d", argument)))
    return [0 if argument is None else int(argument)]


@functools.cache
def _jit() -> llvm.LLJIT:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    target = cpu_target()
    machine = llvm.Target.from_default_triple().create_target_machine(
        cpu=target.name, features=target.features, jit=True
    )
    return llvm.create_lljit_compiler(machine)


_linked_code: list[Any] = []  # machine code lives as long as what tracks it
_numbers = itertools.count()


def _linked(code: bytes) -> int:
    """Link an object file into this process; return the address of its entry point."""
    name, _, content = code.partition(b"\0")
    symbol = name.decode()
    builder = llvm.JITLibraryBuilder().add_object_img(content).add_current_process().export_symbol(symbol)
    # A new name each time: one that could not be linked has used up its own.
    tracker = builder.link(_jit(), f"{symbol}.{next(_numbers)}")
    _linked_code.append(tracker)
    address: int = tracker[symbol]
    if lives_on():
        _give_back()
    return address


@functools.cache
def _compilers() -> tuple[object, ...]:
    settings = sorted((name, text) for name, text in os.environ.items() if name.startswith(_COMPILING))
    # Not the version of Numba: finding it takes 15 ms, and code that it once made goes on working.
    return platform.python_version(), llvmlite.__version__, settings


def _give_back() -> None:
    """Take LLVM's code, which is loaded, out of the process's memory until it is used again.

    To load llvmlite and to link one object file touches 42 MB of its library, a sixth of what the window and
    its engine take together. They are the file's own pages: those that are used again come from the system's
    cache of the file, 0.4 ms for an object file, 4 ms for all of them. Only Linux can.
    """
    if sys.platform.startswith("linux"):
        for address, size in _library_parts():
            # Where the system refuses nothing is lost.
            ctypes.CDLL(None).madvise(ctypes.c_void_p(address), ctypes.c_size_t(size), _DONTNEED)


@functools.cache
def _library_parts() -> tuple[tuple[int, int], ...]:
    text = Path("/proc/self/smaps").read_text(encoding="utf-8", errors="replace")
    ends = ((int(span[1], 16), int(span[2], 16)) for span in _UNCHANGED.finditer(text))
    return tuple((begin, end - begin) for begin, end in ends)
