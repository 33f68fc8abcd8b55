"""Conversions between types: `cvt` with its direction of rounding, and `cvt.pack`. PTX ISA 9.0, 9.7.9.21."""

from collections.abc import Callable

import numpy as np

from engine.ptx import floats
from engine.ptx.floats import F16, F32, F64
from engine.ptx.spelling import DIRECTIONS, U32, Compute, Rule, Spelling, unknown
from engine.ptx.types import Values, unsigned


def _convert(said: Spelling) -> Rule:
    if said.has("pack"):
        return _convert_and_pack(said)
    source, result_name = said.dtype(), said.rest[-1] if said.rest else ""
    result = said.dtype()
    direction = said.one_of("rni", "rzi", "rmi", "rpi", *DIRECTIONS, "rna")
    is_flushed, is_saturated = said.has("ftz"), said.has("sat")
    if result_name == "f16x2":
        return Rule(U32, (source, source), _two_halves(direction))
    if source.kind == "f" and result.kind == "f":
        compute = _between_floats(source, result, direction)
    elif source.kind == "f":
        compute = lambda a: floats.to_integer(a, direction or "rzi", result)  # noqa: E731
    elif result.kind == "f":
        compute = lambda a: floats.from_integer(a, result, direction)  # noqa: E731
    elif is_saturated:
        least, most = np.iinfo(result).min, np.iinfo(result).max
        least, most = max(least, np.iinfo(source).min), min(most, np.iinfo(source).max)
        compute = lambda a: np.clip(a, source.type(least), source.type(most)).astype(result)  # noqa: E731
    else:
        compute = lambda a: a.astype(result)  # noqa: E731
    inner = compute
    if is_flushed:
        compute = lambda a: _flushed_if_real(inner(_flushed_if_real(a)))  # noqa: E731
    if is_saturated and result.kind == "f":
        unclipped = compute
        compute = lambda a: floats.saturated(unclipped(a))  # noqa: E731
    return Rule(result, (source,), compute)


def _convert_and_pack(said: Spelling) -> Rule:
    """Make `cvt.pack`: two integers saturated, the first above the second, and below what a third has."""
    is_chained = said.rest[-1:] == ["b32"]
    if is_chained:
        said.rest.pop()
    source, result = said.dtype(), said.dtype()
    if not said.has("sat"):
        raise unknown(said.instruction)
    info, bits = np.iinfo(result), np.uint32(8 * result.itemsize)
    own = unsigned(result)

    def compute(high: Values, low: Values, rest: Values = None) -> Values:
        upper, lower = (
            np.clip(one, max(info.min, np.iinfo(source).min), info.max).astype(result).view(own).astype(U32)
            for one in (high, low)
        )
        packed = (upper << bits) | lower
        return packed if rest is None else (rest << (bits + bits)) | packed

    return Rule(U32, (source, source, U32) if is_chained else (source, source), compute)


def _flushed_if_real(values: Values) -> Values:
    return floats.flushed(values) if values.dtype == F32 else values


def _between_floats(source: np.dtype, result: np.dtype, direction: str) -> Compute:
    if direction in ("rni", "rzi", "rmi", "rpi"):
        return lambda a: floats.to_whole(a, direction).astype(result)
    if direction in ("", "rn") or result.itemsize >= source.itemsize:
        return lambda a: a.astype(result)
    return lambda a: floats.narrowed(a.astype(F64), result, direction)


def _two_halves(direction: str) -> Compute:
    def compute(high: Values, low: Values) -> Values:
        upper, lower = (
            half_bits(floats.narrowed(one.astype(F64), F16, direction or "rn")) for one in (high, low)
        )
        return (upper << np.uint32(16)) | lower

    return compute


def half_bits(values: Values) -> Values:
    """Return the bits of float16 in 32-bit registers, with the one NaN that a device makes."""
    return np.where(np.isnan(values), np.uint16(0x7FFF), values.view(np.uint16))[()].astype(U32)


RULES: dict[str, Callable[[Spelling], Rule]] = {
    "cvt": _convert,
}
