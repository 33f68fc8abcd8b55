"""Compiled CPU functions: called without Numba, and kept on disk."""

import ast
import os
import sys
import threading
import weakref
from pathlib import Path

import llvmlite.binding as llvm
import numpy as np
import pytest

from engine.compiled import machine_code
from engine.compiled.code_store import CodeStore
from engine.compiled.entry_point import entry_point
from engine.compiled.machine_code import MachineFunction
from engine.variants.emit.cpu_vectors import count_one
from tests.fresh_python import fresh_python

ENGINE = Path(machine_code.__file__).parents[1]


def total(values, count, factor, is_doubled, out):
    entry_point()
    result = 0.0
    for index in range(count):
        result += values[0, index] * factor
    out[0] = 2 * result if is_doubled else result


def weighted(given, out):
    """Store a product, and what else a tuple within the tuple has."""
    entry_point()
    values, factor, (is_one, share) = given
    out[0], out[1], out[2] = values[0] * factor, is_one, share


def divided(out):
    """Divide by zero, which compiled code answers with an error."""
    entry_point()
    out[0] = 1 // out[1]


def wait_for(signal, spins):
    """Return when another thread has made the signal large, or after so many looks."""
    entry_point()
    while spins > 0 and count_one(signal, 0) < SIGNAL:
        spins -= 1
    signal[1] = spins


SIGNAL = 1 << 60


@pytest.fixture
def linked(monkeypatch, tmp_path):
    """Return what was linked from disk, under a store of its own."""
    seen, link = [], machine_code._linked

    def watch(content):
        seen.append(content)
        return link(content)

    monkeypatch.setattr(machine_code, "code_store", lambda: CodeStore(tmp_path / "kept"))
    monkeypatch.setattr(machine_code, "_linked", watch)
    return seen


THREE = np.float32(3)


def result_of(factor=THREE, is_doubled=False):
    out = np.empty(1)
    function = MachineFunction(__name__, "total")
    function(np.arange(6, dtype=np.float32).reshape(1, 6), 6, factor, is_doubled, out)
    return out[0]


@pytest.mark.slow
def test_that_the_next_start_loads_what_this_one_compiled(linked, tmp_path):
    assert (result_of(), result_of(is_doubled=True), len(linked)) == (45.0, 90.0, 2)
    assert linked[0] == linked[1]
    # Another type is another function.
    assert (result_of(0.1), len(list((tmp_path / "kept").iterdir()))) == (pytest.approx(1.5, abs=1e-14), 2)


def test_that_arguments_of_a_call_can_be_replaced_and_are_not_kept(linked):
    values, out, given = np.ones((1, 4), np.float32), np.zeros(1), np.full((1, 4), 5, np.float32)
    call = MachineFunction(__name__, "total").call(values, 4, np.float32(2), False, out)
    call.put(0, given)
    call.put(1, 3)
    call()
    assert out[0] == 30.0
    gone = weakref.ref(given)
    del given
    assert gone() is None
    with pytest.raises(TypeError, match="contiguous"):
        MachineFunction(__name__, "total").call(values[:, ::2], 2, np.float32(2), False, out)


def test_that_arguments_in_a_tuple_arrive_in_their_order(linked):
    out = np.zeros(3)
    MachineFunction(__name__, "weighted")((np.array([4.0]), 3, (True, np.float32(0.5))), out)
    assert out.tolist() == [12.0, 1.0, 0.5]


def test_that_other_threads_run_while_compiled_code_does(linked):
    """Else it would look for the signal of this thread in vain."""
    signal = np.zeros(2, np.int64)
    thread = threading.Thread(target=MachineFunction(__name__, "wait_for"), args=(signal, 1 << 32))
    thread.start()
    while signal[0] == 0:
        pass
    signal[0] = SIGNAL
    thread.join()
    assert signal[1] > 0


def test_that_an_error_in_compiled_code_is_raised(linked):
    with pytest.raises(RuntimeError, match="error"):
        MachineFunction(__name__, "divided")(np.zeros(2, np.int64))


def unlinkable(name):
    """Return an object file that calls a function that does not exist."""
    calling = llvm.parse_assembly(f"""
        declare i32 @no_such_function(i64)
        define i32 @"{name.decode()}"(i64 %x) {{
          %r = call i32 @no_such_function(i64 %x)
          ret i32 %r
        }}""")
    return llvm.Target.from_default_triple().create_target_machine(jit=True).emit_object(calling)


