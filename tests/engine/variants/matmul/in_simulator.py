"""A process of the CUDA simulator that checks every case and prints the faults by key and case as JSON."""

import json
import sys

from engine.device.launches import DeviceKind
from engine.variants.matmul.contract import MatmulVariant
from engine.variants.registry import MATMUL_VARIANTS
from tests.engine.variants.matmul.cases import CASES, Case, check


def fault_of(variant: MatmulVariant, case: Case) -> str:
    """Return what is wrong with a variant on a case; empty if nothing is."""
    try:
        check(variant, case, "simulator")
    except Exception as error:  # noqa: BLE001 - the process's boundary: it becomes the test's failure
        return f"{type(error).__name__}: {error}"
    return ""


if __name__ == "__main__":
    on_cuda = [variant for variant in MATMUL_VARIANTS if variant.device is DeviceKind.CUDA]
    faults = {f"{variant.key} {case}": fault_of(variant, case) for variant in on_cuda for case in CASES}
    sys.stdout.write(json.dumps(faults))
