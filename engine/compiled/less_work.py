"""`less_work`: while it lasts Numba compiles to the same code in less time. No Numba in here.

Of the 240 ms that a kernel took to become PTX (22 kernels, in a process that had compiled others) are saved
45 for finding the signature of each call among all that a function has, 10 for asking LLVM for the size of
each type by a module of its own, 15 for reading what is inlined (a border's rule) at each place that it is
called from, 15 for which variables live where each block begins, which only generators need, and 12 for bold
type in errors that are not shown; of a CPU function an eighth. Versions that are not known stay as they are.
"""

import functools
import sys
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from importlib import import_module

from engine.process import no_collection

# numba-cuda has a compiler of its own, which began as a copy.
_KNOWN = {"numba.core": ("numba", "0.68."), "numba.cuda.core": ("numba_cuda", "0.30.")}
_signatures: dict = {}
# Of a method, the same with its results remembered, one in a process.
_remembering = functools.cache(functools.cache)


@contextmanager
def replaced(changes: Iterable[tuple[type, str, object]]) -> Iterator[None]:
    """Replace a method of each class by that name; until the end of the block no other thread compiles."""
    with no_collection(), import_module("numba.core.compiler_lock").global_compiler_lock:
        both = [(owner, name, changed, getattr(owner, name)) for owner, name, changed in changes]
        try:
            for owner, name, changed, _ in both:
                setattr(owner, name, changed)
            yield
        finally:
            for owner, name, _, own in both:
                setattr(owner, name, own)


def less_work() -> AbstractContextManager[None]:
    """Compile with less work, and look for no garbage, until the end of the block."""
    return replaced(_changes())


def _changes():
    """Yield each method that is replaced, by its class and name, with what replaces it."""
    for core, (package, begin) in _KNOWN.items():
        if not getattr(sys.modules.get(package), "__version__", "").startswith(begin):
            continue
        worker = import_module(f"{core}.inline_closurecall").InlineWorker
        identity = import_module(f"{core}.bytecode").FunctionIdentity
        yield worker, "run_untyped_passes", _remembering_inlined(worker.run_untyped_passes, identity)
        postproc = import_module(f"{core}.postproc")
        yield postproc.PostProcessor, "run", _without_entry_variables(postproc, postproc.PostProcessor.run)
        context = import_module(f"{core}.base").BaseContext
        yield context, "get_abi_sizeof", _remembering(context.get_abi_sizeof)
        errors = import_module(f"{core}.errors")
        if hasattr(errors, "HighlightColorScheme"):  # where colorama is installed
            yield errors.HighlightColorScheme, "_markup", lambda scheme, text, *style, **named: text
        if package == "numba":  # both use its types
            function = import_module("numba.core.types.functions").BaseFunction
            yield function, "get_call_type", _remembering_signatures(function.get_call_type)


def _remembering_signatures(own):
    def get_call_type(function, context, arguments, named):
        # A function that signatures are added to becomes another object.
        key = function, context, tuple(arguments), bool(named)
        if key in _signatures:
            function._impl_keys[_signatures[key].args] = function.typing_key
            return _signatures[key]
        signature = own(function, context, arguments, named)
        # An overload in Python is compiled where it is found, by the options of what calls it.
        if not named and function.get_impl_key(signature) is function.typing_key:
            _signatures[key] = signature
        return signature

    return get_call_type


def _remembering_inlined(own, identity):
    def run_untyped_passes(worker, function, enable_ssa=False):
        # What others write may read a global name that has another value now.
        if enable_ssa or not str(function.__module__).startswith("engine."):
            return own(worker, function, enable_ssa)
        known = vars(function).setdefault("_inlined", {})
        if own not in known:
            known[own] = own(worker, function)
        worker.flags.enable_ssa = False
        # Who inlines it copies it. Its variables are named anew, by a number of its own.
        code = known[own].copy()
        code.func_id = identity.from_function(function)
        return code

    return run_untyped_passes


def _without_entry_variables(postproc, own):
    def run(processor, emit_dels=False, extend_lifetimes=False):
        code = processor.func_ir
        if code.is_generator:
            return own(processor, emit_dels, extend_lifetimes)
        code.blocks = postproc.transforms.canonicalize_cfg(code.blocks)
        code.variable_lifetime = postproc.VariableLifetime(code.blocks)
        return processor._insert_var_dels(extend_lifetimes=extend_lifetimes) if emit_dels else None

    return run
