"""The dialog Batch within the window: it asks before it closes while one runs, and says how one ended."""

from PySide6.QtCore import QCoreApplication
from PySide6.QtWidgets import QWidget

from gui.explore.batch.batch_dialog import BatchDialog
from gui.explore.batch.batch_run import BatchEnd
from gui.explore.workspace import Workspace
from gui.page.contract import Services
from gui.page.messages import Message, PageMessages, Severity

_SOURCE = "batch"


def batch_dialog(
    window: QWidget, workspace: Workspace, services: Services, messages: PageMessages
) -> BatchDialog:
    """Make the dialog."""
    dialog = BatchDialog(window, workspace, services.files.folder)
    writing: list[str] = []

    def began(folder: str) -> None:
        messages.clear(_SOURCE)
        writing.append(folder)
        services.link.begin_writing(folder)

    def progressed(done: int, total: int) -> None:
        if writing and total:
            stage = f"batch: {done:,} of {total:,}"
            services.state.set_task(_SOURCE, stage, done / total, is_beside=True)

    def ended(end: BatchEnd) -> None:
        services.state.end_task(_SOURCE)
        services.link.end_writing(writing.pop(), is_done=not end.is_stopped)
        if not dialog.isVisible() and end.document:
            is_whole = not end.failures
            message = f"Batch: {end.sentence}"
            messages.show(Message(_SOURCE, Severity.INFO if is_whole else Severity.WARNING, message))

    dialog.began.connect(began)
    dialog.run.progressed.connect(progressed)
    dialog.ended.connect(ended)
    application = QCoreApplication.instance()
    if application is not None:
        application.aboutToQuit.connect(dialog.run.end_now)
    return dialog
