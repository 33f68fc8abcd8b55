"""`bench --operation`: the variants of an operation on every size and block, verified and timed."""

import argparse
from typing import Any

from engine.commands.measuring import measure_cells
from engine.errors import BadValue
from engine.geometry.border import Border
from engine.host.executor import executor_for
from engine.results.measurement import OperationResult
from engine.run.operation_sweep import operation_jobs
from engine.run.sweep import sweep, ways
from engine.tasks.operation.operations import operation_named, settings_from
from engine.variants.registry import operation_variant, operation_variants

_OF_MASKS: dict[str, Any] = {"masks": None, "border": Border.ZERO, "result_type": "float32", "best": False}


def measure_operation(options: argparse.Namespace) -> int:
    """Measure every cell, print and write the results; return the exit status."""
    for option, unsaid in _OF_MASKS.items():
        if getattr(options, option) != unsaid:
            what = f"--{option.replace('_', '-')} with --operation"
            raise BadValue(what, "it is for masks", "Leave it out.")
    operation = operation_named(options.operation)
    settings: dict[str, Any] = {}
    for text in options.set or ():
        settings |= settings_from(text)
    operation.read(settings)
    keys = options.variants or [known.key for known in operation_variants(operation.key)]
    variants = [operation_variant(key, operation.key) for key in keys]
    on_cpu = next(known.key for known in operation_variants(operation.key) if known.device == "cpu")
    baseline = operation_variant(options.baseline, operation.key).key if options.baseline else on_cpu
    jobs = {
        "blocks": options.blocks,
        "layouts": options.layouts,
        "channels": options.channels,
        "dtype": options.dtype,
        "seed": options.seed,
    }

    def name(result: OperationResult) -> str:
        block = f" {result.block}" if result.block else ""
        return f"{result.problem.size_text}, {result.problem.operation_text}, {result.variant}{block}"

    return measure_cells(
        "bench",
        options,
        len(options.sizes) * sum(1 for _ in ways(variants, options.blocks, options.layouts)),
        lambda on_result: sweep(
            operation_jobs(operation.key, settings, variants, options.sizes, **jobs),
            options.device,
            options.budget,
            executor_for,
            on_result,
        ),
        name,
        variants,
        baseline=baseline,
        asked={"request": {"operation": operation.key, "settings": operation.read(settings)}},
        without=() if len(options.layouts) > 1 else ("layout",),
    )
