"""A process of the CUDA simulator that checks every case: one JSON object on standard output, faults by key and case."""

import json
import sys

from engine.device.launches import DeviceKind
from engine.variants.registry import MATMUL_VARIANTS
from tests.engine.variants.matmul.cases import CASES, check


def main() -> None:
    """Check all cases."""
    faults = {}
    for variant in MATMUL_VARIANTS:
        for case in CASES if variant.device is DeviceKind.CUDA else ():
            try:
                check(variant, case, "simulator")
                fault = ""
            except Exception as error:  # noqa: BLE001 - the process's boundary: it becomes the test's failure
                fault = f"{type(error).__name__}: {error}"
            faults[f"{variant.key} {case}"] = fault
    sys.stdout.write(json.dumps(faults))


if __name__ == "__main__":
    main()
