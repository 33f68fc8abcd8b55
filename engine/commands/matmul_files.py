"""The files that `matmul` writes: results as strict JSON with every sample, and as CSV for spreadsheets."""

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
from engine.results.product import MatmulResult
from engine.results.strict_json import NON_FINITE
from engine.tasks.product.lecture import LECTURE_BANDWIDTH_GB_S, LECTURE_DEVICE, PRINTED_GFLOPS_TILE_16
from engine.tasks.product.problem import MatrixProduct
from engine.tasks.work import MODEL_OF_WORK, work_columns

FORMAT, VERSION = "haloscope-matmul", 1

UNITS = {
    "product": "C = A B: A is rows x inner, B is inner x columns; float32",
    "tile": "side of the square block of threads; of matmul-tiled also of the tiles in shared memory",
    "names that end in _ms": "milliseconds",
    "gflops": "2 x rows x inner x columns / median kernel time, in 10^9 operations a second",
    "work": MODEL_OF_WORK,
    "cgma": "2 x rows x inner x columns / loads from global memory, counted; zeros that fill a tile do not count",
    "lecture_gflops": f"{LECTURE_BANDWIDTH_GB_S} GB/s (the lecture's {LECTURE_DEVICE}) / 4 bytes x CGMA; "
    f"the lecture prints {PRINTED_GFLOPS_TILE_16} for a tile of 16, a misprint for 345.6",
    "limited_gflops": "theoretical bandwidth of this device / 4 bytes x CGMA; null where the bandwidth is not known",
    "share_of_limit": "gflops / limited_gflops; more than 1 where caches serve what is counted as loads",
    "checked_pixels, total_pixels": "elements of C",
    "refused": "whether this cannot be done at all, so that nothing was tried; `failure` says why",
    "numbers written as strings": NON_FINITE,
}


def matmul_document(
    products: Sequence[MatrixProduct],
    tiles: Sequence[int],
    device: str,
    seed: int,
    budget_s: float,
    results: Sequence[MatmulResult],
) -> dict[str, Any]:
    """Return everything about a measurement as plain data."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "units": UNITS,
        "request": {
            "products": [asdict(product) for product in products],
            "tiles": list(tiles),
            "device": device,
            "seed": seed,
            "budget_s": budget_s,
        },
        "environment": machine_document(),
        "results": [result.as_json() for result in results],
    }


def matmul_csv(results: Sequence[MatmulResult]) -> str:
    """Return the results as CSV with units in the header; a cell without a value is empty, and `status` says why."""
    return csv_text([_row(result) for result in results])


def _row(result: MatmulResult) -> dict[str, Cell]:
    proof = result.verification
    return {
        "variant": result.variant,
        "title": result.title,
        "device": result.device,
        "rows": result.product.rows,
        "inner": result.product.inner,
        "columns": result.product.columns,
        "tile_threads": result.tile,
        **timing_columns(result.timing if result.kernel_ms is not None else None),
        "gflops": result.gflops,
        "cgma_flop_per_load": result.cgma,
        "lecture_limit_gflops": result.lecture_gflops,
        "bandwidth_gb_s": result.bandwidth_gb_s,
        "bandwidth_limit_gflops": result.limited_gflops,
        "share_of_limit": result.share_of_limit,
        "verified": "yes" if result.is_proven else "no",
        "refused": "yes" if result.refused else "no",
        "max_error": proof.max_error if proof else None,
        "error_bound": proof.bound if proof else None,
        "status": result.status,
        **work_columns(result.work),
        "seed": result.seed,
        **environment_columns(result.environment),
    }
