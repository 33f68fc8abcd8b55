"""Every spelling of an instruction runs; values against Python's exact arithmetic."""

from fractions import Fraction

import numpy as np
import pytest

from engine import ptx
from engine.ptx import arithmetic
from engine.ptx.arithmetic import DTYPES
from tests.engine.ptx.spellings import VALUES, divisions, kernel_of, module_of, spellings, values_of

EVERY = spellings() | divisions()


def applied(opcode, result, operands):
    """Return the operands and the results of an instruction on random and special values."""
    random = np.random.default_rng(len(opcode))
    given = [values_of(kind, random) for kind in operands]
    if opcode in divisions():
        given[1][given[1] == 0] = 1
    out = np.zeros(VALUES, np.uint32 if result == "pred" else DTYPES[result])
    arrays = [ptx.Array(f"operand {number}", one) for number, one in enumerate((*given, out))]
    run = ptx.run(
        module_of([kernel_of("k", opcode, result, operands)]), "k", (VALUES // 128,), (128,), arrays
    )
    assert run.findings == ()
    return given, out


@pytest.mark.slow
def test_that_every_spelling_runs():
    for opcode, (result, operands) in EVERY.items():
        applied(opcode, result, operands)


def exact(values):
    return [Fraction(float(one)) for one in values]


def nearest(value):
    """Return a fraction as the nearest float32, ties to even: from the two that float64 brackets it with."""
    low = np.float32(float(value))
    candidates = [np.nextafter(low, np.float32(-np.inf)), low, np.nextafter(low, np.float32(np.inf))]
    return min(candidates, key=lambda one: (abs(Fraction(float(one)) - value), int(one.view(np.uint32)) & 1))


def test_that_a_fused_multiply_add_rounds_once():
    random = np.random.default_rng(5)
    count = 4000
    a = (random.integers(1, 2**12, count) * 2 + 1).astype(np.float32)
    b = (random.integers(1, 2**11, count) * 2 + 1).astype(np.float32)
    c = np.ldexp(random.integers(-3, 4, count).astype(np.float32), random.integers(-60, 40, count)).astype(
        np.float32
    )
    found = arithmetic.fma32(a, b, c)
    wanted = [nearest(x * y + z) for x, y, z in zip(exact(a), exact(b), exact(c), strict=True)]
    assert found.tolist() == [float(one) for one in wanted]
    # Rounding to float64 first is not the same: these values are hard.
    assert (found != (a.astype(np.float64) * b + c).astype(np.float32)).any()


def test_that_integers_are_divided_towards_zero():
    for opcode, compute in {
        "div.s32": lambda a, b: abs(a) // abs(b) * (1 - 2 * ((a < 0) != (b < 0))),
        "rem.s32": lambda a, b: (abs(a) % abs(b)) * (1 - 2 * (a < 0)),
    }.items():
        (a, b), found = applied(opcode, *EVERY[opcode])
        wanted = [compute(int(x), int(y)) for x, y in zip(a, b, strict=True)]
        # The one quotient that the type does not have.
        fits = [-(2**31) <= one < 2**31 for one in wanted]
        assert found[fits].tolist() == [one for one, is_there in zip(wanted, fits, strict=True) if is_there]


def test_that_conversions_to_integers_saturate():
    (values,), found = applied("cvt.rni.u16.f32", *EVERY["cvt.rni.u16.f32"])
    for value, one in zip(values.tolist(), found.tolist(), strict=True):
        assert one == (0 if value != value else min(65535, max(0, round(min(max(value, -1e9), 1e9)))))
