"""The tests of a GPU are collected where neither Qt nor pytest-qt is installed: such machines have no screen."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
_COLLECT = """
import sys
import pytest
sys.modules |= dict.fromkeys(["PySide6", "pyqtgraph", "pytestqt", "qtawesome", "shiboken6"])
plugins = ["-p", "pytest_timeout", "-p", "xdist.plugin"]
sys.exit(pytest.main(["tests/gpu/test_matmul_on_device.py", "--collect-only", "-q", "-n0", *plugins]))
"""


@pytest.mark.slow
def test_that_tests_of_a_gpu_need_no_qt():
    found = subprocess.run(
        [sys.executable, "-c", _COLLECT],
        cwd=ROOT,
        env=os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.returncode == 0, found.stdout + found.stderr
    assert "tests/gpu/test_matmul_on_device.py::" in found.stdout
