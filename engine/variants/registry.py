"""Every variant of every task, in teaching order, in explicit tuples: a new one is a file and a line here."""

import difflib
from collections.abc import Sequence
from typing import Any, TypeVar

from engine.errors import UnknownName
from engine.variants.box import box
from engine.variants.contract import AnyVariant, Variant
from engine.variants.cpu import box as cpu_box
from engine.variants.cpu import parallel, serial
from engine.variants.cpu import separable as cpu_separable
from engine.variants.digit_sums import digit_sums
from engine.variants.fft import cpu_fft as cpu_fft
from engine.variants.fft import cuda_fft
from engine.variants.ladder import (
    cached,
    constant,
    implicit_gemm,
    naive,
    row_cached,
    row_naive,
    row_tiled,
    separable_l0,
    separable_l1,
    separable_l2,
    tiled,
    tiled_input,
)
from engine.variants.low_rank import low_rank_2, low_rank_3
from engine.variants.matmul import blas as matmul_blas
from engine.variants.matmul import naive as matmul_naive
from engine.variants.matmul import tiled as matmul_tiled
from engine.variants.matmul.contract import MatmulVariant
from engine.variants.register_blocked import register_blocked
from engine.variants.separable_fused import separable_fused
from engine.variants.split_float16 import split_float16

VARIANTS: tuple[Variant, ...] = (
    serial.VARIANT,
    parallel.VARIANT,
    cpu_separable.VARIANT,
    cpu_box.VARIANT,
    cpu_fft.VARIANT,
    naive.VARIANT,
    constant.VARIANT,
    tiled_input.VARIANT,
    tiled.VARIANT,
    cached.VARIANT,
    separable_l0.VARIANT,
    separable_l1.VARIANT,
    separable_l2.VARIANT,
    implicit_gemm.VARIANT,
    register_blocked.VARIANT,
    digit_sums.VARIANT,
    split_float16.VARIANT,
    separable_fused.VARIANT,
    low_rank_2.VARIANT,
    low_rank_3.VARIANT,
    box.VARIANT,
    cuda_fft.VARIANT,
    row_naive.VARIANT,
    row_tiled.VARIANT,
    row_cached.VARIANT,
)


MATMUL_VARIANTS: tuple[MatmulVariant, ...] = (
    matmul_naive.VARIANT,
    matmul_tiled.VARIANT,
    matmul_blas.VARIANT,
)
"""The variants that multiply matrices."""

V = TypeVar("V", bound=AnyVariant[Any, Any])


def variants_of(task: str) -> tuple[AnyVariant[Any, Any], ...]:
    """Return the variants of a task."""
    everything: tuple[AnyVariant[Any, Any], ...] = (*VARIANTS, *MATMUL_VARIANTS)
    return tuple(known for known in everything if known.task == task)


def registered(task: str, key: str) -> AnyVariant[Any, Any]:
    """Return the variant of a task of that key; an `UnknownName` says that there is none."""
    return _named(key, variants_of(task), (), f"no variant of {task} is called that")


def variant(key: str, *, takes_auto: bool = True) -> Variant:
    """Return the variant of a filter of that key; an `UnknownName` names the nearest one and all of them.

    `takes_auto` says whether "auto" could have been written in its place: then the remedy offers it too.
    """
    return _named(key, VARIANTS, ("auto",) if takes_auto else (), "no variant is called that")


def matmul_variant(key: str) -> MatmulVariant:
    """Return the way to multiply of that key; an `UnknownName` names the nearest one and all of them."""
    return _named(key, MATMUL_VARIANTS, (), "no way to multiply matrices is called that", alike=0.5)


def _named(
    key: str, known: Sequence[V], other_words: tuple[str, ...], why_not: str, *, alike: float = 0.6
) -> V:
    for candidate in known:
        if candidate.key == key:
            return candidate
    keys = [*other_words, *(candidate.key for candidate in known)]
    near = difflib.get_close_matches(str(key), keys, n=1, cutoff=alike)
    hint = f"Did you mean {near[0]}? " if near else ""
    raise UnknownName(f"variant '{key}'", why_not, f"{hint}Choose one of {', '.join(keys)}.")
