"""The architectures that code is shown for, as a person writes them."""

import pytest

from engine.errors import BadValue
from engine.explain.gpus import Architecture


@pytest.mark.parametrize("text", ["sm_86", "compute_86", "86", "8.6", "SM_86"])
def test_that_an_architecture_is_written_in_several_ways(text):
    assert Architecture.named(text) == (8, 6)


@pytest.mark.parametrize("text", ["sm_70", "hopper", "sm_", "9"])
def test_that_an_architecture_that_is_not_known_is_refused(text):
    with pytest.raises(BadValue, match="Choose one of sm_75, "):
        Architecture.named(text)
