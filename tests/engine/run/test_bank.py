"""A bank's run, on the CPU with a stand-in for the variant that applies all masks at once."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from engine.device.devices import backend
from engine.errors import Cancelled
from engine.geometry.border import Border
from engine.mask.bank import Bank
from engine.mask.mask import Mask
from engine.results.progress import Progress
from engine.run.job import bank_job
from engine.run.measure import measure
from engine.run.resolve import describe_problem
from engine.run.sampling import NO_SAMPLES
from engine.tasks.filtering import oracle
from engine.tasks.filtering.agreement import together
from engine.variants.contract import Variant
from engine.variants.registry import variant
from engine.verify.verification import Verification

SERIAL = variant("cpu-serial")
BANK = Bank(tuple(Mask([[1, number, 3]], offset=number) for number in range(3)))
IMAGE = np.random.default_rng(2).integers(0, 256, (5, 4, 2), np.uint8)
PROBLEM = describe_problem(IMAGE, BANK.masks[0], Border.REFLECT, 0.0)


@dataclass
class Faulty:
    """Writes every result, and one wrong sample into that of `wrong`."""

    wrong: int | None

    def launch(self, image: Any, out: Any, stream: Any = None) -> None:
        for number, mask in enumerate(BANK.masks):
            part = out[number * 5 : (number + 1) * 5]
            part[...] = oracle.correlate(image, mask, Border.REFLECT, 0.0)
            if number == self.wrong:
                part[4, 3, 1] += 1


def stand_in(wrong: int | None) -> Variant:
    return replace(SERIAL, prepare=lambda problem, mask, block: Faulty(wrong))


def run(wrong: int | None):
    return measure(bank_job(BANK, PROBLEM, IMAGE, chosen=stand_in(wrong)), backend("cpu"), NO_SAMPLES)


def test_that_every_result_is_returned_verified_and_the_launch_timed():
    outcome = run(None)
    assert outcome.values.shape == (3, 5, 4, 2)
    for mask, values in zip(BANK.masks, outcome.values, strict=True):
        assert np.array_equal(values, oracle.correlate(IMAGE, mask, Border.REFLECT, 0.0))
    assert outcome.result.status == "verified: every pixel matches the float64 reference exactly"
    assert outcome.result.verification.checked_pixels == 3 * 5 * 4
    assert outcome.result.mask_name == "bank of 3, 1 x 3"
    assert outcome.result.kernel_ms is not None


@pytest.mark.parametrize("wrong", [0, 1, 2])
def test_that_one_wrong_sample_of_one_result_is_found(wrong):
    result = run(wrong).result
    assert f"mask {wrong + 1} of 3: not verified: row 4, column 3, channel 1 is" in result.status
    assert result.kernel_ms is None
    assert result.timing is None


NEAR, FAR = Verification(True, 5.0, 100.0, 10, 20, False), Verification(True, 0.9, 1.0, 10, 20, False)
EQUAL, WRONG = Verification(True, 0.0, 0.0, 20, 20, True), Verification(False, 0.1, 0.0, 10, 20, False, "off")


@pytest.mark.parametrize(
    ("parts", "whole"),
    [
        ([NEAR, FAR, EQUAL], Verification(True, 0.9, 1.0, 40, 60, False)),
        ([EQUAL, EQUAL], Verification(True, 0.0, 0.0, 40, 40, True)),
        # An error without any bound is the worst.
        ([NEAR, WRONG, replace(WRONG, reason="later")],
         Verification(False, 0.1, 0.0, 30, 60, False, "mask 2 of 3: off")),
    ],
    ids=["bounds", "equal", "wrong"],
)  # fmt: skip
def test_that_verifications_together_tell_of_the_worst_by_its_own_bound(parts, whole):
    assert together(parts) == whole


def test_that_a_person_can_stop_a_bank_while_it_is_verified():
    seen: list[Progress] = []

    def stop_at_the_second_mask(step: Progress) -> None:
        seen.append(step)
        if sum(one.stage.startswith("verifying") for one in seen) == 2:
            raise Cancelled("The run was stopped")

    job = bank_job(BANK, PROBLEM, IMAGE, chosen=stand_in(None))
    with pytest.raises(Cancelled):
        measure(job, backend("cpu"), NO_SAMPLES, checkpoint=stop_at_the_second_mask)
    assert [step.stage for step in seen[:2]] == ["compiling", "first launch"]
