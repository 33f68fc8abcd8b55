"""The judge on kernels as students write them: each fault is found with its kind and its line."""

import re
from pathlib import Path

import pytest

import engine
from tests.engine.variants.emitted import NEEDS_NVVM

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("nvrtc_here"), *NEEDS_NVVM]
FOLDER = Path(__file__).parent / "kernels"
FILES = sorted(path for path in FOLDER.glob("*/*") if path.suffix in (".cu", ".py"))
_EXPECTED = re.compile(r"expect: (\w+)(?: (\w+) (\S+))?")


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_that_a_kernel_is_judged_with_the_kind_and_line_of_its_fault(path, monkeypatch):
    verdict, kind, lines = _EXPECTED.search(path.read_text()).groups()
    # So many steps that none of these kernels takes them, and few enough to be done soon.
    monkeypatch.setattr("engine.ptx.launch.MOST_STEPS", 10_000)
    found = engine.judge(path, seed=1)
    assert found.verdict == verdict, found.findings
    if kind is None:
        assert (found.findings == ()) is (verdict == "right")
        return
    of_kind = [one for one in found.findings if one.kind == kind]
    assert of_kind, found.findings
    if lines != "-":
        wanted = {*map(int, lines.split(","))}
        assert any(wanted <= {*one.numbers} or {*one.numbers} <= wanted for one in of_kind if one.numbers), (
            of_kind
        )
