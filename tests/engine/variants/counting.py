"""Runs the CUDA variants' own source in plain Python with arrays that count, to check the models of work.

Each kernel's source is parsed, `cuda.syncthreads()` and `cuda.syncwarp()` become `yield`, and the threads of
a block run as generators from barrier to barrier: in an arbitrary order between two of them, so that a thread
that should have waited for another is noticed whichever of them comes first in the block. Nothing else of the
source is changed.
"""

import ast
import inspect
import itertools
import random
import textwrap
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from types import SimpleNamespace

import numpy as np

from engine.device.launches import Between, Operand, Placeholder


@dataclass
class Counts:
    """Accesses by single elements, and multiplications."""

    picture_loads: int = 0
    weight_loads: int = 0
    scratch_loads: int = 0
    scratch_stores: int = 0
    out_stores: int = 0
    out_loads: int = 0
    shared_loads: int = 0
    shared_stores: int = 0
    constant_loads: int = 0
    matrix_loads: int = 0
    multiplications: int = 0
    # A list gets each access of memory by a thread: block, thread, array, "loads" or "stores", index.
    trace: list | None = None
    place: SimpleNamespace = field(default_factory=SimpleNamespace)
    out: np.ndarray = field(default_factory=lambda: np.empty(0))


class Number:
    """A float32, or a float64, that counts its multiplications; of both together float64 comes out."""

    __array_ufunc__ = None
    __slots__ = ("counts", "value")

    def __init__(self, value, counts, kind=np.float32):
        if type(value) is not kind:
            value = kind(value.value if isinstance(value, Number) else value)
        self.value, self.counts = value, counts

    def _number(self, other):
        return other.value if isinstance(other, Number) else np.float32(other)

    def _made(self, value):
        # Past `__init__`: 12 million of them in the tests of the models, which are half of their time.
        made = object.__new__(Number)
        made.value, made.counts = value, self.counts
        return made

    def __mul__(self, other):
        self.counts.multiplications += 1
        return self._made(self.value * self._number(other))

    def __add__(self, other):
        return self._made(self.value + self._number(other))

    def __sub__(self, other):
        return self._made(self.value - self._number(other))

    def __rsub__(self, other):
        return Number(self._number(other) - self.value, self.counts)

    def __truediv__(self, other):
        return Number(self.value / self._number(other), self.counts)

    def __neg__(self):
        return Number(-self.value, self.counts)

    __rmul__, __radd__, __hash__ = __mul__, __add__, None

    def __eq__(self, other):
        return bool(self.value == self._number(other))

    def __le__(self, other):
        return bool(self.value <= self._number(other))

    def __int__(self):
        return int(self.value)

    def __gt__(self, other):
        return bool(self.value > self._number(other))

    def __lt__(self, other):
        return bool(self.value < self._number(other))

    def __ge__(self, other):
        return bool(self.value >= self._number(other))

    def __float__(self):
        return float(self.value)


class CountingArray:
    """An array that counts the elements that are read and written one by one, and refuses indices outside.

    `kind` is what `counts` calls it: picture, weight, scratch, out, shared, constant or matrix.
    """

    def __init__(self, values, counts, kind):
        self.values, self.counts, self.kind, self.shape = values, counts, kind, values.shape
        self._has_samples = values.dtype == np.float32
        # The kernels and the models make seven million accesses: what each needs is looked up once.
        self._loads, self._stores = f"{kind}_loads", f"{kind}_stores"
        self._numbers, self._trace, self._place = vars(counts), counts.trace, counts.place

    def _note(self, name, what, index):
        self._numbers[name] += 1
        if self._trace is not None:
            self._trace.append((self._place.block, self._place.thread, self, what, index))
        # NumPy refuses what lies past the end.
        if isinstance(index, tuple):
            assert len(index) == len(self.shape), (index, self.shape)
            assert min(index) >= 0, (index, self.shape)
        else:
            assert len(self.shape) == 1, (index, self.shape)
            assert index >= 0, (index, self.shape)

    def __getitem__(self, index):
        self._note(self._loads, "loads", index)
        value = self.values[index]
        return Number(value, self.counts) if self._has_samples else value

    def ravel(self):
        """Return the same elements in one row, which are counted alike."""
        return CountingArray(self.values.ravel(), self.counts, self.kind)

    def __setitem__(self, index, value):
        self._note(self._stores, "stores", index)
        self.values[index] = float(value)


def count(variant, problem, mask, block, image, trace=None):
    """Run a CUDA variant's passes thread by thread and count; write a trace of each access if wanted.

    The rows of the picture and of the result are padded with what must not be read or counted.
    """
    counts = Counts(trace=trace)
    padded = np.full((problem.height, problem.width + 3, problem.channels), 77, image.dtype)
    padded[:, : problem.width] = image
    shape = padded.shape
    out = np.full(shape, 77 if problem.is_quantised else np.nan, problem.result_dtype)
    padding = out[:, problem.width :].copy()
    arrays = {
        Operand.IMAGE: CountingArray(padded, counts, "picture"),
        Operand.SCRATCH: CountingArray(np.full(shape, np.nan, np.float32), counts, "scratch"),
        Operand.OUT: CountingArray(out, counts, "out"),
    }
    for step in variant.passes(problem, mask, block):
        run_pass(step, counts, arrays)
    counts.out = arrays[Operand.OUT].values[:, : problem.width]
    assert np.array_equal(out[:, problem.width :], padding, equal_nan=not problem.is_quantised)
    return counts


