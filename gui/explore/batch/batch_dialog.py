"""The dialog Batch: which pictures, where the results go, how far it is, and what failed.

It is not modal: the page can be used while a batch runs, whose job is that of the moment when it began.
"""

import glob
import json
import re
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from PySide6.QtCore import QCoreApplication, QObject, QProcess, Qt, QTimer, QUrl, Signal
from PySide6.QtGui import QDesktopServices, QDragEnterEvent, QDropEvent
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QDialog,
    QHeaderView,
    QLabel,
    QLineEdit,
    QProgressBar,
    QPushButton,
    QTreeWidget,
    QTreeWidgetItem,
    QWidget,
)

from engine.commands.own_process import command_process
from engine.errors import EngineError
from engine.image.formats import offered_suffixes
from gui.explore.copy_as import job_sentence, job_words
from gui.explore.files import picture_filters
from gui.explore.workspace import Workspace
from gui.page.contract import Services
from gui.page.files import FileDialogs
from gui.page.messages import PageMessages
from gui.style.metrics import GRID, follow, scaled_font
from gui.widgets.panel_parts import (
    PlaceholderStack,
    column,
    fill_box,
    form,
    label_for,
    named,
    quiet_label,
    row,
)

_DONE = re.compile(r"\[(\d+)/(\d+)\] ")  # how `batch` begins the line of a file that is done
# A first signal ends the batch after the pictures that are in their filter, a second one at once.
_PATIENCE_MS, _KILL_MS = 500, 900
_RATE_FROM = 2  # two pictures say more of the rate than one


@dataclass(frozen=True, slots=True)
class BatchEnd:
    """How a batch ended: its document, or why there is none."""

    document: dict[str, Any] = field(default_factory=dict)
    why: str = ""
    is_stopped: bool = False

    @property
    def failures(self) -> list[tuple[str, str]]:
        """Each picture without a result, and the reason."""
        files = self.document.get("files", ())
        return [(one["input"], why) for one in files if (why := one.get("failure") or one.get("why"))]

    @property
    def sentence(self) -> str:
        report = self.document
        if not report:
            return self.why
        left = f", {report['skipped']:,} left out" if report.get("skipped") else ""
        stopped = "Stopped: " if self.is_stopped else ""
        failed = f", {report['failed']:,} failed" if report["failed"] else ""
        seconds = f" in {report['elapsed_s']:.3g} s"
        pictures = f"{report['pictures']:,} picture{'s' * (report['pictures'] != 1)}"
        return f"{stopped}{report['done']:,} of {pictures} filtered{left}{failed}{seconds}."


class BatchRun(QObject):
    """One batch at a time."""

    progressed = Signal(int, int)  # pictures done, and all that are to do
    ended = Signal(object)  # a BatchEnd

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._process: QProcess | None = None
        self._begun_s = 0.0
        self.is_stopping = False  # whether it is to end
        self.done = self.total = 0

    @property
    def is_running(self) -> bool:
        return self._process is not None

    @property
    def per_second(self) -> float:
        """Pictures per second; 0 while that is not known."""
        return self.done / (time.monotonic() - self._begun_s) if self.done >= _RATE_FROM else 0.0

    def start(self, words: Sequence[str]) -> None:
        program, environment = command_process(["batch", *words, "--json"])
        self._process = process = QProcess(self)
        process.setEnvironment([f"{name}={value}" for name, value in environment.items()])
        process.readyReadStandardError.connect(self._hear)
        process.finished.connect(self._finish)
        process.errorOccurred.connect(self._fail)
        self._open_line, self._last, self._begun_s = "", "", time.monotonic()
        self.is_stopping, self.done, self.total = False, 0, 0
        process.start(program[0], program[1:])

    def stop(self) -> None:
        """End it: files that are written stay, and no file is left half written."""
        process = self._process
        if process is not None and not self.is_stopping:
            self.is_stopping = True
            process.terminate()
            for wait_ms, end in ((_PATIENCE_MS, process.terminate), (_KILL_MS, process.kill)):
                QTimer.singleShot(wait_ms, process, end)

    def end_now(self) -> None:
        """End it before the window is gone."""
        if (process := self._process) is not None:
            self.is_stopping = True
            process.terminate()
            process.terminate()
            if not process.waitForFinished(_KILL_MS):
                process.kill()
                process.waitForFinished(_KILL_MS)

    def _hear(self) -> None:
        if self._process is None:
            return
        self._open_line += bytes(self._process.readAllStandardError().data()).decode("utf-8", "replace")
        *lines, self._open_line = self._open_line.split("\n")
        for line in lines:
            if progress := _DONE.match(line):
                self.done, self.total = int(progress[1]), int(progress[2])
            elif not line.startswith("note: "):
                self._last = line
        self.progressed.emit(self.done, self.total)

    def _fail(self, error: QProcess.ProcessError) -> None:
        if error is QProcess.ProcessError.FailedToStart:
            self._end(BatchEnd(why="The batch could not be started: Python cannot be run."))

    def _finish(self, status: int) -> None:
        if self._process is None:
            return
        self._hear()
        answer = bytes(self._process.readAllStandardOutput().data()).decode("utf-8", "replace")
        try:
            document = json.loads(answer)
        except ValueError:
            document = {}
        why = self._last or f"The batch ended without an answer (status {status})."
        if self.is_stopping:
            why = f"Stopped after {self.done:,} of {self.total:,}." if self.total else "Stopped."
        self._end(BatchEnd(document, why, self.is_stopping))

    def _end(self, end: BatchEnd) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.deleteLater()
        self.ended.emit(end)


