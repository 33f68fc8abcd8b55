"""Kernels of Numba: taken out of a Python file without running it, compiled by NVVM.

Of a file only functions and constants are taken. Nothing at its top level runs: an import is not done, but
the names of NumPy, Numba and `math` are there; a constant is a number or arithmetic of numbers.
"""

import ast
import copy
import inspect
import math
import operator
import re
from collections.abc import Callable
from pathlib import Path
from types import FunctionType
from typing import Any

import numba
import numpy as np
from numba import types
from numba.core.errors import NumbaError

from engine.device.cuda_presence import missing
from engine.device.explained_code import ptx_with_lines
from engine.device.numba_cuda import cuda
from engine.judging.header import Header
from engine.judging.source import JudgedKernel, NotJudged, checked_parameters, only_one

CAPABILITY = (8, 0)
_ARITHMETIC: dict[type, Callable[..., Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.LShift: lambda a, b: a << min(b, 64),
    ast.RShift: operator.rshift,
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
}
_MODULES = ("numpy", "numba", "math", "numba.cuda")


def judged_file(text: str, path: str, header: Header, function: str | None = None) -> JudgedKernel:
    """Return the kernel of a Python file; raises NotJudged for what does not compile or is no filter."""
    try:
        tree = ast.parse(text, path)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        line = getattr(error, "lineno", 0) or 0
        raise NotJudged("the file is no Python", f"line {line}: {error.args[0]}", line=line) from error
    kernels = [one for one in tree.body if isinstance(one, ast.FunctionDef) and _jit_of(one) == "kernel"]
    name = only_one([one.name for one in kernels], function)
    (kernel,) = (one for one in kernels if one.name == name)
    names = _names(tree, path)
    return _compiled(name, _defined(kernel, names, path), header)


def judged_function(function: Any, header: Header) -> JudgedKernel:
    """Return the kernel of a function, of Numba or plain."""
    plain = getattr(function, "py_func", function)
    if not isinstance(plain, FunctionType):
        raise NotJudged("what was given", "it is neither a path nor a function")
    return _compiled(plain.__name__, plain, header)


def source_of(function: Any) -> str:
    """Return the source of a function; empty where it is not known."""
    try:
        return inspect.getsource(getattr(function, "py_func", function))
    except (OSError, TypeError):
        return ""


def _jit_of(function: ast.FunctionDef) -> str:
    """Return "kernel" or "device" for a function under `@cuda.jit`; empty for any other."""
    for one in function.decorator_list:
        called = one.func if isinstance(one, ast.Call) else one
        if ast.unparse(called) in ("cuda.jit", "numba.cuda.jit", "nb.cuda.jit", "jit"):
            named = one.keywords if isinstance(one, ast.Call) else []
            is_device = any(key.arg == "device" and ast.unparse(key.value) == "True" for key in named)
            return "device" if is_device else "kernel"
    return ""


def _names(tree: ast.Module, path: str) -> dict[str, Any]:
    """Return a file's constants and device functions, and the modules that it imports, as far as known."""
    modules = {"numpy": np, "numba": numba, "math": math, "numba.cuda": cuda}
    names: dict[str, Any] = {"__name__": "judged", "__builtins__": __builtins__}
    for step in tree.body:
        if isinstance(step, ast.Import):
            for one in step.names:
                if one.name in modules:
                    names[one.asname or one.name.partition(".")[0]] = modules[one.name]
        elif isinstance(step, ast.ImportFrom) and step.module in modules and not step.level:
            for one in step.names:
                if hasattr(modules[step.module], one.name):
                    names[one.asname or one.name] = getattr(modules[step.module], one.name)
        elif (
            isinstance(step, ast.Assign) and len(step.targets) == 1 and isinstance(step.targets[0], ast.Name)
        ):
            value = _constant(step.value, names)
            if value is not None:
                names[step.targets[0].id] = value
        elif isinstance(step, ast.FunctionDef) and _jit_of(step) != "kernel":
            names[step.name] = cuda.jit(device=True, inline="always")(_defined(step, names, path))
    return names


def _constant(node: ast.expr, names: dict[str, Any]) -> Any:
    """Return the value of a number, a tuple of numbers, or arithmetic of them; None for anything else."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, int | float | bool) else None
    if isinstance(node, ast.Name):
        found = names.get(node.id)
        return found if isinstance(found, int | float | bool | tuple | np.generic) else None
    if isinstance(node, ast.Tuple):
        values = [_constant(one, names) for one in node.elts]
        return None if None in values else tuple(values)
    if isinstance(node, ast.UnaryOp) and type(node.op) in _ARITHMETIC:
        value = _constant(node.operand, names)
        return None if value is None else _ARITHMETIC[type(node.op)](value)
    if isinstance(node, ast.BinOp) and type(node.op) in _ARITHMETIC:
        left, right = _constant(node.left, names), _constant(node.right, names)
        if left is None or right is None:
            return None
        try:
            return _ARITHMETIC[type(node.op)](left, right)
        except (ArithmeticError, TypeError, ValueError):
            return None
    if isinstance(node, ast.Call) and len(node.args) == 1 and not node.keywords:
        kinds = {"float32": np.float32, "int32": np.int32, "float": float, "int": int, "uint8": np.uint8}
        kind, value = kinds.get(ast.unparse(node.func).rpartition(".")[2]), _constant(node.args[0], names)
        return None if kind is None or value is None else kind(value)
    return None


def _defined(function: ast.FunctionDef, names: dict[str, Any], path: str) -> FunctionType:
    """Return a function of a file without its decorators; its body does not run."""
    if function.args.defaults or any(one is not None for one in function.args.kw_defaults):
        raise NotJudged(f"the function {function.name}", "its parameters have defaults", line=function.lineno)
    bare = copy.copy(function)
    bare.decorator_list, bare.returns = [], None
    for one in (*bare.args.posonlyargs, *bare.args.args, *bare.args.kwonlyargs):
        one.annotation = None
    exec(compile(ast.Module([bare], []), path, "exec"), names)
    found = names[function.name]
    assert isinstance(found, FunctionType)
    return found


def _compiled(name: str, function: FunctionType, header: Header) -> JudgedKernel:
    parameters = tuple(inspect.signature(function).parameters)
    checked_parameters(name, parameters)
    if missing:
        raise NotJudged(f"the kernel {name}", f"{missing}; without it no kernel is compiled (none for macOS)")
    dtypes = {"image": header.dtype, "mask": "float32", "out": header.result_dtype}
    signature = tuple(
        types.Array(getattr(types, dtypes[one]), 2, "C")
        if one in dtypes
        else types.float32
        if one == "border_value"
        else types.int64
        for one in parameters
    )
    try:
        ptx = ptx_with_lines(cuda.jit(function), signature, CAPABILITY)
    except NumbaError as error:
        raise _refusal(error) from error
    except Exception as error:
        raise NotJudged(
            "the kernel does not compile", f"{type(error).__name__}: {str(error)[:300]}"
        ) from error
    return JudgedKernel(name, ptx, "", parameters, header, dtypes["image"], dtypes["out"], is_numba=True)


def _refusal(error: Any) -> NotJudged:
    plain = re.sub(r"\x1b\[[0-9;]*m", "", str(error))
    words = [line.strip() for line in plain.splitlines() if line.strip()]
    said = next((one for one in words if not one.startswith(("Failed in", "During:"))), "")
    location = getattr(error, "loc", None)
    line = int(getattr(location, "line", 0) or 0)
    where = f"line {line} of {Path(location.filename).name}: " if location is not None and line else ""
    return NotJudged("the kernel does not compile", f"{where}{said[:300]}", line=line)
