"""Kernels of Numba: taken out of a Python file without running it, compiled by NVVM. And one on a GPU.

Of a file only functions and constants are taken. Nothing at its top level runs: an import is not done, but
the names of NumPy, Numba and `math` are there; a constant is a number or arithmetic of numbers.
"""

import ast
import contextlib
import ctypes
import inspect
import math
import operator
import re
from collections.abc import Callable
from types import FunctionType, ModuleType
from typing import Any

import numba
import numpy as np
from numba import types
from numba.core.errors import NumbaError

from engine.device.cuda_memory import check
from engine.device.devices import backend, devices
from engine.device.kernel_code import ptx_with_lines
from engine.device.numba_cuda import cuda, driver
from engine.judging.judge import LaunchOutcome
from engine.judging.judgement import Header, JudgedKernel, NotJudged, checked_parameters, header_of, only_one
from engine.ptx import Array, Finding

CAPABILITY = (8, 0)
# Numbers and texts of a file that are longer are no constants of a kernel, and could use all memory.
MOST_BITS, MOST_VALUES = 64, 1024
_ARITHMETIC: dict[type, Callable[..., Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.LShift: lambda a, b: a << min(b, MOST_BITS),
    ast.Pow: lambda a, b: a ** min(b, MOST_BITS),
    ast.RShift: operator.rshift,
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
}
_Number = int | float | np.generic


def judged_file(text: str, path: str, function: str | None = None) -> JudgedKernel:
    """Return the kernel of a Python file; raises NotJudged for what does not compile or is no filter."""
    try:
        tree = ast.parse(text, path)
        names = _names(tree, path)
        functions = [one for one in tree.body if isinstance(one, ast.FunctionDef)]
        kernels = [one for one in functions if _jit_of(one, names) == "kernel"]
        name = only_one(list(dict.fromkeys(one.name for one in kernels)), function)
        # Of several of one name Python keeps the last.
        kernel = next(one for one in reversed(kernels) if one.name == name)
        defined = _defined(kernel, names, path)
    except (SyntaxError, ValueError) as error:
        line = getattr(error, "lineno", 0) or 0
        raise NotJudged("the file is no Python", str(error.args[0]), line=line) from error
    except (RecursionError, MemoryError) as error:
        raise NotJudged("the file", "its code is nested too deep") from error
    return _compiled(name, defined, header_of(text))


def judged_function(function: object) -> JudgedKernel:
    """Return the kernel of a function, of Numba or plain."""
    plain = getattr(function, "py_func", function)
    if not isinstance(plain, FunctionType):
        raise NotJudged("what was given", "it is neither a path nor a function")
    source = ""
    with contextlib.suppress(OSError, TypeError):
        # Decorators are code: what stands before them is no part of the function's own source.
        source = inspect.getcomments(plain) or ""
    return _compiled(plain.__name__, plain, header_of(source))


def _jit_of(function: ast.FunctionDef, names: dict[str, object]) -> str:
    """Return "kernel" or "device" for a function under `cuda.jit`, by any name; empty for any other."""
    for one in function.decorator_list:
        called = one.func if isinstance(one, ast.Call) else one
        if _named(called, names) is cuda.jit or ast.unparse(called) == "cuda.jit":
            named = one.keywords if isinstance(one, ast.Call) else []
            is_device = any(key.arg == "device" and ast.unparse(key.value) == "True" for key in named)
            return "device" if is_device else "kernel"
    return ""


def _named(node: ast.expr, names: dict[str, object]) -> object:
    """Return what a name of a file, with dots where it is one of a module, stands for; None: not known."""
    if isinstance(node, ast.Name):
        return names.get(node.id)
    if isinstance(node, ast.Attribute) and isinstance(module := _named(node.value, names), ModuleType):
        return getattr(module, node.attr, None)
    return None


def _names(tree: ast.Module, path: str) -> dict[str, object]:
    """Return a file's constants and device functions, and the modules that it imports, as far as known."""
    modules = {"numpy": np, "numba": numba, "math": math, "numba.cuda": cuda}
    names: dict[str, object] = {"__name__": "judged", "__builtins__": __builtins__}
    for step in tree.body:
        if isinstance(step, ast.Import):
            for one in step.names:
                if one.name in modules:
                    # `import numba.cuda` binds `numba`.
                    own = one.asname or one.name.partition(".")[0]
                    names[own] = modules[one.name if one.asname else own]
        elif isinstance(step, ast.ImportFrom) and step.module in modules and not step.level:
            for one in step.names:
                if hasattr(modules[step.module], one.name):
                    names[one.asname or one.name] = getattr(modules[step.module], one.name)
        elif isinstance(step, ast.Assign | ast.AnnAssign):
            for target in step.targets if isinstance(step, ast.Assign) else [step.target]:
                _assign(target, step.value and _constant(step.value, names), names)
        elif isinstance(step, ast.FunctionDef) and _jit_of(step, names) != "kernel":
            with contextlib.suppress(NotJudged):
                # Without it, a kernel that calls it is refused.
                names[step.name] = cuda.jit(device=True, inline="always")(_defined(step, names, path))
    return names


def _assign(target: ast.expr, value: object, names: dict[str, object]) -> None:
    if isinstance(target, ast.Name):
        names.pop(target.id, None)
        if value is not None:
            names[target.id] = value
    elif isinstance(target, ast.Tuple | ast.List) and isinstance(value, tuple | np.ndarray):
        for one, part in zip(target.elts, value, strict=False):
            _assign(one, part, names)


def _constant(node: ast.expr, names: dict[str, object]) -> object:
    """Return a number, a tuple or array of numbers, a type, or arithmetic of numbers; None for all else."""
    try:
        value = _computed(node, names)
    except (ArithmeticError, TypeError, ValueError, AttributeError):
        return None
    return value if value is not None and _is_small(value) else None


def _is_small(value: object) -> bool:
    if isinstance(value, tuple):
        return len(value) <= MOST_VALUES and sum(np.size(one) for one in value) <= MOST_VALUES
    if isinstance(value, np.ndarray):
        return value.size <= MOST_VALUES
    return not isinstance(value, int) or value.bit_length() <= MOST_BITS


def _computed(node: ast.expr, names: dict[str, object]) -> object:
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, int | float) else None
    if isinstance(node, ast.Name):
        constant = names.get(node.id)
        return constant if isinstance(constant, _Number | tuple | np.ndarray) or _is_type(constant) else None
    if isinstance(node, ast.Attribute):
        constant = _named(node, names)
        return constant if isinstance(constant, float) or _is_type(constant) else None
    if isinstance(node, ast.Tuple | ast.List):
        values = [_constant(one, names) for one in node.elts]
        return None if any(one is None for one in values) else tuple(values)
    if isinstance(node, ast.UnaryOp | ast.BinOp):
        parts = [node.operand] if isinstance(node, ast.UnaryOp) else [node.left, node.right]
        values = [_constant(one, names) for one in parts]
        operation = _ARITHMETIC.get(type(node.op))
        # Of numbers alone: a tuple times a number could be of any length.
        is_known = operation is not None and all(isinstance(one, _Number) for one in values)
        return operation(*values) if operation is not None and is_known else None
    if isinstance(node, ast.Call) and node.args:
        return _called(node, [_constant(one, names) for one in node.args], names)
    return None


