"""A picture that is larger than memory: what `filter` and `batch` do, how far it is, how it went."""

import time
from collections.abc import Callable
from dataclasses import asdict

from engine.commands import status_of
from engine.commands.output import clip_hint, log, log_notes, print_answer, print_json, report_interrupt
from engine.commands.picture_opening import result_dtype
from engine.commands.picture_work import PictureWork
from engine.flow.file import Done, Work, filter_file
from engine.image.form import bytes_text


def work_of(how: PictureWork) -> Work:
    """Return what is done with a picture, and how its result is saved."""
    asked, saving = how.asked, how.saving
    return Work(
        resolve=how.resolved,
        saved_type=lambda given: result_dtype(asked, saving, given),
        range=how.range,
        filters_alpha=how.filters_alpha,
        verify=saving.verify,
        metadata=saving.metadata,
    )


def facts_of(how: PictureWork, done: Done) -> dict[str, object]:
    """Return what was done with a picture, for JSON."""
    resolved = done.resolved
    return {**how.facts(resolved), **how.document(resolved, None, resolved.devices), **done.facts}


def filtered(how: PictureWork, source: str, output: str, go_on: Callable[[], object]) -> Done:
    """Filter a file of a batch; `go_on` is called from time to time, on any thread, and may end it."""
    log_progress = ProgressLog(output)

    def report(fraction: float, words: str) -> None:
        go_on()
        log_progress(fraction, words)

    return filter_file(work_of(how), source, output, memory=how.saving.memory, report=report)


def run(how: PictureWork, source: str, output: str, *, as_json: bool, version: int) -> int:
    """Filter a file in bands; print notes and the answer; return the exit status."""
    written = [0, 1]

    def on_state(rows: int, height: int) -> None:
        written[:] = rows, height

    def kept() -> str:
        if not written[0]:
            return ""
        share = 100 * written[0] // written[1]
        return f"{share} % is done, and the same command goes on from there"

    with report_interrupt([output], kept):
        done = filter_file(
            work_of(how),
            source,
            output,
            memory=how.saving.memory,
            report=ProgressLog(output),
            on_state=on_state,
        )
    hint = [clip_hint(done.clipped)] if done.clipped.better_range else []
    notes = (*how.notes, *done.notes)
    log_notes((*notes, *hint))
    if as_json:
        document: dict[str, object] = {"format": how.format, "version": version}
        document |= {"input": source, "output": output, **facts_of(how, done)}
        document |= {"verified": bool(done.verification and done.verification.passed)}
        document |= {"elapsed_ms": 1e3 * done.elapsed_s}
        document |= {"clipped": done.clipped.share}
        document |= {"result": None, "notes": list(notes)}
        document["verification"] = None if done.verification is None else asdict(done.verification)
        print_json(document)
    else:
        rate = f"{bytes_text(int(done.source_bytes / max(done.elapsed_s, 1e-9)))} of pixels per second"
        proof = "not verified" if done.verification is None else done.verification.sentence()
        headline = how.headline(done.resolved, output, done.resolved.devices)
        print_answer(
            f"{headline}, in bands of {done.band_rows:,} rows\n{done.elapsed_s:.3g} s, {rate}; {proof}"
        )
    return status_of([done.verification])


class ProgressLog:
    """Prints how far a picture is, a line every few seconds."""

    def __init__(self, name: str, every_s: float = 3.0) -> None:
        self._name, self._every_s = name, every_s
        self._begin_s = self._last_s = time.monotonic()
        self._first: float | None = None

    def __call__(self, fraction: float, words: str) -> None:
        """Print a line where the last one is some seconds ago."""
        now_s = time.monotonic()
        if self._first is None:
            self._first, self._begin_s = fraction, now_s
        # Rarer in long runs.
        if now_s - self._last_s < max(self._every_s, (now_s - self._begin_s) / 20):
            return
        self._last_s = now_s
        done = fraction - self._first
        left = (now_s - self._begin_s) * (1.0 - fraction) / done if done > 0 else 0.0
        about = f", about {_duration(left)} left" if left else ""
        log(f"{self._name}: {100 * fraction:.0f} % {words}{about}")


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
