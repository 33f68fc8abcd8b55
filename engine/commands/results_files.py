"""The files that a benchmark writes: results as strict JSON with every sample, and as CSV for spreadsheets."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from engine.commands.result_columns import (
    Cell,
    csv_text,
    environment_columns,
    machine_document,
    timing_columns,
)
from engine.commands.sweep import Sweep
from engine.results.measurement import RunResult
from engine.results.strict_json import NON_FINITE
from engine.tasks.work import MODEL_OF_WORK, work_columns

FORMAT, VERSION = "haloscope-results", 1

UNITS = {
    "names that end in _ms": "milliseconds",
    "height, width, checked_pixels, total_pixels": "pixels",
    "max_error, bound": "units of the picture's samples; where in_steps is true, steps of a result of 8 or 16 bit",
    "cval": "units of the picture's samples",
    "block": "threads across (x) and down (y)",
    "speed_up": "median kernel time of the baseline over that of this result, same problem; "
    "null where either has no speed",
    "refused": "whether the variant cannot do this at all, so that nothing was tried; `failure` says why",
    "layout": "of the rows on a CUDA device: each on a 128-byte boundary (pitched), or dense (packed)",
    "work": MODEL_OF_WORK,
    "numbers written as strings": NON_FINITE,
}


def results_document(
    sweep: Sweep, baseline: str, results: Sequence[RunResult], faster: Sequence[float | None]
) -> dict[str, Any]:
    """Return everything about a benchmark as plain data.

    Parameters
    ----------
    sweep : Sweep
    baseline : str
        Key of a variant.
    results : sequence of RunResult
    faster : sequence of float or None
        The speed-up of each result.
    """
    return {
        "format": FORMAT,
        "version": VERSION,
        "units": UNITS,
        "baseline": baseline,
        "sweep": {
            "variants": [variant.key for variant in sweep.variants],
            "sizes": [{"width": width, "height": height} for width, height in sweep.sizes],
            "masks": [
                {
                    "rows": cell.rows,
                    "columns": cell.columns,
                    "name": cell.weights(sweep.seed).name,
                    "weights": "random" if cell.named is None else cell.named.weights.tolist(),
                }
                for cell in sweep.masks
            ],
            "blocks": [asdict(block) for block in sweep.blocks],
            "layouts": [str(layout) for layout in sweep.layouts],
            "border": str(sweep.border),
            "device": sweep.device,
            "channels": sweep.channels,
            "dtype": sweep.dtype,
            "result_type": sweep.result_type,
            "seed": sweep.seed,
            "budget_s": sweep.budget_s,
        },
        "environment": machine_document(),
        "results": [
            result.as_json() | {"speed_up": ratio} for result, ratio in zip(results, faster, strict=True)
        ],
    }


def results_csv(baseline: str, results: Sequence[RunResult], faster: Sequence[float | None]) -> str:
    """Return the results as CSV with units in the header; raw samples are in the JSON only.

    A cell without a value is empty, and `status` says why. Text that a spreadsheet could take for a formula gets a
    leading '.
    """
    return csv_text(
        [
            _row(result) | {"speed_up": ratio, "baseline": baseline}
            for result, ratio in zip(results, faster, strict=True)
        ]
    )


def _row(result: RunResult) -> dict[str, Cell]:
    problem, proof = result.problem, result.verification
    return {
        "variant": result.variant,
        "device": result.device,
        "block_x_threads": result.block.x if result.block else None,
        "block_y_threads": result.block.y if result.block else None,
        "layout": result.layout or None,
        "width_px": problem.width,
        "height_px": problem.height,
        "channels": problem.channels,
        "dtype": problem.dtype,
        "result_dtype": problem.result_dtype,
        "mask": result.mask_name,
        "mask_rows": problem.mask_shape[0],
        "mask_columns": problem.mask_shape[1],
        "border": str(problem.border),
        **timing_columns(result.timing if result.kernel_ms is not None else None),
        "verified": "yes" if proof and proof.passed else "no",
        "refused": "yes" if result.refused else "no",
        "max_error": proof.max_error if proof else None,
        "error_bound": proof.bound if proof else None,
        "status": result.status,
        **work_columns(result.work),
        "seed": result.seed,
        **environment_columns(result.environment),
    }