def _called(node: ast.Call, values: list[Any], names: dict[str, Any]) -> Any:
    """Return the value of `float32(2)` or `np.array((1, 2), dtype=np.int32)`."""
    kinds = {"float32": np.float32, "int32": np.int32, "float": float, "int": int, "uint8": np.uint8}
    name = ast.unparse(node.func).rpartition(".")[2]
    if any(one is None for one in values):
        return None
    if name == "array" and len(values) + len(node.keywords) <= 2:
        kind = [*values[1:], *(_constant(one.value, names) for one in node.keywords if one.arg == "dtype")]
        return np.array(values[0], *(str(one) if not isinstance(one, type) else one for one in kind))
    return kinds[name](values[0]) if name in kinds and len(values) == 1 and not node.keywords else None


def _is_type(value: object) -> bool:
    return isinstance(value, types.Number) or (isinstance(value, type) and issubclass(value, np.number))


def _defined(function: ast.FunctionDef, names: dict[str, object], path: str) -> FunctionType:
    """Return a function of a file; nothing of it runs: no decorator, default, annotation or body."""
    declared = function.args
    defaults = [_constant(one, names) for one in declared.defaults]
    if any(one is None for one in defaults) or any(one is not None for one in declared.kw_defaults):
        why = "its parameters have defaults that are no constants"
        raise NotJudged(f"the function {function.name}", why, line=function.lineno)
    plain = [ast.arg(one.arg) for one in (*declared.posonlyargs, *declared.args, *declared.kwonlyargs)]
    # Each part is named: what a later Python evaluates besides is not there.
    rest, keywords = (one and ast.arg(one.arg) for one in (declared.vararg, declared.kwarg))
    arguments = ast.arguments(
        posonlyargs=[], args=plain, vararg=rest, kwonlyargs=[], kw_defaults=[], kwarg=keywords, defaults=[]
    )
    bare = ast.FunctionDef(name=function.name, args=arguments, body=function.body, decorator_list=[])
    ast.fix_missing_locations(ast.copy_location(bare, function))
    exec(compile(ast.Module([bare], []), path, "exec"), names)
    defined = names[function.name]
    assert isinstance(defined, FunctionType)
    defined.__defaults__ = tuple(defaults) or None
    return defined


