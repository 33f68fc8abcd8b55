"""`filter`: a picture file in, the filtered picture out, with the proof that it is right."""

import time
from collections.abc import Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import numpy as np

from engine.commands import status_of
from engine.commands.arguments import Settings, group, option, required
from engine.commands.output import clip_hint, log_notes, print_one, report_interrupt, with_reason
from engine.commands.picture_opening import Opened, Opening
from engine.commands.step_options import SavingOptions, StepOptions
from engine.device_info import ALL_GPUS
from engine.errors import BadValue, EngineError
from engine.files.atomic_write import atomic_write, check_other_file, check_place
from engine.image.format import Form, Format
from engine.image.formats import in_words, offered_suffixes, titles
from engine.image.picture import Picture
from engine.image.save import saved_format
from engine.process import bytes_text

if TYPE_CHECKING:
    from engine.commands.picture_work import PictureWork, Result
    from engine.results.measurement import AnyResult
    from engine.verify.closeness import Verification
    from engine.work.filtering.clipping import Clipped

VERSION = 1


@dataclass(frozen=True, kw_only=True)
class FilterSettings(Settings):
    """What `filter` takes."""

    about = (
        "The result is verified against a float64 oracle before it is saved. Depth, colour profile and alpha "
        "of the picture are kept. The mask is correlated with the picture; --flip convolves. --operation "
        "computes something else: OUT is then the picture, the plot of a histogram, or the picture with the "
        "best match marked. `batch` does many files."
    )
    examples = (
        "photo.jpg edges.png --mask sobel-x --range absolute",
        "photo.jpg soft.jpg --mask gaussian:9:1.5 --border mirror",
        'photo.png out.tif --mask "1 0 -1; 2 0 -2; 1 0 -1" --depth float32',
        "photo.png out.png --mask my-mask.json --variant tiled --block 32x8 --flip",
        "photo.png calm.png --operation median --set size=5",
        "photo.png found.png --operation find-patch --patch eye.png --json",
        "photo.png edges.png --chain sobel-magnitude",
        "small.png out.png --mask box-3 --variant naive --device simulator --json",
    )

    input: str = required(lambda: f"IN  picture: {titles()} (first frame)", str)
    output: str = required(
        lambda: f"OUT  file to write: {in_words(offered_suffixes())}; it appears whole or not at all", str
    )
    overwrite: bool = option(
        "--overwrite  let OUT be IN itself, which is then lost (another OUT that exists is always replaced)",
        False,
    )
    explain: bool = option(
        "--explain  also say why it takes its time; `devices --limits` measures what that needs", False
    )
    steps: StepOptions = group(StepOptions)
    saving: SavingOptions = group(SavingOptions)

    def __post_init__(self) -> None:
        """Refuse options that do not belong together."""
        self.steps.check(self.saving)


def run(settings: FilterSettings) -> int:
    """Filter a file; return the exit status."""
    with report_interrupt([settings.output]):
        return _filter(settings)


def _filter(settings: FilterSettings) -> int:
    output, asked = settings.output, settings.steps.request
    opening = Opening(asked, settings.saving)
    if opening.is_in_parts(settings.input, output):
        # With --overwrite too: it is read while the result is written.
        check_other_file(output, settings.input)
        if settings.explain:
            why = "its kernel is not timed alone"
            raise BadValue("--explain with a picture in bands", why, "Leave it out, or use `explain`.")
        return _save_in_bands(settings, _work_for(settings))
    if settings.explain and asked.device == ALL_GPUS:
        why = "the limits of one device are the reason for a time"
        raise BadValue(f"--explain with --device {ALL_GPUS}", why, "Name one GPU, such as cuda:0.")
    check_place(output)
    if not settings.overwrite:
        remedy = "Give the result another name, or --overwrite to lose the picture."
        check_other_file(output, settings.input, remedy)
    for what, source in settings.steps.files:
        check_other_file(output, source, what=what)
    saved_as = saved_format(output)
    forms: Future[Form] = Future()

    def on_form(form: Form) -> None:
        if not forms.done():
            forms.set_result(form)

    with ThreadPoolExecutor(1, thread_name_prefix="filter-open") as opener:
        opened = opener.submit(opening.open, settings.input, output, saved_as, on_form=on_form)
        # While the picture is decoded: both take 65 ms, a fifth of the whole command.
        how = _work_for(settings)
        # One that cannot be opened may have no form.
        opened.add_done_callback(lambda _: forms.cancel())
        with suppress(CancelledError):
            load_code(how, forms.result())
    return _save(settings, how, opened.result(), saved_as)


def _work_for(settings: FilterSettings) -> "PictureWork":
    from engine.commands.picture_work import work_for

    return work_for(settings.steps, settings.saving)


