"""Machine code of kernels, kept on disk, for two kinds of device: real code, made-up devices."""

import ast
from pathlib import Path

import numpy as np
import pytest

import engine.variants
from engine.device import cuda_kernels, kernel_factory, loaded_kernel
from engine.device.device_list import missing
from engine.device.numba_cuda import cuda, float32, int64, types
from engine.geometry.block import Block
from engine.geometry.border import Border
from engine.mask.mask import Mask
from engine.work.filtering.variants import variant
from engine.work.problem import Problem
from tests.engine.device.conftest import NEW, OLD, Loaded

if not missing:
    from engine.device import kernel_code, loaded_kernel

pytestmark = [pytest.mark.nvvm, pytest.mark.skipif(bool(missing), reason="needs the CUDA compiler")]
SIGNATURE = (float32[:, ::1], int64)


def factory(border, scale):
    @cuda.jit
    def scaled(values, count):
        values[0, count] *= float32(scale)

    return scaled


@pytest.fixture
def compilations(select, monkeypatch):
    """Return the kernels that were compiled, for a made-up device."""
    made, compiled = [], kernel_code.compiled

    def counted(kernel, signature, capability):
        made.append(kernel)
        return compiled(kernel, signature, capability)

    monkeypatch.setattr(kernel_code, "compiled", counted)
    return made


def fresh(scale=3, border=Border.ZERO):
    """Return a kernel of the factory, as a fresh process makes it."""
    return kernel_factory.kernel_factory(factory)(border, scale)


def code(kernel, signature=SIGNATURE):
    """Return the machine code that a launch on the selected device would load."""
    return loaded_kernel.loaded_kernel(kernel, signature).code


@pytest.mark.slow
def test_that_the_next_process_loads_what_this_one_compiled_and_compiles_for_other_arguments(compilations):
    assert code(fresh()) == code(fresh())
    assert len(compilations) == 1
    code(fresh(4))
    code(fresh(3, Border.WRAP))
    code(fresh(3), (float32[:, ::1], types.int32))
    assert len(compilations) == 4


@pytest.mark.slow
def test_that_the_environment_switches_it_off(compilations, monkeypatch, tmp_path):
    monkeypatch.setenv(kernel_code.SWITCH, "0")
    code(fresh()), code(fresh())
    assert len(compilations) == 2
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_that_code_that_the_driver_refuses_is_compiled_again(compilations, monkeypatch, tmp_path):
    code(fresh())
    refusals = [RuntimeError("CUDA_ERROR_NO_BINARY_FOR_GPU")]

    def load(content, signature):
        if refusals:
            raise refusals.pop()
        return Loaded(content, signature)

    monkeypatch.setattr(loaded_kernel, "LoadedKernel", load)
    code(fresh())
    assert len(compilations) == 2
    assert len(list(tmp_path.iterdir())) == 1


def test_that_arguments_of_equal_text_are_told_apart_and_what_only_this_process_knows_is_refused():
    values = (1, "1", True, (1,), Block(1, 1), Border.ZERO, "zero")
    assert len({kernel_factory._text_of((value,)) for value in values}) == len(values)
    with pytest.raises(TypeError, match="cannot be kept on disk"):
        kernel_factory.kernel_factory(lambda thing: factory(thing, 1))(object())


def test_that_every_kernel_factory_is_declared():
    forgotten = []
    (variants,) = engine.variants.__path__
    for path in sorted(Path(variants).glob("*/*.py")):
        if path.parent.name in ("cpu", "ir"):
            continue
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef) and node.name.endswith("kernel"):
                decorators = [ast.unparse(decorator) for decorator in node.decorator_list]
                if decorators != [kernel_factory.kernel_factory.__name__]:
                    forgotten.append(f"{path.name}: {node.name}")
    assert forgotten == []


@pytest.mark.slow
def test_that_each_kind_of_device_gets_code_of_its_own_compiled_or_from_disk(select):
    found = {OLD: set(), NEW: set()}
    # The second kernel is that of the next process: both codes are on disk.
    for kernel in (factory(Border.ZERO, 4), fresh(4), fresh(4)):
        for capability in (NEW, OLD, NEW):
            select(capability)
            # The flags in the ELF header say which device the code is for. Other fields depend on how long
            # names are, in which Numba counts functions.
            found[capability].add(code(kernel)[48:52])
    assert [len(headers) for headers in found.values()] == [1, 1]
    assert found[OLD] != found[NEW]


@pytest.mark.slow
def test_that_devices_of_one_kind_share_a_loaded_kernel(select):
    kernel = factory(Border.ZERO, 5)
    first = loaded_kernel.loaded_kernel(kernel, SIGNATURE)
    select(NEW, 1)
    assert loaded_kernel.loaded_kernel(kernel, SIGNATURE) is first


@pytest.mark.slow
@pytest.mark.parametrize(
    ("key", "shapes"),
    [
        ("constant", 3), ("row-constant", 1), ("cached-constant", 1), ("row-tiled-constant", 1),
        ("row-cached-constant", 1),
    ],
)  # fmt: skip
def test_that_an_edit_of_a_mask_whose_weights_the_host_copies_compiles_nothing(
    compilations, monkeypatch, key, shapes
):
    written = []
    monkeypatch.setattr(cuda_kernels, "_on_device", lambda arguments: arguments)
    monkeypatch.setattr(Loaded, "write", lambda self, name, values: written.append(values))
    monkeypatch.setattr(cuda, "synchronize", lambda: None)
    chosen, random = variant(key), np.random.default_rng(3)
    for rows, columns in ((1, 5), (5, 5), (63, 63))[:shapes]:
        for _ in range(4):
            mask = Mask(random.standard_normal((rows, columns)))
            problem = Problem(9, 7, mask_shape=mask.shape, anchor=mask.anchor)
            prepared = chosen.prepare(problem, mask, chosen.default_block)
            assert np.array_equal(written[-1][: mask.taps], mask.weights32.ravel())
            del prepared
    assert len(compilations) == 1
    assert len(written) == 4 * shapes
