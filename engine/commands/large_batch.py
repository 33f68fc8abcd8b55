"""Pictures of a batch that are larger than memory: one after the other, after all others."""

import os
from collections.abc import Sequence
from concurrent.futures import Future

from engine import interrupts
from engine.commands.batch_files import PictureFile, why_not_new
from engine.commands.batch_loop import Finished, Loop, Saving
from engine.commands.batch_sources import Source
from engine.commands.batch_watch import say_begun
from engine.commands.in_bands import ProgressLog, facts_of, work_of
from engine.commands.picture_filter import AnyFilter
from engine.device_info import titles
from engine.files.output_checks import make_folder
from engine.flow.file import filter_file


class InParts:
    """Each has all cores and the memory for itself."""

    def __init__(self, how: AnyFilter, files: Sequence[PictureFile], before: Source) -> None:
        self._how, self._files, self._before = how, files, before

    def run(self, loop: Loop) -> None:
        """Have the others filtered, and then these."""
        self._before.run(loop)
        for file in self._files:
            if loop.is_stopped:
                return
            saving: Future[Saving] = Future()
            try:
                saved: Saving = Future()
                saved.set_result(self._filtered(loop, file))
                saving.set_result(saved)
            except BaseException as error:  # noqa: BLE001 - reported with its file
                saving.set_exception(error)
            loop.hand_over(file, saving, 0)

    def _filtered(self, loop: Loop, file: PictureFile) -> Finished:
        if file.refusal is not None:
            raise file.refusal
        say_begun(file.source)
        log = ProgressLog(file.target)

        def report(fraction: float, words: str) -> None:
            loop.end_if_stopped()
            log(fraction, words)

        make_folder(os.path.dirname(file.target) or ".", with_parents=True)
        if not file.replaces and (why_not := why_not_new(file.target)):
            raise why_not
        how = self._how
        done = filter_file(work_of(how), file.source, file.target, memory=how.settings.memory, report=report)
        with interrupts.undivided():
            loop.written += 1
        loop.devices |= dict.fromkeys(titles(done.devices))
        loop.variants[done.resolved.choice.variant.key] = None
        facts = facts_of(how, done)
        return Finished(file, None, done.notes, done.verification, facts, clipped=done.clipped)
