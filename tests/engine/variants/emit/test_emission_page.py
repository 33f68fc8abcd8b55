"""The page on emission: its example gives the PTX that it shows."""

import re
from pathlib import Path

import pytest
from numba import types

from engine.device.numba_cuda import cuda
from tests.engine.variants.emitted import needs_nvvm

PAGE = Path(__file__).parents[4] / "docs" / "emission.md"


@pytest.mark.slow
@needs_nvvm
def test_that_what_the_page_on_emission_says_is_so():
    blocks = dict.fromkeys(("python", "ptx"), "")
    for language, text in re.findall(r"```(\w+)\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL):
        blocks[language] += text
    names = {}
    exec(compile(blocks["python"], str(PAGE), "exec"), names)
    signature = (types.float32, types.float32, types.float32[::1])
    ptx, _ = cuda.compile_ptx(names["kernel"], signature, cc=(9, 0))
    made = re.findall(r"^\s*((?:ld\.shared|fma)\S*)", ptx, re.MULTILINE)
    assert made == blocks["ptx"].split()
    assert sum(map(bool, PAGE.read_text(encoding="utf-8").splitlines())) <= 60
