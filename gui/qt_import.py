"""Python's own import statement again, after PySide6 has put its own in its place.

PySide6's reads the source of each module that is imported, whatever it is, for `from __feature__ import`,
which this program has nowhere: 80 of 650 ms before the window is shown, 100 ms of the panels behind others,
and 18 MB of source lines that `linecache` keeps.
"""

import builtins
import linecache

import PySide6.QtCore  # noqa: F401 - puts its import statement there

builtins.__import__ = getattr(builtins, "__orig_import__", builtins.__import__)
linecache.clearcache()
