"""The steps of one file of `batch --operation`: look up, verify and encode."""

import argparse
import zlib

import numpy as np

from engine.api.operation import OperationCall
from engine.commands.opening import Opened
from engine.commands.operation_options import answer_document, call_for, finished_answer
from engine.errors import VerificationFailed
from engine.image.save import encoded_image
from engine.run.device_choice import refuse_unsuitable
from engine.tasks.operation.task import OPERATION
from engine.verify.verification import Verification

# What the oracle may spend on a picture.
AFFORDABLE = 20_000_000


def call_of(options: argparse.Namespace, opened: Opened) -> OperationCall:
    """Return the operation on an opened picture; raise an EngineError where it cannot be done."""
    call = call_for(options, opened.picture)
    choice = call.choice
    refuse_unsuitable(choice.variant, call.problem, call.operands.patch, choice.block, call.device)
    return call


def verified_and_encoded(
    options: argparse.Namespace,
    opened: Opened,
    call: OperationCall,
    values: np.ndarray,
    source: str,
    target: str,
) -> tuple[bytes, tuple[str, ...], Verification | None, dict[str, object]]:
    """Return the bytes of the file, notes, the verification, and what was found."""
    verification = None
    if options.verify:
        seed = zlib.crc32(source.encode(errors="surrogateescape"))
        job = call.job(seed=seed, affordable=AFFORDABLE)
        verification = OPERATION.verify(values, job, lambda fraction: None)
        if not verification.passed:
            what = f"The result of '{call.choice.variant.key}'"
            raise VerificationFailed(what, verification.reason, "Choose another variant.")
    answer = call.answer(values)
    finished = finished_answer(options, opened.picture, answer, opened.dtype)
    data, left_out = encoded_image(finished, target, quality=options.quality)
    return data, (*opened.picture.notes, *left_out), verification, answer_document(call, answer)
