"""A process of the CUDA simulator that checks the cases of one variant: its key in, a line of faults out."""

import json
import sys

from engine.tasks.operation.variants import OPERATION_VARIANTS
from tests.engine.variants.index_checks import refuse_negative_indices
from tests.engine.variants.operations.cases import SIMULATED, check


def main() -> None:
    """Answer with the faults by the cases' names until the input ends."""
    refuse_negative_indices()
    known = {variant.key: variant for variant in OPERATION_VARIANTS}
    for line in sys.stdin:
        variant, faults = known[line.strip()], {}
        for case in (case for case in SIMULATED if case.operation == variant.operation):
            try:
                check(variant, case, "simulator")
            except Exception as error:  # noqa: BLE001 - the test names it
                faults[str(case)] = f"{type(error).__name__}: {error}"
        sys.stdout.write(json.dumps(faults) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
