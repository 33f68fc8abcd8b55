"""pyqtgraph, which draws the plots. It takes 0.15 s to import: on a thread, after the first result."""

import sys
from types import ModuleType

# A widget that nothing here uses, for which pyqtgraph loads CUDA's bindings: 12 MB of the window.
sys.modules.setdefault("pyqtgraph.widgets.RawImageWidget", ModuleType("not loaded"))

import pyqtgraph as pg  # noqa: E402

__all__ = ["pg"]
