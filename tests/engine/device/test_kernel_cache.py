"""The kept kernels without a device: real machine code from the compiler, a made-up device that loads nothing."""

import ast
import inspect
from functools import lru_cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from engine.device import kernel_cache
from engine.device.code_store import CodeStore
from engine.device.cuda_kernels import float32, int64, types
from engine.device.kernel_cache import kept_on_disk
from engine.device.numba_cuda import SIMULATED, cuda, missing
from engine.geometry.block import Block
from engine.geometry.border import Border

pytestmark = [
    pytest.mark.nvvm,
    pytest.mark.skipif(bool(SIMULATED or missing), reason="needs the CUDA compiler"),
]
VARIANTS = Path(inspect.getfile(kernel_cache)).parents[1] / "variants"
SIGNATURE = (float32[:, ::1], int64)


def factory(border: Border, scale: int) -> Any:
    @cuda.jit
    def scaled(values: Any, count: Any) -> None:
        values[0, count] *= float32(scale)

    return scaled


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[Any]:
    """Return the functions that were compiled, under a device of compute capability 9.0 that loads anything."""
    from numba.cuda import codegen, dispatcher

    device = SimpleNamespace(compute_capability=(9, 0), id=0)
    made: list[Any] = []
    original = dispatcher._Kernel.__init__

    def counted(self: Any, function: Any, *arguments: Any, **options: Any) -> None:
        made.append(function)
        original(self, function, *arguments, **options)

    monkeypatch.setattr(dispatcher, "get_current_device", lambda: device)
    monkeypatch.setattr(cuda, "get_current_device", lambda: device)
    monkeypatch.setattr(codegen.CUDACodeLibrary, "_ensure_cc", lambda self, cc: cc or (9, 0, "a"))
    monkeypatch.setattr(dispatcher._Kernel, "__init__", counted)
    monkeypatch.setattr(dispatcher._Kernel, "bind", lambda self: self.library.get_cubin())
    monkeypatch.setattr(kernel_cache, "code_store", lambda: CodeStore(tmp_path))
    monkeypatch.delenv(kernel_cache.SWITCH, raising=False)
    return made


def code(kernel: Any) -> tuple[bytes, str, tuple[Any, ...]]:
    return kernel.library.get_cubin().code, kernel.entry_name, kernel.argument_types


def test_that_the_next_process_loads_what_this_one_compiled(compiled: list[Any]) -> None:
    first = kept_on_disk(factory)(Border.ZERO, 3).compile(SIGNATURE)
    second = kept_on_disk(factory)(Border.ZERO, 3).compile(SIGNATURE)
    assert len(compiled) == 1
    assert code(second) == code(first)


def test_that_other_arguments_types_and_devices_are_compiled_for(
    compiled: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = kept_on_disk(factory)
    kept(Border.ZERO, 3).compile(SIGNATURE)
    kept(Border.ZERO, 4).compile(SIGNATURE)
    kept(Border.WRAP, 3).compile(SIGNATURE)
    kept(Border.ZERO, 3).compile((float32[:, ::1], types.int32))
    assert len(compiled) == 4
    older = SimpleNamespace(compute_capability=(8, 6), id=0)
    monkeypatch.setattr(cuda, "get_current_device", lambda: older)
    kept(Border.ZERO, 3).compile(SIGNATURE)
    assert len(compiled) == 5


def test_that_the_environment_switches_it_off(
    compiled: list[Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv(kernel_cache.SWITCH, "0")
    for _ in range(2):
        kept_on_disk(factory)(Border.ZERO, 3).compile(SIGNATURE)
    assert len(compiled) == 2
    assert list(tmp_path.iterdir()) == []


def test_that_code_that_the_driver_refuses_is_compiled_anew(
    compiled: list[Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from numba.cuda import dispatcher

    kept_on_disk(factory)(Border.ZERO, 3).compile(SIGNATURE)

    def bind(self: Any) -> None:
        if not hasattr(self, "fndesc"):  # a rebuilt one has none
            raise RuntimeError("CUDA_ERROR_NO_BINARY_FOR_GPU")
        self.library.get_cubin()

    monkeypatch.setattr(dispatcher._Kernel, "bind", bind)
    kept_on_disk(factory)(Border.ZERO, 3).compile(SIGNATURE)
    assert len(compiled) == 2
    assert len(list(tmp_path.iterdir())) == 1


def test_that_arguments_that_mean_nothing_in_another_process_are_refused() -> None:
    with pytest.raises(TypeError, match="cannot be kept on disk"):
        kept_on_disk(lambda thing: None)(object())


def test_that_arguments_of_equal_text_are_told_apart() -> None:
    plain = [kernel_cache._plain(value) for value in (1, "1", True, (1,), Block(1, 1), Border.ZERO, "zero")]
    assert all(a != b or type(a) is not type(b) for i, a in enumerate(plain) for b in plain[:i])


def test_that_every_kernel_factory_is_kept_on_disk() -> None:
    """`constant` is not: its weights are part of its code, so each edit of a mask would leave a file."""
    forgotten = []
    for path in sorted(VARIANTS.glob("*/*.py")):
        if path.name == "constant.py" or path.parent.name in ("cpu", "ir"):
            continue
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef) and node.name.endswith("kernel"):
                names = [ast.unparse(decorator) for decorator in node.decorator_list]
                if "kept_on_disk" not in names or names[0].partition("(")[0] != lru_cache.__name__:
                    forgotten.append(f"{path.name}: {node.name}")
    assert forgotten == []
