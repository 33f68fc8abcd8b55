"""The tests of a GPU are collected where neither Qt nor pytest-qt is installed: such machines lack both."""

import pytest

from tests.fresh_python import fresh_python

_COLLECT = """
import sys
import pytest
sys.modules |= dict.fromkeys(["PySide6", "pyqtgraph", "pytestqt", "qtawesome", "shiboken6"])
plugins = ["-p", "pytest_timeout", "-p", "xdist.plugin"]
sys.exit(pytest.main(["tests/gpu/test_matmul_on_device.py", "--collect-only", "-q", "-n0", *plugins]))
"""


@pytest.mark.slow
def test_that_tests_of_a_gpu_need_no_qt():
    found = fresh_python("-c", _COLLECT, PYTEST_DISABLE_PLUGIN_AUTOLOAD="1")
    assert "tests/gpu/test_matmul_on_device.py::" in found
