"""What the status line says of the last product, or of what to press while there is none."""

from engine.device_info import SIMULATOR
from engine.results.columns import variant_name
from engine.results.compare import Compared
from engine.results.measurement import ProductResult
from engine.results.metrics import metric
from engine.results.quantities import ms_text
from gui.matrices.matmul_state import MatmulState

_SIMULATED = "simulated: its times mean nothing"


def status_sentence(matmul: MatmulState, *, engine_is_ready: bool) -> str:
    """Return the last product of matrices, else what can be multiplied now."""
    if matmul.last is not None:
        return _product_sentence(matmul.last)
    if not engine_is_ready:
        return "No product yet: matrices are multiplied once the engine is up."
    if not matmul.rows:
        return "No product yet: counting what can run here."
    if not matmul.runnable:
        return "No product yet: nothing can run here; the table says why."
    only = matmul.runnable[0]
    alone = (
        f" Only {variant_name(only)} can run here; the table says why." if len(matmul.runnable) == 1 else ""
    )
    return f"No product yet: press Run (Ctrl+R) to measure and verify.{alone}"


def _product_sentence(result: ProductResult) -> str:
    tile = f", tile {result.tile}" if result.tile else ""
    what = f"Last product: {variant_name(result)}{tile}, {result.problem.size_text}"
    if result.device == SIMULATOR and not result.failure:
        return f"{what}, {result.status}; {_SIMULATED}"
    if result.kernel_ms is None:
        return f"{what}: {result.status}"
    return f"{what}, {ms_text(result.kernel_ms)}, {metric('gflops').words(Compared(result))}, {result.status}"
