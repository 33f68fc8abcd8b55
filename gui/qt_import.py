"""PySide6 imported in the way that this program needs; whoever uses Qt imports this first.

Its classes are made at once. By default each is made when it is first asked for, which two threads may do at
the same time: a start in some 400 crashed as a thread imported pyqtgraph, which asks for all of them, while
the GUI thread collected garbage. The first paint takes 575 ms instead of 570.

And Python's own import statement is put back. PySide6's reads the source of each module that is imported,
whatever it is, for `from __feature__ import`, which this program has nowhere: 80 of 650 ms before the window
is shown, 100 ms of the panels behind others, and 18 MB of source lines that `linecache` keeps.
"""

import builtins
import linecache
import os

from engine.garbage import no_collection

os.environ["PYSIDE6_OPTION_LAZY"] = "0"
with no_collection():
    import PySide6.QtCore
    import PySide6.QtGui
    import PySide6.QtWidgets  # noqa: F401

builtins.__import__ = getattr(builtins, "__orig_import__", builtins.__import__)
linecache.clearcache()
