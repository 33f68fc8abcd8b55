import pytest

from engine.device.index_rules import cpu_code, source_index
from engine.geometry.border import Border


@pytest.mark.parametrize("border", list(Border))
def test_that_compiled_code_finds_the_same_cells_as_the_rule(border: Border) -> None:
    for length in range(1, 6):
        for index in range(-20, length + 20):
            assert source_index(index, length, cpu_code(border)) == border.rule(index, length)
