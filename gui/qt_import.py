"""PySide6 imported as this program needs it; whoever uses Qt imports this first.

Python's own import statement stays. PySide6's reads the source of each module that is imported, whatever it
is, for `from __feature__ import`, which this program has nowhere: 80 of 650 ms before the window is shown,
100 ms of the panels behind others, and 18 MB of source lines that `linecache` keeps. Others saw it crash
where threads import modules, as the engine's replies do here.

Qt's classes are made at once. By default each is made when it is first used, which two threads may do at
the same time. The first paint takes 1 to 9 % longer, the first result does not.

Without both a start in some 400 ended with a segmentation fault in a collection of garbage. That they
are its cause is not proven; panels' modules were imported on a thread then (gui/page/slot.py).
"""

import builtins
import linecache
import os

from engine.process import no_collection

_python_import = getattr(builtins, "__orig_import__", builtins.__import__)
os.environ["PYSIDE6_OPTION_LAZY"] = "0"
with no_collection():
    import shiboken6  # noqa: F401 - replaces the import statement

    builtins.__import__ = _python_import
    import PySide6.QtCore
    import PySide6.QtGui
    import PySide6.QtWidgets  # noqa: F401

linecache.clearcache()