def result_of(variant, problem, mask, block, image):
    """Return a variant's result: of a CUDA kernel by its own source, thread by thread."""
    if variant.has_kernels:
        return count(variant, problem, mask, block, image).out
    out = np.empty(image.shape, problem.result_dtype)
    variant.prepare(problem, mask, block).launch(image, out)
    return out


def run_pass(step, counts, arrays, *, in_order=False):
    """Run one kernel over its whole grid, block by block; between barriers in thread order if `in_order`."""

    def counted(argument):
        if isinstance(argument, Placeholder | Between):
            return arrays[argument]
        if isinstance(argument, np.ndarray):
            return CountingArray(argument, counts, "weight" if step.constant is None else "constant")
        return Number(argument, counts) if isinstance(argument, np.float32) else argument

    place = counts.place
    kernel = _as_generator(step.kernel.py_func, _fake_cuda(place, step, counts), counts)
    arguments = [counted(argument) for argument in step.arguments]
    shuffle = (lambda threads: None) if in_order else random.Random(step.name).shuffle
    for place.block in itertools.product(*map(range, step.launch.grid)):
        place.shared, place.asked = [], {}
        threads = itertools.product(*map(range, step.launch.block))
        warps = _warps(((thread, kernel(*arguments)) for thread in threads), step.launch.block)
        while warps:
            shuffle(warps)
            warps = [left for warp in warps if (left := _until_block_waits(place, warp, shuffle))]


def _warps(threads, block):
    """Return the threads of a block warp by warp: 32 of them in a row, x first."""
    warps = defaultdict(list)
    for (x, y, z), run in threads:
        warps[(x + block[0] * (y + block[1] * z)) // 32].append(((x, y, z), run))
    return list(warps.values())


def _until_block_waits(place, warp, shuffle):
    """Run a warp's threads up to their next barrier of the whole block, and return those that met one."""
    waiting = []
    while warp:
        shuffle(warp)
        met = {"syncthreads": [], "syncwarp": [], None: []}
        for place.thread, run in warp:
            met[next(run, None)].append((place.thread, run))
        waiting += met["syncthreads"]
        # All others of the warp are at its own barrier, too, by now, or have nothing more to do.
        warp = met["syncwarp"]
    return waiting


@dataclass
class _Axes:
    """`cuda.threadIdx` and its like: x, y, z of what is running now."""

    now: Callable[[], tuple[int, ...]]
    x = property(lambda self: self.now()[0])
    y = property(lambda self: self.now()[1])
    z = property(lambda self: self.now()[2])


def _fake_cuda(place, step, counts):
    block = step.launch.block

    def shared_array(shape, dtype, alignment=None):
        # The first of a block's threads makes each array; the others, asking in the same order, get the same.
        number = place.asked[place.thread] = place.asked.get(place.thread, -1) + 1
        if number == len(place.shared):
            # Bytes of pictures count as samples: numbers that count their multiplications.
            kind = np.int64 if "int" in str(dtype) and str(dtype) != "uint8" else np.float32
            empty = np.full(shape, np.nan if kind is np.float32 else -(2**62), kind)
            place.shared.append(CountingArray(empty, counts, "shared"))
        return place.shared[number]

    def grid(dimensions):
        at = tuple(b * side + t for b, side, t in zip(place.block, block, place.thread, strict=True))
        return at[0] if dimensions == 1 else at[:dimensions]

    def add(array, place, value):
        array[place] = array[place] + value

    def constant(array):
        return CountingArray(array, counts, "constant")

    return SimpleNamespace(
        grid=grid,
        threadIdx=_Axes(lambda: place.thread),
        blockIdx=_Axes(lambda: place.block),
        blockDim=_Axes(lambda: block),
        shared=SimpleNamespace(array=shared_array),
        const=SimpleNamespace(array_like=constant),
        # A thread's own, which the models of work leave out.
        local=SimpleNamespace(array=lambda shape, dtype: [None] * shape),
        atomic=SimpleNamespace(add=add),
    )


class _BarriersYield(ast.NodeTransformer):
    def visit_Expr(self, node):
        called = ast.unparse(node.value.func) if isinstance(node.value, ast.Call) else ""
        if called in ("cuda.syncthreads", "cuda.syncwarp"):
            return ast.copy_location(ast.Expr(ast.Yield(ast.Constant(called.partition(".")[2]))), node)
        return self.generic_visit(node)


def _as_generator(function, cuda, counts):
    """Return the kernel as a generator function that yields at barriers, with stand-ins for Numba's names."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    definition = _BarriersYield().visit(tree.body[0])
    definition.decorator_list = []
    # A kernel without a barrier must become a generator too.
    definition.body.append(ast.parse("if False: yield").body[0])
    code = compile(ast.fix_missing_locations(tree), function.__code__.co_filename, "exec")
    closed = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    names = function.__globals__ | {name: cell.cell_contents for name, cell in closed.items()}
    # Device functions run as the plain functions that they are.
    names |= {name: value.py_func for name, value in names.items() if hasattr(value, "py_func")}
    names |= {"cuda": cuda, "float32": lambda value: Number(value, counts)}
    names["float64"] = lambda value: Number(value, counts, np.float64)
    exec(code, names)
    return names[definition.name]