def _compiled(name: str, function: FunctionType, header: Header) -> JudgedKernel:
    parameters = tuple(inspect.signature(function).parameters)
    checked_parameters(name, parameters)
    dtypes = {"image": header.dtype, "mask": "float32", "out": header.result_dtype}
    kinds = {name: types.Array(getattr(types, dtype), 2, "C") for name, dtype in dtypes.items()}
    kinds["border_value"] = types.float32
    signature = tuple(kinds.get(one, types.int64) for one in parameters)
    try:
        ptx = ptx_with_lines(cuda.jit(function), signature, CAPABILITY)
    except NumbaError as error:
        raise _refusal(error) from error
    except Exception as error:
        why = f"{type(error).__name__}: {str(error)[:300]}"
        raise NotJudged("the kernel does not compile", why) from error
    return JudgedKernel(name, ptx, parameters, header, is_numba=True)


def _refusal(error: object) -> NotJudged:
    plain = re.sub(r"\x1b\[[0-9;]*m", "", str(error))
    words = [line.strip() for line in plain.splitlines() if line.strip()]
    first = next((n for n, one in enumerate(words) if not one.startswith(("Failed in", "During:"))), 0)
    # What it says of a call goes on in the next line.
    message = next(iter(words[first:]), "")
    if message.endswith(":"):
        message = " ".join(words[first : first + 2])
    line = int(getattr(getattr(error, "loc", None), "line", 0) or 0)
    if not line and (place := re.search(r'File "[^"]*", line (\d+)|at \S+ \((\d+)\)', plain)):
        line = int(place[1] or place[2])
    return NotJudged("the kernel does not compile", message[:300], line=line)


# Launches that are timed, after one that warms up; the median is reported.
TIMED = 9


def on_device(kernel: JudgedKernel, outcome: LaunchOutcome) -> tuple[str, Finding | None]:
    """Launch a kernel as an outcome's trial did, on the first GPU that can be used.

    Return what to say, nothing without a GPU, and what differs from the interpreter. A kernel that the
    interpreter found at fault is not launched: a wrong access ends the process for CUDA.
    """
    gpu = next((one for one in devices() if one.is_usable_gpu), None)
    if gpu is None:
        return "", None
    if outcome.run.findings:
        return f"Not run on {gpu.title}: a kernel with a fault could end the process.", None
    with backend(gpu.key).selected():
        module = check(driver.cuModuleLoadData(kernel.ptx.encode() + b"\0"))
        machine = outcome.run.machine
        function = check(driver.cuModuleGetFunction(module, machine.kernel.name.encode()))
        if kernel.header.shared > 48 * 1024:
            limit = driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
            check(driver.cuFuncSetAttribute(function, limit, kernel.header.shared))
        arrays = {one.name: cuda.to_device(one.values) for one in outcome.arguments if isinstance(one, Array)}
        values: list[Any] = []
        for variable, argument in zip(machine.kernel.parameters, outcome.arguments, strict=True):
            if isinstance(argument, Array):
                values.append(ctypes.c_uint64(arrays[argument.name].device_ctypes_pointer.value))
            else:
                data = np.array(argument).astype(variable.dtype).tobytes()
                values.append((ctypes.c_ubyte * len(data)).from_buffer_copy(data))
        pointers = (ctypes.c_void_p * len(values))(*map(ctypes.addressof, values))
        shape = (*machine.grid, *machine.block, kernel.header.shared, 0, ctypes.addressof(pointers), 0)
        times = []
        for _ in range(TIMED + 1):
            begin, end = cuda.event(timing=True), cuda.event(timing=True)
            begin.record()
            check(driver.cuLaunchKernel(function, *shape))
            end.record()
            end.synchronize()
            times.append(float(begin.elapsed_time(end)))
        result = arrays["out"].copy_to_host()
        check(driver.cuModuleUnload(module))
    text = f"On {gpu.title}: {np.median(times[1:]) * 1e3:.1f} µs with the launch, {outcome.trial}."
    interpreted = outcome.out.values.reshape(result.shape)
    if np.array_equal(result.view(np.uint8), interpreted.view(np.uint8)):
        return f"{text} The same bits as interpreted.", None
    with np.errstate(invalid="ignore"):
        difference = float(np.nanmax(np.abs(result.astype(np.float64) - interpreted)))
    scale = float(np.nanmax(np.abs(outcome.wanted)))
    if difference <= 1e-4 * scale:
        # Products and sums that PTX leaves free are contracted by the assembler.
        return f"{text} It differs from the interpreted result by {difference:.3g} at most.", None
    message = f"the result on {gpu.title} differs from the interpreted one by up to {difference:.6g}"
    return text, Finding("wrong", (), message)
