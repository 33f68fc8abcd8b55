"""`less_work`: while it lasts Numba compiles to the same code in less time. No Numba in here.

Numba does some work again and again, and some that nobody needs. Of the 240 ms that a kernel took to become
PTX (22 kernels, in a process that had compiled others) these are saved:

    45 ms  finding the signature of each call among all that a function has: remembered
    15 ms  reading what is inlined, such as a border's rule, at each place that it is called from: remembered
    15 ms  which variables live where each block begins, 16 times a kernel: only generators need that
    10 ms  asking LLVM for the size of a type, by a module of its own: remembered

Of a CPU function's time an eighth is saved. Most of it is LLVM's. (What a function calls becomes machine code
by itself too, in a tenth of the time, though nobody calls it there. But LLVM changes it on the way, and that
goes into the caller's code.)

All this is private to Numba, so it stays as it is in versions that are not known here. What is replaced is
put back at the end, and no other thread compiles meanwhile.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module

from engine.process import no_collection

_KNOWN = {"numba": "0.68.", "numba_cuda": "0.30."}
_MOST_SIGNATURES, _MOST_INLINED = 20_000, 64
_signatures: dict = {}
_inlined: dict = {}
_sizes: dict = {}


@contextmanager
def less_work() -> Iterator[None]:
    """Compile with less work, and without looking for garbage, until the end of the block."""
    with no_collection(), import_module("numba.core.compiler_lock").global_compiler_lock:
        changes = [*_changes()]
        own = [(owner, name, getattr(owner, name)) for owner, name, _ in changes]
        try:
            for owner, name, changed in changes:
                setattr(owner, name, changed)
            yield
        finally:
            for owner, name, method in own:
                setattr(owner, name, method)


def _is_known(package):
    found = sys.modules.get(package)
    return found is not None and found.__version__.startswith(_KNOWN[package])


def _changes():
    """Yield each method that is replaced, by its class and name, with what replaces it."""
    if not _is_known("numba"):
        return
    function = import_module("numba.core.types.functions").BaseFunction
    yield function, "get_call_type", _remembering_signatures(function.get_call_type)
    # numba-cuda has a compiler of its own, which began as a copy.
    for core in ["numba.core"] + ["numba.cuda.core"] * _is_known("numba_cuda"):
        bytecode, inlining, postproc, base = (
            import_module(f"{core}.{name}") for name in ("bytecode", "inline_closurecall", "postproc", "base")
        )
        yield inlining.InlineWorker, "run_untyped_passes", _remembering_inlined(inlining, bytecode)
        yield postproc.PostProcessor, "run", _without_entry_variables(postproc)
        yield base.BaseContext, "get_abi_sizeof", _remembering_sizes(base.BaseContext.get_abi_sizeof)


def _keep(known, key, found, most):
    if len(known) == most:
        known.clear()
    known[key] = found


def _remembering_signatures(own):
    def get_call_type(function, context, arguments, named):
        # A function that somebody adds signatures to becomes another object.
        key = function, context, tuple(arguments)
        if not named and key in _signatures:
            found = _signatures[key]
            function._impl_keys[found.args] = function.typing_key
            return found
        found = own(function, context, arguments, named)
        # An overload in Python is compiled where it is found, by the options of what calls it.
        if not named and function.get_impl_key(found) is function.typing_key:
            _keep(_signatures, key, found, _MOST_SIGNATURES)
        return found

    return get_call_type


def _remembering_inlined(inlining, bytecode):
    own = inlining.InlineWorker.run_untyped_passes

    def run_untyped_passes(worker, function, enable_ssa=False):
        key = inlining, function
        # What others write may read a global name that has another value now.
        if enable_ssa or not str(function.__module__).startswith("engine."):
            return own(worker, function, enable_ssa)
        if key not in _inlined:
            _keep(_inlined, key, own(worker, function), _MOST_INLINED)
            return _inlined[key]
        worker.flags.enable_ssa = False
        # Who inlines it copies it. Its variables are named anew, by a number of its own.
        again = _inlined[key].copy()
        again.func_id = bytecode.FunctionIdentity.from_function(function)
        return again

    return run_untyped_passes


def _without_entry_variables(postproc):
    own = postproc.PostProcessor.run

    def run(processor, emit_dels=False, extend_lifetimes=False):
        code = processor.func_ir
        if code.is_generator:
            own(processor, emit_dels, extend_lifetimes)
            return
        code.blocks = postproc.transforms.canonicalize_cfg(code.blocks)
        # What it says is computed when it is asked.
        code.variable_lifetime = postproc.VariableLifetime(code.blocks)
        code.generator_info = None
        if emit_dels:
            processor._insert_var_dels(extend_lifetimes=extend_lifetimes)

    return run


def _remembering_sizes(own):
    def get_abi_sizeof(context, kind):
        text = str(kind)
        # The name of a structure does not say what is in it; Numba writes out what is.
        if "%" in text:
            return own(context, kind)
        key = context, text
        if key not in _sizes:
            _sizes[key] = own(context, kind)
        return _sizes[key]

    return get_abi_sizeof
