"""`bench --best`: says the best block of each kernel."""

from collections.abc import Sequence
from dataclasses import asdict

from engine.commands.output import table
from engine.device_info import SIMULATOR
from engine.results.columns import layout_suffix
from engine.work.columns import mask_text
from engine.work.filtering.best_blocks import fastest_blocks, found_words
from engine.work.filtering.results import RunResult
from engine.work.filtering.variants import variant


def best_found(results: Sequence[RunResult]) -> tuple[dict[str, object], str]:
    """Return the best blocks as plain data and as text."""
    found = fastest_blocks(results)
    if not found:
        return {"best_blocks": []}, f"No best block: {_why_none(results)}"
    rows = [
        [
            f"{result.variant}{layout_suffix(result)}",
            f"{result.problem.picture_text}, mask {mask_text(result)}",
            found_words(result, results, variant(result.variant).default_block),
        ]
        for result in found
    ]
    document = [
        {
            "variant": result.variant,
            "device": result.environment.device,
            "picture": result.problem.picture_text,
            "mask": mask_text(result),
            "layout": result.layout,
            "block": asdict(result.block) if result.block else None,
            "kernel_median_ms": result.kernel_ms,
        }
        for result in found
    ]
    return {"best_blocks": document}, table(["variant", "problem", "best block"], rows)


def _why_none(results: Sequence[RunResult]) -> str:
    with_block = [result for result in results if result.block is not None]
    if any(result.is_proven and result.device == SIMULATOR for result in with_block):
        return "the simulator's times mean nothing. Choose a GPU with --device."
    if not any(result.kernel_ms for result in with_block):
        return "no kernel with blocks has a time. The table says why; a GPU is needed."
    return "each kernel has a time with one block only. Name several with --blocks."
