"""The interpreter beside the device, instruction by instruction: the same bits."""

import ctypes

import numpy as np
import pytest
from cuda.bindings import driver

from engine import ptx
from engine.device.cuda_memory import check
from engine.device.numba_cuda import cuda
from engine.ptx.arithmetic import DTYPES
from tests.engine.ptx.spellings import (
    APPROXIMATE,
    VALUES,
    divisions,
    kernel_of,
    module_of,
    spellings,
    values_of,
)

pytestmark = pytest.mark.gpu

EXACT = spellings() | divisions()


def results_of(table):
    """Return for each opcode its operands, what the device gives, and what the interpreter gives."""
    cuda.current_context()
    names = {opcode: f"k{number}" for number, opcode in enumerate(table)}
    text = module_of([kernel_of(names[opcode], opcode, *table[opcode]) for opcode in table])
    module = check(driver.cuModuleLoadData(text.encode() + b"\0"))
    for opcode, (result, operands) in table.items():
        random = np.random.default_rng(len(opcode))
        given = [values_of(kind, random) for kind in operands]
        if opcode in divisions():
            given[1][given[1] == 0] = 1
        dtype = np.dtype(np.uint32) if result == "pred" else DTYPES[result]
        found = np.zeros(VALUES, dtype)
        arrays = [cuda.to_device(one) for one in (*given, found)]
        addresses = [ctypes.c_uint64(one.device_ctypes_pointer.value) for one in arrays]
        pointers = (ctypes.c_void_p * len(addresses))(*map(ctypes.addressof, addresses))
        function = check(driver.cuModuleGetFunction(module, names[opcode].encode()))
        check(
            driver.cuLaunchKernel(
                function, VALUES // 128, 1, 1, 128, 1, 1, 0, 0, ctypes.addressof(pointers), 0
            )
        )
        cuda.synchronize()
        own = np.zeros(VALUES, dtype)
        interpreted = [ptx.Array(f"a{number}", one) for number, one in enumerate((*given, own))]
        ptx.run(text, names[opcode], (VALUES // 128,), (128,), interpreted)
        yield opcode, given, arrays[-1].copy_to_host(), own


def different(found, own):
    """Return where bits differ; any NaN of a float is as good as any other."""
    unlike = found.view(f"u{found.itemsize}") != own.view(f"u{own.itemsize}")
    return unlike & ~(np.isnan(found) & np.isnan(own)) if found.dtype.kind == "f" else unlike


def test_that_every_instruction_has_the_bits_of_the_device():
    bad = {}
    for opcode, given, found, own in results_of(EXACT):
        unlike = np.flatnonzero(different(found, own))
        if len(unlike):
            at = unlike[0]
            bad[opcode] = (len(unlike), [one[at].item() for one in given], found[at].item(), own[at].item())
    assert bad == {}


def test_that_approximations_are_near_those_of_the_device():
    for opcode, _, found, own in results_of(APPROXIMATE):
        is_finite = (
            np.isfinite(found) & np.isfinite(own) & (np.abs(own) > 2.0**-126) & (np.abs(own) < 2.0**126)
        )
        error = np.abs(found[is_finite].astype(np.float64) - own[is_finite])
        # Two units in the last place of the device's, one of rounding; `lg2` near 1 by an absolute error.
        assert (
            error <= 4 * 2.0**-23 * np.abs(own[is_finite]) + 2.0**-22 * (opcode == "lg2.approx.f32")
        ).all(), opcode
