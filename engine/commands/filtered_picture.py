"""The filtered picture of `filter`: from what was opened to the file and the answer.

It is imported while the picture is decoded: what filters takes as long to load.
"""

import time
from collections.abc import Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict
from typing import NamedTuple

import numpy as np

from engine.commands import status_of
from engine.commands.output import clip_hint, log_notes, print_one, report_interrupt
from engine.commands.picture_opening import Opened
from engine.commands.picture_work import PictureResult, PictureWork, work_for
from engine.commands.reasons import with_reason
from engine.commands.step_options import SavingOptions, StepOptions
from engine.errors import EngineError
from engine.files.atomic_write import atomic_write
from engine.image.format import Form, Format
from engine.image.picture import Picture
from engine.process import bytes_text
from engine.results.measurement import AnyResult
from engine.verify.closeness import Verification
from engine.work.filtering.clipping import Clipped

VERSION = 1


class Wanted(NamedTuple):
    """The files, whether the reason for the time is wanted, and whether the answer is a document."""

    input: str
    output: str
    explain: bool
    json: bool


def ready(steps: StepOptions, saving: SavingOptions, form: Future[Form]) -> PictureWork:
    """Return the requested work, its code loaded for the form that is known soon, if ever."""
    how = work_for(steps, saving)
    with suppress(CancelledError):
        load_code(how, form.result())
    return how


def load_code(how: PictureWork, form: Form) -> None:
    """Load the code that will filter such a picture on the CPU; what cannot be filtered is refused later."""
    if form.decoded_bytes > how.saving.max_bytes:
        return
    with suppress(EngineError, MemoryError):
        # Its memory is not touched.
        picture = Picture(np.zeros(form.colour_shape, form.dtype))
        call = how.call(Opened(picture, picture.dtype))
        if call.device.kind == "cpu":
            call.job().prepare()


def save(wanted: Wanted, how: PictureWork, opened: Opened, saved_as: Format) -> int:
    """Filter a picture in memory; return the exit status."""
    call = how.call(opened)
    results: list[tuple[PictureResult, Future[tuple[bytes | memoryview, tuple[str, ...]]]]] = []
    with ThreadPoolExecutor(1, thread_name_prefix="filter-encode") as encoder:

        def on_values(values: np.ndarray) -> None:
            # A result of the file's type is encoded while it is verified.
            result = how.finished(call, opened, values)
            encoding = encoder.submit(how.encoded, result, opened.picture, wanted.output, saved_as)
            results.append((result, encoding))

        begin = time.perf_counter()
        values, proof, used = how.measured(call, on_values, is_recorded=wanted.json)
        elapsed_ms = (time.perf_counter() - begin) * 1e3
        if not results:
            on_values(values)
        clipped = how.clipped(call, opened, values)
        # Before it is encoded: it takes four times the memory of an 8-bit picture.
        del values
        result, encoding = results[0]
        data, notes = encoding.result()
    atomic_write(wanted.output, data)
    notes = (*how.notes, *how.unused(call, opened), *how.saving.unused_quality([saved_as]), *notes)
    if wanted.explain and proof is not None:
        proof = with_reason(proof, call.job(), call.device)
    verification = None if proof is None else proof.verification
    document: dict[str, object] = {
        **how.facts(call), **result.answer, **how.document(call, proof, used),
        "verified": proof is not None and proof.is_proven, "elapsed_ms": elapsed_ms,
        "result": None if proof is None else proof.as_json(),
    }  # fmt: skip
    why = proof.explained.words if proof and proof.explained else ""
    lines = how.headline(call, wanted.output, used), result.answer_text, _how_it_went(proof, elapsed_ms), why
    return _report(wanted, how, document, lines, notes, clipped, verification)


def save_in_bands(wanted: Wanted, steps: StepOptions, saving: SavingOptions) -> int:
    """Filter a picture that is larger than memory; return the exit status."""
    how = work_for(steps, saving)
    written = [0, 1]

    def on_state(rows: int, height: int) -> None:
        written[:] = rows, height

    def kept() -> str:
        share = 100 * written[0] // written[1]
        return f"{share} % is done, and the same command goes on from there" if written[0] else ""

    with report_interrupt([wanted.output], kept):
        done = how.filter_file(wanted.input, wanted.output, on_state=on_state)
    resolved, verification, elapsed_s = done.resolved, done.verification, done.elapsed_s
    document: dict[str, object] = {
        **how.facts(resolved), **how.document(resolved, None, resolved.devices), **done.facts,
        "verified": bool(verification and verification.passed), "elapsed_ms": 1e3 * elapsed_s,
        "result": None, "verification": verification and asdict(verification),
    }  # fmt: skip
    rate = f"{bytes_text(int(done.source_bytes / max(elapsed_s, 1e-9)))} of pixels per second"
    proof = "not verified" if verification is None else verification.sentence()
    headline = how.headline(resolved, wanted.output, resolved.devices)
    lines = f"{headline}, in bands of {done.band_rows:,} rows", f"{elapsed_s:.3g} s, {rate}; {proof}"
    return _report(wanted, how, document, lines, (*how.notes, *done.notes), done.clipped, verification)


def _report(
    wanted: Wanted, how: PictureWork, document: dict[str, object], lines: Sequence[str],
    notes: Sequence[str], clipped: Clipped, verification: Verification | None,
) -> int:  # fmt: skip
    """Print notes, and the answer as lines or as a document; return the exit status."""
    log_notes((*notes, *([clip_hint(clipped.words, clipped.better_range)] if clipped.better_range else ())))
    head = {"format": how.format, "version": VERSION, "input": wanted.input, "output": wanted.output}
    document = {**head, **document, "clipped": clipped.share, "notes": list(notes)}
    print_one(wanted.json, document, "\n".join(filter(None, lines)))
    return status_of([verification])


def _how_it_went(proof: AnyResult | None, elapsed_ms: float) -> str:
    if proof is None:
        return f"{elapsed_ms:.3g} ms with everything, not verified"
    if not proof.is_proven:
        return f"{elapsed_ms:.3g} ms with everything; {proof.status}"
    if proof.timing is None:
        return f"no times: the simulator's mean nothing; {proof.status}"
    kernel, whole_ms = proof.timing.kernel, proof.timing.end_to_end.median_ms
    return f"kernel {kernel.median_ms:.3g} ms, end to end {whole_ms:.3g} ms; {proof.status}"
