"""A picture that is larger than memory: what `filter` and `batch` do, how far it is, how it went."""

import time
from collections.abc import Callable

from engine.commands.output import log
from engine.commands.picture_opening import result_dtype
from engine.commands.picture_work import PictureWork
from engine.flow.file import Done, Work, filter_file


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


def filtered(
    how: PictureWork,
    source: str,
    output: str,
    go_on: Callable[[], object] = lambda: None,
    on_state: Callable[[int, int], None] = lambda rows, height: None,
) -> Done:
    """Filter a file; `go_on` is called from time to time, on any thread, and may end it.

    `on_state` is as of `filter_file`.
    """
    log_progress = ProgressLog(output)

    def report(fraction: float, words: str) -> None:
        go_on()
        log_progress(fraction, words)

    memory = how.saving.memory
    return filter_file(work_of(how), source, output, memory=memory, report=report, on_state=on_state)


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
