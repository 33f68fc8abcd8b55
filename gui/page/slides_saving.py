"""Saving the teaching order as slides, with what results of the page say of each step."""

from collections.abc import Sequence
from pathlib import Path

from engine.explain.messages import SaveSlides
from engine.host.protocol import Saved
from engine.results.measurement import AnyResult
from gui.page.contract import Services
from gui.page.jobs import Job
from gui.page.messages import Message, PageMessages, Severity

SOURCE = "slides"


def save_slides(services: Services, results: Sequence[AnyResult], messages: PageMessages) -> None:
    """Ask where, and have the engine write the slides; Esc stops that."""

    def saved(reply: Saved) -> None:
        why = " ".join(reply.notes)
        messages.show(Message(SOURCE, Severity.INFO, f"Slides saved as {reply.path}", why))

    def save(path: Path, _filter: str) -> None:
        job = Job("Slides", SaveSlides(str(path), tuple(results)), saved)
        if not services.jobs.begin(SOURCE, [job], messages):
            why = services.state.why_no_run
            messages.show(Message(SOURCE, Severity.WARNING, "The slides are not saved", why))

    services.files.ask_to_save("Save the kernels as slides", ["HTML (*.html)"], "kernels.html", save)
