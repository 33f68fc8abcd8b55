"""Every registered variant on every case against the oracle; registering a variant tests it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from engine.device.launches import DeviceKind
from engine.variants.registry import VARIANTS
from tests.engine.variants.case_lists import full_cases
from tests.engine.variants.cases import by_group, faults_of
from tests.engine.variants.suited import cases_in_simulator, suited_cases

ROOT = Path(__file__).parents[3]
CPU = [variant for variant in VARIANTS if variant.device is DeviceKind.CPU]
CUDA = [variant for variant in VARIANTS if variant.has_kernels]


def groups_of(variants, cases_of):
    """Return (variant, group, its cases) for every variant."""
    return [
        pytest.param(variant, group, cases, id=f"{variant.key}-{group}")
        for variant in variants
        for group, cases in by_group(cases_of(variant)).items()
    ]


@pytest.fixture(scope="session")
def in_simulator():
    """Ask a process of the simulator to check a group of cases; it returns faults by case name."""
    child = subprocess.Popen(
        [sys.executable, "-m", "tests.engine.variants.in_simulator"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        bufsize=1,
        cwd=ROOT,
        env=os.environ | {"NUMBA_ENABLE_CUDASIM": "1"},
    )

    def ask(variant, group):
        child.stdin.write(f"{variant.key}\t{group}\n")
        answer = child.stdout.readline()
        assert answer, f"the simulator's process ended ({child.poll()})"
        return json.loads(answer)

    yield ask
    child.stdin.close()
    assert child.wait(10) == 0
    child.stdout.close()


@pytest.mark.parametrize(
    ("variant", "group", "cases"), groups_of(CPU, lambda variant: suited_cases(variant, full_cases()))
)
def test_that_a_cpu_variant_agrees_with_the_oracle(variant, group, cases):
    assert faults_of(variant, cases, "cpu") == {}


@pytest.mark.slow
@pytest.mark.parametrize(("variant", "group", "cases"), groups_of(CUDA, cases_in_simulator))
def test_that_a_cuda_variant_agrees_with_the_oracle_in_the_simulator(variant, group, cases, in_simulator):
    assert in_simulator(variant, group) == {}