_WIDTH, _LIST_HEIGHT = 80 * GRID, 18 * GRID
_EXISTING = {
    "": "Report it, and keep the file",
    "--skip-existing": "Leave the picture out",
    "--overwrite": "Replace the file",
}
_SEPARATOR = "; "
_SOURCE = "batch"
_NO_FAILURES = "Pictures without a result are listed here, each with its reason."


class BatchDialog(QDialog):
    """What a batch needs, its progress and its end. Closing it leaves a batch running."""

    def __init__(
        self, parent: QWidget, workspace: Workspace, services: Services, messages: PageMessages
    ) -> None:
        super().__init__(parent)
        self._workspace, self._services, self._messages = workspace, services, messages
        self._dialogs = FileDialogs(services.files.folder, self)
        self._writes_to = ""
        self._job_folder = tempfile.TemporaryDirectory(prefix="haloscope-batch-")
        self.run = BatchRun(self)
        self.setWindowTitle("Batch")
        self.setAcceptDrops(True)
        self.pictures = QLineEdit(placeholderText="a folder, or files with ; between them")
        self.pictures.setToolTip(
            "Folders, files or patterns such as shots/*.tif. A folder can be dropped here."
        )
        self.out = QLineEdit(placeholderText="a folder")
        self.out.setToolTip("Where the results go, under the names of their pictures. It is made if needed.")
        self.folder_button = _button("Folde&r…", "Choose a folder of pictures.")
        self.files_button = _button("F&iles…", "Choose several pictures.")
        self.out_button = _button("&Choose…", "Choose the folder for the results.")
        self.recursive = QCheckBox("&Folders within it too")
        self.recursive.setToolTip("Also search the folders within folders, and make them among the results.")
        self.no_metadata = QCheckBox("&Leave out camera, place and time")
        self.no_metadata.setToolTip("Save without EXIF data and resolution.")
        self.format, self.existing = QComboBox(), QComboBox()
        forms = [suffix.lstrip(".") for suffix in offered_suffixes()]
        fill_box(self.format, {"keep": "Each picture's own"} | {one: one.upper() for one in forms}, "keep")
        self.format.setToolTip("The format of the results.")
        fill_box(self.existing, _EXISTING, "")
        self.existing.setToolTip("What is done where a file of the result's name is there already.")
        self.job = QLabel(wordWrap=True, textFormat=Qt.TextFormat.PlainText)
        self.bar = named(QProgressBar(textVisible=False), "Pictures done")
        self.bar.setFixedHeight(GRID)
        self.sentence = QLabel(wordWrap=True, textFormat=Qt.TextFormat.PlainText)
        self.sentence.setFont(scaled_font(1.0, bold=True))
        self.failures = named(QTreeWidget(), "Pictures without a result")
        self.failures.setHeaderLabels(["Picture", "Reason"])
        self.failures.setRootIsDecorated(False)
        self.failures.setUniformRowHeights(True)
        self.failures.setMinimumHeight(_LIST_HEIGHT)
        self.failures.header().setSectionResizeMode(0, QHeaderView.ResizeMode.ResizeToContents)
        self.listed = PlaceholderStack(self.failures, _NO_FAILURES)
        self.open_folder = _button("Open f&older", "Show the results in the file manager.")
        self.start_button = _button("&Start", "Filter the pictures, as this page does now.")
        self.start_button.setDefault(True)
        self.stop_button = _button("S&top", "End the batch. Results that are written stay.")
        self.close_button = _button("Close", "Close this dialog. A batch that runs goes on. (Esc)")
        self.missing = quiet_label()
        self._lay_out()
        self._connect()

    def begin(self, inputs: Sequence[str] = ()) -> None:
        """Show the dialog, with these folders or files, if any."""
        if inputs and not self.run.is_running:
            self._take_inputs(inputs)
        self.show()
        self.raise_()
        self.activateWindow()
        self.pictures.setFocus()

    def words(self) -> list[str]:
        """Return the words of `batch` that do what is chosen."""
        words = [*_parts(self.pictures.text()), "--out", self.out.text().strip()]
        if self.format.currentData() != "keep":
            words.append(f"--format={self.format.currentData()}")
        words += ["--recursive"] * self.recursive.isChecked()
        words += ["--no-metadata"] * self.no_metadata.isChecked()
        words += [self.existing.currentData()] * bool(self.existing.currentData())
        return words + job_words(self._workspace, Path(self._job_folder.name))

    def start(self) -> None:
        named = _parts(self.pictures.text())
        if missing := [one for one in named if not Path(one).exists() and not glob.has_magic(one)]:
            self._show_end(BatchEnd(why=f"There is no {', '.join(missing)}. Correct it under Pictures."))
            return
        self._show_end(None)
        try:
            self.run.start(self.words())
        except EngineError as error:
            self._show_end(BatchEnd(why=str(error)))
            return
        self._writes_to = self.out.text().strip()
        self._messages.clear(_SOURCE)
        self._services.link.begin_writing(self._writes_to)
        self._show_state()

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        if not self.run.is_running and _dropped(event):
            event.acceptProposedAction()

    def dropEvent(self, event: QDropEvent) -> None:
        event.acceptProposedAction()
        self._take_inputs(_dropped(event))

    def _lay_out(self) -> None:
        fields = form(GRID)
        pictures = row((self.pictures, 1), self.folder_button, self.files_button)
        fields.addRow(label_for("&Pictures", self.pictures), pictures)
        fields.addRow("", self.recursive)
        fields.addRow(label_for("Res&ults in", self.out), row((self.out, 1), self.out_button))
        fields.addRow(label_for("For&mat", self.format), row(self.format, self.no_metadata, 1))
        fields.addRow(label_for("If it &exists", self.existing), row(self.existing, 1))
        fields.addRow(QLabel("Filter"), self.job)
        about = quiet_label("Each picture is filtered as this page does now, and verified.", wraps=True)
        end = column(self.bar, self.sentence, (self.listed, 1))
        doing = self.start_button, self.stop_button, self.close_button
        parts = about, fields, (end, 1), row(self.open_folder, 1, self.missing, *doing)
        self.setLayout(column(*parts, spacing=2 * GRID, margins=(2 * GRID, 2 * GRID, 2 * GRID, 2 * GRID)))
        self.resize(_WIDTH, self.sizeHint().height())

    def _connect(self) -> None:
        ask_for_folder, take = self._dialogs.ask_for_folder, self._take_inputs
        self.folder_button.clicked.connect(lambda: ask_for_folder("Pictures", lambda path: take([str(path)])))
        ask_for_files, out = self._dialogs.ask_for_files, lambda path: self.out.setText(str(path))
        self.files_button.clicked.connect(lambda: ask_for_files(picture_filters(), take))
        self.out_button.clicked.connect(lambda: ask_for_folder("Results", out))
        for edit in (self.pictures, self.out):
            edit.textChanged.connect(self._show_state)
            # What became of other pictures is no word about these.
            edit.textChanged.connect(lambda: self._show_end(BatchEnd()))
        self.pictures.editingFinished.connect(self._propose_out)
        follow(self._show_state, self._workspace.job_changed, self._workspace.operation_changed)
        self.start_button.clicked.connect(lambda: self.start())
        self.stop_button.clicked.connect(self._stop)
        show = QDesktopServices.openUrl
        self.open_folder.clicked.connect(lambda: show(QUrl.fromLocalFile(self.out.text().strip())))
        self.close_button.clicked.connect(self.reject)
        self.run.progressed.connect(self._show_progress)
        self.run.ended.connect(self._end)
        if (application := QCoreApplication.instance()) is not None:
            application.aboutToQuit.connect(self.run.end_now)

    def _take_inputs(self, paths: Sequence[str]) -> None:
        if not paths:
            return
        first = Path(paths[0])
        self._dialogs.folder = str(first if first.is_dir() else first.parent)
        self.pictures.setText(_SEPARATOR.join(paths))
        self._propose_out()

    def _propose_out(self) -> None:
        """Fill in where the results go: a folder beside the pictures, as long as none is named."""
        first = next(iter(_parts(self.pictures.text())), "")
        if first and not self.out.text().strip():
            folder = Path(first) if Path(first).is_dir() else Path(first).parent
            self.out.setText(str(folder / "filtered"))

    def _stop(self) -> None:
        self.sentence.setText("Stopping…")
        self.run.stop()

    def _show_state(self) -> None:
        is_running, named = self.run.is_running, self.pictures.text().strip(_SEPARATOR)
        wanted = {"which pictures": named, "where the results go": self.out.text().strip()}
        missing = [words for words, text in wanted.items() if not text]
        edits = self.pictures, self.out, self.folder_button, self.files_button, self.out_button
        for widget in (*edits, self.recursive, self.format, self.no_metadata, self.existing):
            widget.setEnabled(not is_running)
        self.start_button.setVisible(not is_running)
        self.start_button.setEnabled(not missing)
        self.stop_button.setVisible(is_running)
        self.open_folder.setEnabled(Path(self.out.text().strip() or "-").is_dir())
        if not is_running:
            self.job.setText(job_sentence(self._workspace))
            self.missing.setText(f"First say {' and '.join(missing)}." if missing else "")

    def _show_progress(self, done: int, total: int) -> None:
        self.bar.setRange(0, total)
        self.bar.setValue(done)
        if total:
            stage = f"batch: {done:,} of {total:,}"
            self._services.state.set_task(_SOURCE, stage, done / total, is_beside=True)
        if self.run.is_stopping:
            return
        rate = self.run.per_second
        pace = f" · {rate:.3g} per second · {_left((total - done) / rate)} left" if rate else ""
        self.sentence.setText(f"{done:,} of {total:,}{pace}" if total else "Starting…")

    def _show_end(self, end: BatchEnd | None) -> None:
        """Show how it ended; None: it begins."""
        self.failures.clear()
        if end is None or not end.is_stopped:
            self.bar.setRange(0, 0 if end is None else 1)
            self.bar.setValue(int(end is not None and bool(end.document)))
        self.sentence.setText("Starting…" if end is None else end.sentence)
        failures = end.failures if end else []
        is_whole = end is not None and end.document and not end.is_stopped
        self.listed.say("" if failures else "No picture failed." if is_whole else _NO_FAILURES)
        for name, why in failures:
            reason = why.removeprefix(f"{name}: ").removeprefix(f"{name} ")
            item = QTreeWidgetItem(self.failures, [Path(name).name, reason])
            item.setToolTip(0, name)
            item.setToolTip(1, why)

    def _end(self, end: BatchEnd) -> None:
        self._show_end(end)
        self._show_state()
        self._services.state.end_task(_SOURCE)
        self._services.link.end_writing(self._writes_to, is_done=not end.is_stopped)
        if not self.isVisible() and end.document:
            say = self._messages.warn if end.failures else self._messages.note
            say(_SOURCE, f"Batch: {end.sentence}")


def _button(text: str, tip: str) -> QPushButton:
    # Enter starts, whatever has the focus.
    button = QPushButton(text, autoDefault=False)
    button.setToolTip(tip)
    return button


def _parts(text: str) -> list[str]:
    return [part.strip() for part in text.split(_SEPARATOR.strip()) if part.strip()]


def _dropped(event: QDropEvent) -> list[str]:
    return [url.toLocalFile() for url in event.mimeData().urls() if url.isLocalFile()]


def _left(seconds: float) -> str:
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    return f"{round(seconds / 60)} min" if seconds < 5400 else f"{seconds / 3600:.2g} h"