def load_code(how: "PictureWork", form: Form) -> None:
    """Load the code that will filter such a picture on the CPU; what cannot be filtered is refused later."""
    if form.decoded_bytes > how.saving.max_bytes:
        return
    with suppress(EngineError, MemoryError):
        # Its memory is not touched.
        picture = Picture(np.zeros(form.colour_shape, form.dtype))
        call = how.call(Opened(picture, picture.dtype))
        if call.device.kind == "cpu":
            call.job().prepare()


def _save(settings: FilterSettings, how: "PictureWork", opened: Opened, saved_as: Format) -> int:
    """Filter a picture in memory; return the exit status."""
    call = how.call(opened)
    results: list[tuple[Result, Future[tuple[bytes | memoryview, tuple[str, ...]]]]] = []
    with ThreadPoolExecutor(1, thread_name_prefix="filter-encode") as encoder:

        def on_values(values: np.ndarray) -> None:
            # A result of the file's type is encoded while it is verified.
            result = how.finished(call, opened, values)
            encoding = encoder.submit(how.encoded, result, opened.picture, settings.output, saved_as)
            results.append((result, encoding))

        begin = time.perf_counter()
        values, proof, used = how.measured(call, on_values, is_recorded=settings.json)
        elapsed_ms = (time.perf_counter() - begin) * 1e3
        if not results:
            on_values(values)
        clipped = how.clipped(call, opened, values)
        # Before it is encoded: it takes four times the memory of an 8-bit picture.
        del values
        result, encoding = results[0]
        data, notes = encoding.result()
    atomic_write(settings.output, data)
    notes = (*how.notes, *how.unused(call, opened), *settings.saving.unused_quality([saved_as]), *notes)
    if settings.explain and proof is not None:
        proof = with_reason(proof, call.job(), call.device)
    verification = None if proof is None else proof.verification
    document: dict[str, object] = {
        **how.facts(call), **result.found, **how.document(call, proof, used),
        "verified": proof is not None and proof.is_proven, "elapsed_ms": elapsed_ms,
        "result": None if proof is None else proof.as_json(),
    }  # fmt: skip
    why = proof.explained.words if proof and proof.explained else ""
    lines = how.headline(call, settings.output, used), result.found_text, _how_it_went(proof, elapsed_ms), why
    return _report(settings, how, document, lines, notes, clipped, verification)


def _save_in_bands(settings: FilterSettings, how: "PictureWork") -> int:
    """Filter a picture that is larger than memory; return the exit status."""
    written = [0, 1]

    def on_state(rows: int, height: int) -> None:
        written[:] = rows, height

    def kept() -> str:
        share = 100 * written[0] // written[1]
        return f"{share} % is done, and the same command goes on from there" if written[0] else ""

    with report_interrupt([settings.output], kept):
        done = how.filter_file(settings.input, settings.output, on_state=on_state)
    resolved, verification, elapsed_s = done.resolved, done.verification, done.elapsed_s
    document: dict[str, object] = {
        **how.facts(resolved), **how.document(resolved, None, resolved.devices), **done.facts,
        "verified": bool(verification and verification.passed), "elapsed_ms": 1e3 * elapsed_s,
        "result": None, "verification": verification and asdict(verification),
    }  # fmt: skip
    rate = f"{bytes_text(int(done.source_bytes / max(elapsed_s, 1e-9)))} of pixels per second"
    proof = "not verified" if verification is None else verification.sentence()
    headline = how.headline(resolved, settings.output, resolved.devices)
    lines = f"{headline}, in bands of {done.band_rows:,} rows", f"{elapsed_s:.3g} s, {rate}; {proof}"
    return _report(settings, how, document, lines, (*how.notes, *done.notes), done.clipped, verification)


def _report(
    settings: FilterSettings, how: "PictureWork", document: dict[str, object], lines: Sequence[str],
    notes: Sequence[str], clipped: "Clipped", verification: "Verification | None",
) -> int:  # fmt: skip
    """Print notes, and the answer as lines or as a document; return the exit status."""
    log_notes((*notes, *([clip_hint(clipped)] if clipped.better_range else ())))
    head = {"format": how.format, "version": VERSION, "input": settings.input, "output": settings.output}
    document = {**head, **document, "clipped": clipped.share, "notes": list(notes)}
    print_one(settings.json, document, "\n".join(filter(None, lines)))
    return status_of([verification])


def _how_it_went(proof: "AnyResult | None", elapsed_ms: float) -> str:
    if proof is None:
        return f"{elapsed_ms:.3g} ms with everything, not verified"
    if not proof.is_proven:
        return f"{elapsed_ms:.3g} ms with everything; {proof.status}"
    if proof.timing is None:
        return f"no times: the simulator's mean nothing; {proof.status}"
    kernel, whole_ms = proof.timing.kernel, proof.timing.end_to_end.median_ms
    return f"kernel {kernel.median_ms:.3g} ms, end to end {whole_ms:.3g} ms; {proof.status}"
