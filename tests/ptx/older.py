"""The code of kernels for older devices than the simulator's: compiled beside that, and checked alike."""

import re
from contextlib import contextmanager
from functools import cache
from inspect import signature
from unittest import mock

from numba.cuda import compiler

from engine.geometry.block import Limits
from tests.engine.variants.emitted import assert_as_planned, compiled

CAPABILITIES = (7, 5), (8, 6), (9, 0)


@contextmanager
def numbas_part_kept():
    """Let Numba compile each kernel once for all capabilities.

    That takes three quarters of the time, and does not depend on the capability
    (`test_that_one_compilation_serves_all_capabilities`); NVVM's part does.
    """
    by_numba = compiler._compile_pyfunc_with_fixup

    @cache
    def library(function, signature, *options):
        return by_numba(function, signature, cc=(9, 0), **dict(options))

    def part_of(function, signature, cc=None, **options):
        return library(function, signature, *options.items())

    with mock.patch.object(compiler, "_compile_pyfunc_with_fixup", part_of):
        yield


def checked(step, oldest=CAPABILITIES[0], **kinds):
    """Check that the code of a pass for the newest and the oldest devices is as planned; return both."""
    both = compiled(step), compiled(step, oldest)
    for ptx, capability in zip(both, (CAPABILITIES[-1], oldest), strict=True):
        assert_as_planned(ptx, step.launch, **kinds)
        assert re.search(r"^\.target sm_{}{}a?\b".format(*capability), ptx, re.MULTILINE)
    return both


def checked_filter(variant, case, step):
    """Return the same of a pass of a filter, and check its sums and its places."""
    refusals = [
        variant.unsupported(case.problem(), case.mask(), case.block, Limits(compute_capability=one))
        for one in CAPABILITIES
    ]
    assert all(one is None or "compute capability" in str(one) for one in refusals)
    both = checked(step, CAPABILITIES[refusals.index(None)], sums_in_float64=variant.float64_sums)
    for ptx in both:
        assert ("mul.f32" if variant.float64_sums else "fma.rn.f32") in ptx
        assert_places_have_64_bits(ptx, strip_rows_of(step, ptx))
    return both


def strip_rows_of(step, ptx):
    """Return the registers with the rows of a strip: a block's number times these is a row of the picture."""
    at = 0
    for name, argument in zip(signature(step.kernel.py_func).parameters, step.signature, strict=True):
        if name == "strip_rows":
            found = re.findall(rf"ld\.param\.u64\s+(%rd\d+), \[\w+_param_{at}\];", ptx)
            return set(re.findall(rf"cvt\.u32\.u64\s+(%r\d+), {found[0]};", ptx)) if found else set()
        at += 5 + 2 * argument.ndim if hasattr(argument, "ndim") else 1
    return set()


def assert_places_have_64_bits(ptx, rows=frozenset()):
    """Check that places in pictures past 2^31 samples are right; `rows` are registers with rows of strips."""
    blocks = set(re.findall(r"mov\.u32\s+(%r\d+), %ctaid\.[xy];", ptx))
    assert blocks
    # A column or a row, the block's times a constant, fits 32 bits
    # (`engine.work.problem.MAX_SIDE`); a row times the pitch does not.
    factors = re.findall(r"\b(?:mul|mad)\.lo\.[sbu]32\s+%r\d+, (%?\w+), (%?\w+)", ptx)
    pairs = [pair for pair in factors if blocks & set(pair) and all(one[0] == "%" for one in pair)]
    assert [pair for pair in pairs if not rows & set(pair)] == []
    assert re.search(WIDE, ptx)


# A row times the pitch.
WIDE = r"\bmul\.wide\.[su]32\b|\b(?:mul|mad)\.lo\.[su]64\b"