@pytest.mark.slow
def test_that_a_whole_file_that_cannot_be_linked_is_compiled_anew(linked, tmp_path):
    """Another program may have written it: its digest is right, and what is in it is not."""
    assert result_of() == 45.0
    (path,) = (tmp_path / "kept").iterdir()
    key, name, _ = path.read_bytes()[32:].split(b"\0", 2)
    nothing = b"", b"no object", b"name\0no object", linked[0][:200], b"other" + linked[0]
    unusable = (*nothing, name + b"\0" + unlinkable(name))
    for content in unusable:
        CodeStore(tmp_path / "kept").save("cpu", key.decode(), content)
        # LLVM itself says on standard error what it did not find.
        assert result_of() == 45.0
    assert [content for content in unusable if content not in linked] == []


@pytest.mark.slow
def test_that_a_start_with_kept_code_imports_no_numba():
    program = """
import sys, numpy, engine
picture = numpy.random.default_rng(1).integers(0, 99, (64, 64)).astype(numpy.uint8)
engine.correlate(picture, [[1, 2, 3]] * 3, device="cpu", variant="cpu-parallel")
engine.list_variants()
print("numba" in sys.modules)
"""
    fresh_python("-c", program)
    assert fresh_python("-c", program) == "False\n"


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs a system that forks")
def test_that_a_child_that_is_forked_while_a_thread_compiles_can_compile():
    program = """
import os, signal, threading, numpy
from engine.compiled import machine_code

arguments = numpy.ones((3, 4)), numpy.ones((1, 2)), 0.0, 1, numpy.zeros((3, 3))
compiles, forks, link = threading.Event(), threading.Event(), machine_code._linked

def linked(code):
    compiles.set()
    assert forks.wait(60)
    return link(code)

def call():
    function = machine_code.MachineFunction("engine.work.filtering.oracle", "sum_cells")
    function(*arguments)

machine_code._linked = linked
thread = threading.Thread(target=call)
thread.start()
assert compiles.wait(60)
os.register_at_fork(before=forks.set)
child = os.fork()
if not child:
    signal.alarm(20)
    call()
    os._exit(0)
thread.join()
print(os.waitpid(child, 0)[1])
"""
    assert fresh_python("-W", "ignore", "-c", program) == "0\n"


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux takes memory of a library back")
@pytest.mark.parametrize("is_own", [True, False], ids=["engine's own process", "user's process"])
def test_that_only_the_engines_own_process_keeps_no_code_of_llvm_and_compiles_without_scipy(is_own, tmp_path):
    program = f"""
import re, sys
from pathlib import Path
import numpy as np
from engine import process
from engine.compiled import machine_code
{"process.take_process(lives_on=True)" if is_own else ""}
halve = machine_code.MachineFunction("engine.host.display_code", "halve")

def megabytes():
    maps = Path("/proc/self/smaps").read_text()
    return sum(map(int, re.findall(r"libllvmlite.*\\n(?:[A-Z].*\\n)*?Rss: +([0-9]+)", maps))) / 1024

source, out = np.full((2, 2, 4), 9, np.uint8), np.zeros((1, 1, 4), np.uint8)
halve(source, out, 0, 1)
print(megabytes() < 5.0, megabytes() > 20.0, "scipy.linalg" in sys.modules and "numba" in sys.modules)
# Another one is compiled and linked after that, and both work.
sums = np.zeros((3, 3))
correlate = machine_code.MachineFunction("engine.work.filtering.oracle", "sum_cells")
correlate(np.ones((3, 4)), np.ones((1, 2)), 0.0, 1, sums)
halve(source, out, 0, 1)
print(out.ravel().tolist(), sums.sum())
if len(sys.argv) > 1:
    import scipy.linalg
    from numba import njit
    print(njit(lambda a: np.dot(a, a))(np.ones((2, 2)))[0, 0])
"""
    memory, values = f"{is_own} {not is_own}", f"{[9] * 4} 18.0\n"
    more = ["products too"] * is_own
    compiling = fresh_python("-c", program, *more, NUMBA_CACHE_DIR=str(tmp_path))
    assert compiling == f"{memory} {not is_own}\n{values}" + "2.0\n" * is_own
    assert fresh_python("-c", program, NUMBA_CACHE_DIR=str(tmp_path)) == f"{memory} False\n{values}"


def test_that_no_function_is_left_to_numbas_own_cache():
    """It raises where the disk is full, and runs whatever a file holds."""
    sources = [path for path in ENGINE.rglob("*.py") if "cache=" in path.read_text(encoding="utf-8")]
    assert sources
    for path in sources:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in ("njit", "jit", "cfunc", "vectorize"):
                assert "cache" not in [keyword.arg for keyword in node.keywords], path
