"""Emitters compiled for this machine's processor, cells by the border's rule, counted kernels, PTX."""

import re
from functools import cache

import numpy as np
import pytest
from llvmlite import ir
from numba import config, njit
from numba.cuda import compiler
from numba.extending import intrinsic

from engine.compiled.code_store import code_store
from engine.device.cuda_presence import missing
from engine.geometry.block import Limits
from engine.variants.ir.cuda_code import CudaCode
from engine.variants.ir.llvm import definition
from engine.variants.ir.value import F32, I32, I64
from tests.engine.variants.cases import verified
from tests.engine.variants.counting import count


class ProcessorCode(CudaCode):
    """The operations as plain instructions: copies that nobody waits for, constant memory, PTX."""

    def weights(self, array, count, pitch, first=0):
        """Return the pointer to weights in an array that has them as constant memory would."""
        return self.pointer(array) + first

    def copy_ahead(self, target, source, count, only_if=None, target_at=0, source_at=0):
        """Copy with loads and stores; nothing where a device would refuse addresses that are not aligned."""
        itemsize = 4 if target.llvm.type.pointee == F32 else 1
        target, source = target + target_at, source + source_at
        addresses = [self.value(self.builder.ptrtoint(one.llvm, I64)) for one in (target, source)]
        past = (addresses[0] | addresses[1]) & (itemsize * count - 1)
        condition = past == 0 if only_if is None else self.all_of(past == 0, only_if)
        for _ in self.where(condition):
            for k in range(count):
                (target + k).store((source + k).load())

    def close_group(self):
        """Do nothing: copies have arrived."""

    def load_bytes(self, pointer, words):
        """Load words and take their bytes with shifts."""
        loaded = pointer.pointing_to(I32).load(words)
        return [self.float32((word >> 8 * byte) & 255) for word in loaded for byte in range(4)]

    def quantised(self, value, itemsize):
        """Convert whole numbers that the type has."""
        return self.value(self.builder.fptoui(value.llvm, ir.IntType(8 * itemsize)))

    def packed_word(self, values):
        """Put whole numbers from 0 to 255 together."""
        word = self.integer(0)
        for k, value in enumerate(values):
            word = word | (self.quantised(value, 1).zext(I32) << 8 * k)
        return word

    def statement(self, text, constraints, arguments, result=None):
        """Do nothing: one lane after another waits for none."""
        assert text.startswith("bar.warp.sync")


def unoptimised(function):
    """Return a function compiled for this machine, in half the time that optimised code takes."""
    made = njit(no_cfunc_wrapper=True)(function)
    compile_optimised = made._compiler.compile

    def compile_only(*arguments):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(config, "OPT", type(config.OPT)(0))
            return compile_optimised(*arguments)

    made._compiler.compile = compile_only
    return made


def on_the_processor(function):
    """Return what a kernel calls as a function compiled for this machine."""
    emitted = intrinsic(definition(function.returns, function.emit, ProcessorCode))
    return unoptimised(lambda *arguments: emitted(*arguments))


class BytesOfWords:
    """Stands in for `CudaCode`: words are lists of 4 things, a permutation picks from the 8 of two words."""

    def assembly(self, line, kinds, arguments, result):
        """Do what a `prmt` says."""
        found = re.fullmatch(r"prmt\.b32 \$0, \$1, \$2, (\d+);", line)
        assert found
        both = arguments[0] + arguments[1]
        return [both[int(found[1]) >> 4 * place & 7] for place in range(4)]


NEEDS_NVVM = pytest.mark.nvvm, pytest.mark.skipif(bool(missing), reason=missing or "numba-cuda is there")
RANDOM = np.random.default_rng(11)
GHOST, GUARD = 7, 16


def needs_nvvm(test):
    """Mark a test that compiles kernels: it needs NVVM, no device."""
    for mark in NEEDS_NVVM:
        test = mark(test)
    return test


def whole(shape, most):
    """Return whole numbers up to `most`, as float32: sums of their products are exact."""
    return RANDOM.integers(-most, most + 1, shape).astype(np.float32)


def on_both(function):
    """Return what runs an emitter on this machine's processor and on plain numbers; both have to agree."""
    compiled = on_the_processor(function)

    def run(*arguments):
        emitted, plain = compiled(*arguments), function.py_func(*arguments)
        assert [float(value) for value in emitted] == [float(value) for value in plain]
        return [float(value) for value in emitted]

    return run


