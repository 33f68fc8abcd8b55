"""What a module names for its kernels, and when it is imported."""

import importlib.util
import sys

SOURCE = """
from typing import TYPE_CHECKING

from engine.device.kernel_factory import kernel_factory

if TYPE_CHECKING:
    from string import digits, hexdigits


@kernel_factory
def kernel(first: int):
    def digit_at(number):
        return (digits + hexdigits)[first + number]

    return digit_at
"""


def test_that_a_module_imports_what_its_kernels_are_written_with_for_the_first_of_them(tmp_path, monkeypatch):
    path = tmp_path / "of_a_kernel.py"
    path.write_text(SOURCE, encoding="utf-8")
    spec = importlib.util.spec_from_file_location("of_a_kernel", path)
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "of_a_kernel", module)
    spec.loader.exec_module(module)
    assert not hasattr(module, "digits")
    assert module.kernel(2)(5) == "7"
    assert module.kernel(2) is module.kernel(2)
