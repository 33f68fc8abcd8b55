"""A file manager of one file: whoever drags from its window drags that file. Says when it can be dropped."""

import sys

from PySide6.QtCore import QMimeData, Qt, QUrl
from PySide6.QtGui import QDrag, QMouseEvent
from PySide6.QtWidgets import QApplication, QWidget


class Files(QWidget):
    def mouseMoveEvent(self, event: QMouseEvent) -> None:  # noqa: N802
        files = QMimeData()
        files.setUrls([QUrl.fromLocalFile(sys.argv[1])])
        drag = QDrag(self)
        drag.setMimeData(files)
        drag.actionChanged.connect(self.say)
        drag.exec(Qt.DropAction.CopyAction)

    def say(self, action: Qt.DropAction) -> None:
        if action is not Qt.DropAction.IgnoreAction:
            sys.stdout.write("the window takes it\n")
            sys.stdout.flush()


app = QApplication(sys.argv[:1])
# Over the other windows, wherever these are.
window = Files(None, Qt.WindowType.X11BypassWindowManagerHint | Qt.WindowType.WindowStaysOnTopHint)
window.setWindowTitle("Files")
window.setGeometry(900, 600, 80, 80)
window.show()
sys.exit(app.exec())
