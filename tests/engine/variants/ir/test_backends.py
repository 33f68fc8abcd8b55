"""The two backends of emitters: the same operations, and the same results."""

import inspect
import re
from pathlib import Path

import numpy as np
import pytest
from numba import types

from engine.device.numba_cuda import cuda
from engine.variants.ir.cuda_code import CudaCode
from engine.variants.ir.device_function import device_function, opaque_constant
from engine.variants.ir.plain import PLAIN, PlainCode
from tests.engine.variants.emitted import needs_nvvm, on_the_processor

PAGE = Path(__file__).parents[4] / "docs" / "emission.md"
# Arguments and results, words of four samples, PTX and what goes with it: emitters that need these have a
# reference implementation, or do not get there in plain Python.
OF_CUDA_ALONE = {
    "argument", "assembly", "called", "compared", "do_while", "low_byte",
    "multiplied", "packed_word", "parts", "returned", "signed_float32", "statement", "true",
    "value", "while_loop",
}  # fmt: skip
INT64 = types.int64


def operations(backend):
    """Return the operations of a backend, each with the names of its arguments."""
    public = ((name, member) for name, member in inspect.getmembers(backend) if not name.startswith("_"))
    return {
        name: [own for own in inspect.signature(member).parameters if own != "self"]
        if callable(member)
        else []
        for name, member in public
    }


def test_that_the_backends_have_the_same_operations_with_the_same_arguments():
    emitted, plain = operations(CudaCode), operations(PlainCode)
    assert set(emitted) - set(plain) == OF_CUDA_ALONE
    assert set(plain) <= set(emitted)
    assert not {name for name, names in plain.items() if len(names) != len(emitted[name])}


def arithmetic(code, a, b):
    quotient, rest = divmod(a, 7)
    return [
        a + b, 3 - a, a * b - 1, quotient, rest, (a | 8) & 13 ^ 1, a << 2, a >> 1,
        code.larger(a, b),
    ]  # fmt: skip


def branches(code, a, b):
    chosen = code.when(a < b, lambda: [a, b + 1], lambda: [b, a + 2])
    kept = code.when(code.all_of(a != b, code.negated(a < 3)), lambda: a * 10, b)
    return [*chosen, kept, code.select(a >= b, a, -1), code.select(code.is_below(a - 5, 3), 1, b)]


def loops(code, a, b):
    def round_of(number, values):
        total = values[0]
        return [total + a + code.wide(number), [total]]

    total, (last,) = code.repeat(5, [b, [a]], round_of)
    return [total, last]


@pytest.mark.parametrize(("emit", "count"), [(arithmetic, 9), (branches, 5), (loops, 2)])
def test_that_numbers_branches_and_loops_are_the_same_in_both_backends(emit, count):
    function = device_function(types.UniTuple(INT64, count), emit)
    run = on_the_processor(function)
    for a, b in ((0, 0), (2, 9), (5, 1), (7, 7), (40, 3)):
        assert run(a, b) == function.py_func(a, b)


def test_that_memory_is_the_same_in_both_backends():
    def spread(code, array, out, first):
        source, target = code.pointer(array), code.pointer(out)
        for row in code.loop(code.narrow(first), 6, 2):
            for _ in code.where(row != 2):
                (target + row * 4).store((source + row * 4).load(4))
        (target + 3).store(code.load_row(source + 1, 3, 1)[2])

    function = device_function(types.void, spread)
    array = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    emitted, plain = np.zeros_like(array), np.zeros_like(array)
    on_the_processor(function)(array, emitted, 0)
    function.py_func(array, plain, 0)
    wanted = np.zeros(24, np.float32)
    wanted[[0, 1, 2, 3]] = [0, 1, 2, 3]
    wanted[16:20] = [16, 17, 18, 19]
    assert emitted.ravel().tolist() == plain.ravel().tolist() == wanted.tolist()


def test_that_the_compiler_does_not_know_an_opaque_constant():
    assert [opaque_constant(value).py_func() for value in (1, 4)] == [1, 4]
    assert PLAIN.opaque(4) == 4


@pytest.mark.slow
@needs_nvvm
def test_that_what_the_page_on_emission_says_is_so():
    blocks = dict.fromkeys(("python", "ptx"), "")
    for language, text in re.findall(r"```(\w+)\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL):
        blocks[language] += text
    names = {}
    exec(compile(blocks["python"], str(PAGE), "exec"), names)
    signature = (types.float32, types.float32, types.float32[::1])
    ptx, _ = cuda.compile_ptx(names["kernel"], signature, cc=(9, 0))
    made = re.findall(r"^\s*((?:ld\.shared|fma)\S*)", ptx, re.MULTILINE)
    assert made == blocks["ptx"].split()
    assert sum(map(bool, PAGE.read_text(encoding="utf-8").splitlines())) <= 60
