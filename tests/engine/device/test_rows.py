"""How the rows of a picture are stored on a device, pitched and packed, seen in the simulator."""

import pytest

from tests.fresh_python import fresh_python


@pytest.mark.slow
def test_that_rows_are_stored_as_asked_and_results_do_not_depend_on_it():
    assert fresh_python("-m", "tests.engine.device.rows_in_simulator", simulated=True) == "12 checked\n"
