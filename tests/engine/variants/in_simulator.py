"""A process of the CUDA simulator that checks groups of cases: variant, tab, group in; one line of JSON out.

Numba decides for a whole process whether it simulates, so the tests of the CUDA variants ask this one.
"""

import json
import sys

from engine.tasks.filtering.variants import variant
from tests.engine.variants.cases import by_group, faults_of
from tests.engine.variants.index_checks import refuse_negative_indices
from tests.engine.variants.suited import cases_in_simulator


def main() -> None:
    """Answer with the faults by the cases' names until the input ends."""
    refuse_negative_indices()
    for line in sys.stdin:
        key, _, group = line.rstrip("\n").partition("\t")
        asked = variant(key)
        faults = faults_of(asked, by_group(cases_in_simulator(asked))[group], "simulator")
        sys.stdout.write(json.dumps(faults) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
