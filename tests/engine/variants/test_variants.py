"""Every registered variant, on every case, against the oracle. A new variant is tested by being registered."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from engine.device.launches import DeviceKind
from engine.variants.contract import Variant
from engine.variants.registry import VARIANTS
from tests.engine.variants.case_lists import full_cases
from tests.engine.variants.cases import Case, check
from tests.engine.variants.suited import cases_in_simulator, suited_cases

ROOT = Path(__file__).parents[3]
CPU = [variant for variant in VARIANTS if variant.device is DeviceKind.CPU]
CUDA = [variant for variant in VARIANTS if variant.has_kernels]


@pytest.fixture(scope="session")
def in_simulator() -> Iterator[Callable[[Variant, Case], str]]:
    """Ask a process of the simulator to check a case; its answer is empty or says what is wrong."""
    child = subprocess.Popen(
        [sys.executable, "-m", "tests.engine.variants.in_simulator"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        bufsize=1,
        cwd=ROOT,
        env=os.environ | {"NUMBA_ENABLE_CUDASIM": "1"},
    )
    assert child.stdin is not None
    assert child.stdout is not None

    def ask(variant: Variant, case: Case) -> str:
        child.stdin.write(f"{variant.key}\t{case.name}\n")
        answer = child.stdout.readline()
        return json.loads(answer) if answer else f"the simulator's process ended ({child.poll()})"

    yield ask
    child.stdin.close()
    assert child.wait(10) == 0
    child.stdout.close()


@pytest.mark.parametrize(
    ("variant", "case"),
    [pytest.param(v, case, id=f"{v.key}-{case.name}") for v in CPU for case in suited_cases(v, full_cases())],
)
def test_that_a_cpu_variant_agrees_with_the_oracle(variant: Variant, case: Case) -> None:
    check(variant, case, "cpu")


@pytest.mark.parametrize(
    ("variant", "case"),
    [pytest.param(v, case, id=f"{v.key}-{case.name}") for v in CUDA for case in cases_in_simulator(v)],
)
def test_that_a_cuda_variant_agrees_with_the_oracle_in_the_simulator(
    variant: Variant, case: Case, in_simulator: Callable[[Variant, Case], str]
) -> None:
    fault = in_simulator(variant, case)
    assert not fault, fault
