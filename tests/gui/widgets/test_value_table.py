"""A window of values in figures."""

import numpy as np
import pytest

from gui.widgets.number_table import ValueTable, cell_number, number, short_number


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("is_signed", [True, False])
@pytest.mark.parametrize("largest", [1.0, np.nan, np.inf])
def test_that_values_that_are_no_numbers_are_drawn(qtbot, is_signed, largest):
    values = np.array([[np.nan, np.inf, -np.inf, 0.5]])
    for text in (number, short_number, cell_number):
        assert [text(float(value)) for value in values[0, :3]] == ["NaN", "∞", "−∞"]
        table = ValueTable("Window", is_signed=is_signed)
        table.text = text
        qtbot.addWidget(table)
        table.show_values(values, largest)
        # What a drawing raises fails the test.
        assert not table.grab().isNull()
