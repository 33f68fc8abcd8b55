"""`fft` on a real device, where CuPy is installed: every case, and one that it refuses."""

from importlib.util import find_spec

import numpy as np
import pytest

import engine
from engine.errors import UnsupportedVariant
from engine.variants.registry import variant
from tests.engine.variants.case_lists import full_cases
from tests.engine.variants.cases import Case, check
from tests.engine.variants.suited import suited_cases

CASES = suited_cases(variant("fft"), full_cases()) if find_spec("cupy") else ()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_that_the_transform_agrees_with_the_oracle_on_the_device(case: Case, device: str) -> None:
    check(variant("fft"), case, device)


def test_that_nan_or_a_missing_library_is_told(device: str) -> None:
    image = np.ones((9, 9), np.float32)
    image[2, 3] = np.nan
    with pytest.raises(
        UnsupportedVariant, match="Row 2, column 3" if find_spec("cupy") else "pip install cupy"
    ):
        engine.correlate(image, np.ones((3, 3)), variant="fft", device=device)
