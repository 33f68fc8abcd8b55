"""Instructions that compare and choose: `setp`, `selp`, `testp`, `min` and others (PTX ISA, 9.7.6)."""

from collections.abc import Callable

import numpy as np

from engine.ptx import floats
from engine.ptx.spelling import BOOL, Compute, Rule, Spelling, same, unknown, with_flags
from engine.ptx.types import Values

_COMPARE: dict[str, Compute] = {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "lo": np.less,
    "ls": np.less_equal,
    "hi": np.greater,
    "hs": np.greater_equal,
}

_UNORDERED = {f"{name}u": function for name, function in list(_COMPARE.items())[:6]}

_JOIN: dict[str, Compute] = {"and": np.logical_and, "or": np.logical_or, "xor": np.logical_xor}


def _comparison(said: Spelling) -> tuple[np.dtype, Compute, str]:
    """Return what is compared as which type, and how a further predicate joins."""
    dtype = said.dtype()
    is_flushed = said.has("ftz")
    word = said.rest.pop(0) if said.rest else ""
    joint = said.one_of(*_JOIN)
    if word == "num":
        compute: Compute = lambda a, b: ~(np.isnan(a) | np.isnan(b))  # noqa: E731
    elif word == "nan":
        compute = lambda a, b: np.isnan(a) | np.isnan(b)  # noqa: E731
    elif word in _UNORDERED and dtype.kind == "f":
        ordered = _UNORDERED[word]
        compute = lambda a, b: ordered(a, b) | np.isnan(a) | np.isnan(b)  # noqa: E731
    elif word == "ne" and dtype.kind == "f":
        compute = lambda a, b: (a < b) | (a > b)  # noqa: E731
    elif word in _COMPARE:
        compute = _COMPARE[word]
    else:
        raise unknown(said.instruction)
    if is_flushed:
        inner = compute
        compute = lambda a, b: inner(floats.flushed(a), floats.flushed(b))  # noqa: E731
    return dtype, compute, joint


def _set_predicate(said: Spelling) -> Rule:
    dtype, compare, joint = _comparison(said)
    if not joint:
        return Rule(BOOL, (dtype, dtype), compare)
    join = _JOIN[joint]
    return Rule(BOOL, (dtype, dtype, BOOL), lambda a, b, c: join(compare(a, b), c))


def _set(said: Spelling) -> Rule:
    dtype, compare, joint = _comparison(said)
    result = said.dtype()
    yes = result.type(1) if result.kind == "f" else ~result.type(0)

    def compute(a: Values, b: Values, c: Values = True) -> Values:
        found = _JOIN[joint](compare(a, b), c) if joint else compare(a, b)
        return np.where(found, yes, result.type(0))[()]

    return Rule(result, (dtype, dtype, BOOL) if joint else (dtype, dtype), compute)


def choose(a: Values, b: Values, condition: Values) -> Values:
    """Return a where the condition holds, else b."""
    if condition.ndim == 0:
        return a if condition else b
    return np.where(condition, a, b)


def _select(said: Spelling) -> Rule:
    dtype = said.dtype()
    return Rule(dtype, (dtype, dtype, BOOL), choose)


def _select_by_sign(said: Spelling) -> Rule:
    sign = said.dtype()
    said.has("ftz")
    dtype = said.dtype()
    return Rule(dtype, (dtype, dtype, sign), lambda a, b, c: choose(a, b, c >= 0))


def _test_property(said: Spelling) -> Rule:
    dtype = said.dtype()
    tests: dict[str, Compute] = {
        "finite": np.isfinite,
        "infinite": np.isinf,
        "number": lambda a: ~np.isnan(a),
        "notanumber": np.isnan,
        # Zero is normal (seen on an H100).
        "normal": lambda a: np.isfinite(a) & ((np.abs(a) >= np.finfo(dtype).smallest_normal) | (a == 0)),
        "subnormal": lambda a: (a != 0) & (np.abs(a) < np.finfo(dtype).smallest_normal),
    }
    word = said.one_of(*tests)
    if not word:
        raise unknown(said.instruction)
    return Rule(BOOL, (dtype,), tests[word])


def _extreme(whole: Compute, real: Compute) -> Callable[[Spelling], Rule]:
    def make(said: Spelling) -> Rule:
        dtype = said.dtype()
        if dtype.kind in "iu":
            return same(2, dtype, whole)
        compute = floats.propagating(real) if said.has("NaN") else real
        return same(2, dtype, with_flags(said, dtype, compute))

    return make


RULES: dict[str, Callable[[Spelling], Rule]] = {
    "min": _extreme(np.minimum, floats.least),
    "max": _extreme(np.maximum, floats.greatest),
    "setp": _set_predicate,
    "set": _set,
    "selp": _select,
    "slct": _select_by_sign,
    "testp": _test_property,
}
