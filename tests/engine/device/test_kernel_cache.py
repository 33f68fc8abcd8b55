"""Kept kernels, and two kinds of device in one process: real machine code, made-up devices."""

import ast
import gc
import inspect
from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest

from engine.device import constant_memory, kept_kernels, kernel_cache
from engine.device.cuda_kernels import PreparedPasses, float32, int64, types
from engine.device.cuda_presence import SIMULATED, missing
from engine.device.kept_kernels import kept_on_disk
from engine.device.kernel_cache import for_current_device
from engine.device.numba_cuda import cuda
from engine.geometry.block import Block
from engine.geometry.border import Border
from engine.mask.mask import Mask
from engine.tasks.filtering.problem import Problem
from engine.tasks.filtering.variants import variant
from tests.engine.device.conftest import NEW, OLD

pytestmark = [
    pytest.mark.nvvm,
    pytest.mark.skipif(bool(SIMULATED or missing), reason="needs the CUDA compiler"),
]
VARIANTS = Path(inspect.getfile(kernel_cache)).parents[1] / "variants"
SIGNATURE = (float32[:, ::1], int64)


def factory(border, scale):
    @cuda.jit
    def scaled(values, count):
        values[0, count] *= float32(scale)

    return scaled


@pytest.fixture
def compiled(select, monkeypatch):
    """Return the functions that were compiled, for a made-up device."""
    from numba.cuda import dispatcher

    made = []
    original = dispatcher._Kernel.__init__

    def counted(self, function, *arguments, **options):
        made.append(function)
        original(self, function, *arguments, **options)

    monkeypatch.setattr(dispatcher._Kernel, "__init__", counted)
    return made


def kept(scale=3, border=Border.ZERO, signature=SIGNATURE):
    """Return a kernel of the factory, as a fresh process makes it."""
    return kept_on_disk(factory)(border, scale).compile(signature)


def code(kernel):
    """Return the machine code that a launch on the selected device would load."""
    return bytes(kernel.library.get_cubin().code)


def machine(kernel):
    """Return the header of the code's ELF file: which device it is for."""
    return code(kernel)[:64]


@pytest.mark.slow
def test_that_the_next_process_loads_what_this_one_compiled(compiled):
    first, second = kept(), kept()
    assert len(compiled) == 1
    assert code(second) == code(first)
    assert (second.entry_name, second.argument_types) == (first.entry_name, first.argument_types)


@pytest.mark.slow
def test_that_other_arguments_types_and_devices_are_compiled_for(compiled, select):
    kept(3)
    kept(4)
    kept(3, Border.WRAP)
    kept(3, signature=(float32[:, ::1], types.int32))
    assert len(compiled) == 4
    select(OLD)
    kept(3)
    assert len(compiled) == 5


def test_that_the_environment_switches_it_off(compiled, monkeypatch, tmp_path):
    monkeypatch.setenv(kernel_cache.SWITCH, "0")
    kept(), kept()
    assert len(compiled) == 2
    assert list(tmp_path.iterdir()) == []


def test_that_code_that_the_driver_refuses_is_compiled_again(compiled, monkeypatch, tmp_path):
    from numba.cuda import dispatcher

    kept()

    def bind(self):
        if not hasattr(self, "fndesc"):  # a rebuilt one has none
            raise RuntimeError("CUDA_ERROR_NO_BINARY_FOR_GPU")
        self.library.get_cubin()

    monkeypatch.setattr(dispatcher._Kernel, "bind", bind)
    kept()
    assert len(compiled) == 2
    assert len(list(tmp_path.iterdir())) == 1


def test_that_arguments_of_equal_text_are_told_apart_and_those_that_mean_nothing_elsewhere_refused():
    plain = [kept_kernels._plain(value) for value in (1, "1", True, (1,), Block(1, 1), Border.ZERO, "zero")]
    assert all(a != b or type(a) is not type(b) for i, a in enumerate(plain) for b in plain[:i])
    with pytest.raises(TypeError, match="cannot be kept on disk"):
        kept_on_disk(lambda thing: None)(object())


