"""A process of the CUDA simulator that checks cases: one question a line in (variant, tab, case), one JSON answer a line out.

Numba decides for a whole process whether it simulates, so the tests of the CUDA variants ask this one.
"""

import json
import sys

from engine.variants.registry import variant
from tests.engine.variants.cases import check
from tests.engine.variants.suited import cases_in_simulator


def main() -> None:
    """Answer until the input ends: an empty string, or what was wrong."""
    for line in sys.stdin:
        key, _, name = line.rstrip("\n").partition("\t")
        asked = variant(key)
        case = next(case for case in cases_in_simulator(asked) if case.name == name)
        try:
            check(asked, case, "simulator")
            fault = ""
        except Exception as error:  # noqa: BLE001 - the process's boundary: it becomes the test's failure
            fault = f"{type(error).__name__}: {error}"
        sys.stdout.write(json.dumps(fault) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
