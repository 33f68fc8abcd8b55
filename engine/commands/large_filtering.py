"""`filter` of a picture that is larger than memory."""

from dataclasses import asdict

from engine.commands import status_of
from engine.commands.filtering import VERSION, FilterSettings
from engine.commands.large_filter import filter_large
from engine.commands.large_progress import ProgressLog, proof_text, rate_text
from engine.commands.output import clip_hint, log_notes, print_answer, print_json, report_interrupt
from engine.commands.picture_kinds import filter_for, mask_for
from engine.errors import BadValue
from engine.files.output_checks import check_other_file
from engine.files.standard_streams import printable


def run(settings: FilterSettings) -> int:
    """Filter a file in bands; print notes and the answer; return the exit status."""
    source, output, asked = settings.input, settings.output, settings.picture
    # With --overwrite too: it is read while the result is written.
    check_other_file(output, source)
    if settings.explain:
        raise BadValue(
            "--explain with a picture in bands",
            "its kernel is not timed alone",
            "Leave it out, or use `explain`.",
        )
    how = filter_for(asked, mask_for(asked))
    written = [0, 1]

    def on_state(rows: int, height: int) -> None:
        written[:] = rows, height

    def kept() -> str:
        if not written[0]:
            return ""
        share = 100 * written[0] // written[1]
        return f"{share} % is done, and the same command goes on from there"

    with report_interrupt([output], kept):
        done = filter_large(
            how, source, output, memory=asked.memory, report=ProgressLog(output), on_state=on_state
        )
    hint = [clip_hint(done.clipped)] if done.clipped.better_range else []
    notes = (*how.own_notes(), *done.notes)
    log_notes((*notes, *hint))
    if settings.json:
        document: dict[str, object] = {"format": how.format, "version": VERSION}
        document |= {"input": source, "output": output, **done.document}
        document |= {"verified": bool(done.verification and done.verification.passed)}
        document |= {"elapsed_ms": 1e3 * done.elapsed_s}
        document |= {"clipped": done.clipped.share}
        document |= {"result": None, "notes": list(notes)}
        document["verification"] = None if done.verification is None else asdict(done.verification)
        print_json(document)
    else:
        print_answer(
            f"{printable(output)}: {done.headline}\n{rate_text(done)}; {proof_text([done.verification])}"
        )
    return status_of([done.verification])