@pytest.mark.slow
def test_that_every_kernel_factory_is_kept_on_disk():
    forgotten = []
    for path in sorted(VARIANTS.glob("*/*.py")):
        if path.parent.name in ("cpu", "ir"):
            continue
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef) and node.name.endswith("kernel"):
                names = [ast.unparse(decorator) for decorator in node.decorator_list]
                if "kept_on_disk" not in names or names[0].partition("(")[0] != lru_cache.__name__:
                    forgotten.append(f"{path.name}: {node.name}")
    assert forgotten == []


def test_that_each_kind_of_device_gets_code_of_its_own_compiled_or_from_disk(select):
    found = {OLD: set(), NEW: set()}
    fresh = factory(Border.ZERO, 4)
    # The second kept one is that of the next process: both codes are on disk.
    for kernel in (fresh, kept_on_disk(factory)(Border.ZERO, 4), kept_on_disk(factory)(Border.ZERO, 4)):
        for capability in (NEW, OLD, NEW):
            select(capability)
            found[capability].add(machine(for_current_device(kernel).compile(SIGNATURE)))
    assert [len(headers) for headers in found.values()] == [1, 1]
    assert found[OLD] != found[NEW]
    # Alone, a dispatcher would keep the code that it loaded first, which is for one kind only.
    alone = kept_on_disk(factory)(Border.ZERO, 4)
    select(OLD)
    alone.compile(SIGNATURE)
    select(NEW)
    with pytest.raises(Exception):  # noqa: B017, PT011 - whatever Numba stumbles over
        code(alone.compile(SIGNATURE))


def test_that_devices_of_one_kind_share_a_dispatcher_and_a_factory_keeps_its_own(select):
    one = factory(Border.ZERO, 5)
    assert for_current_device(one) is one
    select(NEW, 1)
    assert for_current_device(one) is one
    select(OLD)
    other = for_current_device(one)
    assert other is not one
    assert for_current_device(one) is other
    before = len(kernel_cache._by_capability)
    del one, other
    gc.collect()
    assert len(kernel_cache._by_capability) == before - 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("key", "shapes"),
    [
        ("constant", 3), ("row-constant", 1), ("cached-constant", 1), ("row-tiled-constant", 1),
        ("row-cached-constant", 1),
    ],
)  # fmt: skip
def test_that_an_edit_of_a_mask_whose_weights_the_host_copies_compiles_nothing(
    compiled, monkeypatch, key, shapes
):
    written = []
    monkeypatch.setattr(PreparedPasses, "_on_device", lambda self, arguments: arguments)
    monkeypatch.setattr(
        constant_memory, "_write", lambda copy, signature, name, values: written.append(values)
    )
    monkeypatch.setattr(cuda, "synchronize", lambda: None)
    chosen, random = variant(key), np.random.default_rng(3)
    for rows, columns in ((1, 5), (5, 5), (63, 63))[:shapes]:
        for _ in range(4):
            mask = Mask(random.standard_normal((rows, columns)))
            problem = Problem(9, 7, mask_shape=mask.shape, anchor=mask.anchor)
            prepared = chosen.prepare(problem, mask, chosen.default_block)
            assert np.array_equal(written[-1][: mask.taps], mask.weights32.ravel())
            del prepared
    assert len(compiled) == 1
    assert len(written) == 4 * shapes


@pytest.mark.slow
@pytest.mark.parametrize("key", ["naive", "separable-l0", "register-blocked", "constant"])
def test_that_a_variant_is_prepared_for_the_device_that_is_selected(select, monkeypatch, key):
    monkeypatch.setattr(PreparedPasses, "_on_device", lambda self, arguments: arguments)
    monkeypatch.setattr(constant_memory, "_write", lambda copy, signature, name, contents: None)
    mask, problem = Mask(np.ones((3, 3))), Problem(9, 7, mask_shape=(3, 3), anchor=(1, 1), border=Border.WRAP)
    found = {OLD: set(), NEW: set()}
    for capability in (NEW, OLD, NEW):
        select(capability, int(capability == NEW))
        prepared = variant(key).prepare(problem, mask, variant(key).default_block)
        (step, _), *_ = prepared._steps
        found[capability].add(machine(step.kernel.overloads[step.signature]))
        if step.constant is not None:
            # Its values are those of one mask: for other arguments it would compile anew, with zeros.
            with pytest.raises(RuntimeError, match="Compilation disabled"):
                step.kernel.compile((int64, int64))
    assert [len(headers) for headers in found.values()] == [1, 1]
    assert found[OLD] != found[NEW]