def cells_by_rule(image, border, top, rows, left, samples):
    """Return the cells of a tile as the border's rule has them; GHOST where it has none."""
    height, width, channels = image.shape
    ys = np.array([border.rule(top + row, height) for row in range(rows)])
    columns = [divmod(left + sample, channels) for sample in range(samples)]
    xs = np.array([border.rule(column, width) for column, _ in columns])
    found = image[ys[:, None], xs[None, :], np.array([channel for _, channel in columns])[None, :]]
    return np.where((ys[:, None] >= 0) & (xs[None, :] >= 0), found, GHOST)


def check_loaded(load, border, shape, rows, channels, dtype, places=slice(None), *, last_needs_less=False):
    """Check that a loader fills rows of a tile with what the border says, wherever it lies, and no more.

    `last_needs_less` says whether it leaves out cells that only results past the picture need.
    """
    # Rows that begin anywhere; padded ones; some tiles lie inside; smaller than a vector.
    for height, width, row_pixels in ((7, 35, 35), (9, 45, 48), (14, 480, 480), (2, 1, 1)):
        samples, pitch = width * channels, shape.tile_samples
        image = RANDOM.integers(0, 256, (height, row_pixels, channels)).astype(dtype)
        # The second one ends a row below the picture, the third one with it.
        for top in (-2, height - rows + 1, height - rows, height - 1):
            for left in range(-shape.before, samples, shape.out_samples):
                tile = np.full(pitch * rows + 2 * GUARD, 999, np.float32)
                load((tile, GUARD), image, samples, top, left, np.float32(GHOST))
                wanted = cells_by_rule(image[:, :width], border, top, rows, left, pitch).astype(np.float32)
                found = tile[GUARD:-GUARD].reshape(rows, -1)[:, places]
                if last_needs_less:
                    unneeded = max(left + shape.before + shape.out_samples - samples, 0) // 4 * 4
                    wanted[:, pitch - unneeded :] = 999
                assert np.array_equal(found, wanted), (width, top, left)
                assert np.all(tile[:GUARD] == 999)
                assert np.all(tile[-GUARD:] == 999)


def check_counted(variant, problem, mask, image, block=None, uncounted=""):
    """Run a variant's own source on plain numbers: its results agree, and its model counts what it does."""
    block = block or variant.default_block
    counts, model = count(variant, problem, mask, block, image), variant.work(problem, block)
    verified(counts.out, image, mask, problem)
    for name in {"picture_loads", "shared_loads", "shared_stores", "constant_loads"} - {uncounted}:
        assert getattr(model, name) == getattr(counts, name), name
    assert model.flops == 2 * counts.multiplications
    return counts


def refused(variant, problem, mask, limits=None, block=None):
    """Return the reason of a refusal, which offers no block; empty where there is none."""
    refusal = variant.unsupported(problem, mask, block or variant.default_block, limits or Limits())
    assert refusal is None or refusal.nearest_block is None
    return str(refusal) if refusal else ""


@cache
def _library(kernel, signature, options):
    return compiler._compile_pyfunc_with_fixup(
        kernel.py_func, signature, device=False, abi="numba", cc=(9, 0), **dict(options)
    )[0]


def compiled(step, capability=(9, 0), **options):
    """Return the PTX of a pass for a compute capability, as `cuda.compile_ptx` does.

    Numba's part of the compilation, three quarters of the time, does not depend on the capability: it is done
    once a kernel, NVVM's once for each capability (`test_that_one_compilation_serves_all_capabilities`).
    """

    def compile_now():
        (ptx,) = _library(step.kernel, step.signature, tuple(options.items())).get_asm_strs(cc=capability)
        return ptx

    return kept_ptx(step, capability, str(sorted(options.items())), compile_now)


def kept_ptx(step, capability, options, compile_now):
    """Return the PTX of a pass with these options, kept as the program keeps machine code.

    It is compiled anew once a source of the kernels changes: that took 99 of the 105 s of `tests/ptx`.
    """
    from engine.device.kernel_code import key_of  # There is none without NVVM.

    key = key_of(step.kernel, step.signature, capability)
    if key is None:
        return compile_now()
    found = code_store().load("plain-ptx", f"{key} {options}")
    if found is None:
        found = compile_now().encode()
        code_store().save("plain-ptx", f"{key} {options}", found)
    return found.decode()


def ptx_of(variant, problem, mask, capability=(9, 0), **options):
    """Return what the compiler makes of a variant's one pass; it keeps nothing in local memory."""
    (step,) = variant.passes(problem, mask, variant.default_block)
    ptx = compiled(step, capability, **options)
    assert re.findall(r"__local_depot|\b(?:ld|st)\.local|\.ftz", ptx) == []
    return ptx


def multiply_adds(ptx):
    """Return the multiply-adds in the code, with those that begin a sum and add nothing."""
    return ptx.count("fma.rn.f32") + ptx.count("mul.f32")
