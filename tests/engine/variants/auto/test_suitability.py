"""Who writes results of 8 and 16 bit, and what is told where one does not."""

from dataclasses import replace

import numpy as np
import pytest

from engine.device.cpu import cpu_info
from engine.device.cuda import simulator_info
from engine.device.launches import DeviceKind
from engine.device_info import DeviceInfo
from engine.run.resolve import describe_problem
from engine.variants.auto.planner import choose
from engine.variants.auto.suitability import why_not
from engine.variants.contract import Variant
from engine.variants.registry import VARIANTS, variant
from tests.engine.variants.suited import LIMITS, mask_for

IMAGE = np.zeros((9, 9, 1), np.uint8)


def refusal_of(known: Variant, result_dtype: str):
    mask = mask_for(known, 3, 3)
    problem = describe_problem(IMAGE, mask, "zero", 0.0, result_dtype)
    return why_not(known, problem, mask, known.default_block, LIMITS)


@pytest.mark.parametrize("known", VARIANTS, ids=lambda known: known.key)
def test_that_a_variant_without_8_bit_results_is_refused_by_name_of_those_that_have_them(
    known: Variant,
) -> None:
    own = refusal_of(known, "uint8" if known.uint8_only else "float32")
    # One takes no pictures of whole numbers.
    assert own is None or known.library or known.key == "split-float16"
    refusal = refusal_of(replace(known, integer_output=False), "uint8")
    assert refusal is not None
    assert refusal.nearest_block is None
    assert refusal.reason.startswith(
        "It writes float32 results only. Choose float32 results, or for uint8 one of: "
    )
    textbook = "cpu-serial" if known.device is DeviceKind.CPU else "naive"
    assert textbook in refusal.reason


@pytest.mark.parametrize("key", ["cpu-serial", "naive"])
def test_that_the_textbook_variants_write_8_bit_results(key: str) -> None:
    assert refusal_of(variant(key), "uint8") is None


@pytest.mark.parametrize("device", [cpu_info(), simulator_info()], ids=["cpu", "cuda"])
@pytest.mark.parametrize("size", [3, 63])
def test_that_auto_takes_one_that_writes_8_bit_results(device: DeviceInfo, size: int) -> None:
    mask = mask_for(variant("naive"), size, size)
    problem = describe_problem(IMAGE, mask, "zero", 0.0, "uint8")
    choice = choose("auto", problem, mask, None, device)
    assert choice.variant.integer_output
    assert choice.reason
    assert why_not(choice.variant, problem, mask, choice.block, device.limits) is None
