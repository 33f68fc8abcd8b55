"""The best measured block of a kernel, found among results."""

import math
from collections.abc import Hashable, Iterable

from engine.geometry.block import Block
from engine.results.metrics import comparable
from engine.results.text_forms import ms_text, ratio_text
from engine.work.filtering.results import RunResult


def same_kernel(result: RunResult) -> Hashable:
    """Return what runs share that differ in nothing but their blocks."""
    return comparable(result), result.variant, result.layout, result.environment.device


def fastest_blocks(results: Iterable[RunResult]) -> list[RunResult]:
    """Return the fastest run of each kernel, problem and layout of which several blocks have a speed."""
    groups: dict[Hashable, dict[Block, RunResult]] = {}
    for result in results:
        if result.block is not None and result.kernel_ms:
            group = groups.setdefault(same_kernel(result), {})
            before = group.get(result.block)
            if before is None or result.kernel_ms < (before.kernel_ms or math.inf):
                group[result.block] = result
    several = (group.values() for group in groups.values() if len(group) > 1)
    return [min(runs, key=lambda run: run.kernel_ms or math.inf) for runs in several]


def found_words(result: RunResult, results: Iterable[RunResult], default: Block) -> str:
    """Return the best block of a kernel in words, and its gain over the default block if that has a time."""
    assert result.kernel_ms is not None
    words = f"{result.block} ({ms_text(result.kernel_ms)})"
    if result.block == default:
        return f"{words}, which is its default"
    same = (one for one in results if one.block == default and same_kernel(one) == same_kernel(result))
    times = [one.kernel_ms for one in same if one.kernel_ms]
    gain = f", {ratio_text(min(times) / result.kernel_ms)} as fast as its default {default}" if times else ""
    return words + gain
