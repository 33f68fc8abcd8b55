"""The addresses of schedulers, as they are written."""

import pytest

from engine.cluster import SchedulerAddress
from engine.errors import BadValue


def test_that_an_address_of_a_scheduler_is_taken_as_it_is():
    for text in ["tcp://host:8786", "tls://10.0.0.1:1", "tcp://[::1]:8786", "tcp://a-b.example.org:65535"]:
        assert SchedulerAddress.parse(text) == SchedulerAddress(text, 0)


def test_that_local_names_processes():
    assert SchedulerAddress.parse("local:3").processes == 3


def test_that_another_text_is_refused_with_what_to_write():
    for text in [
        "",
        "local",
        "local:",
        "local:0",
        "local:-1",
        "local:99999",
        "local:1.5",
        "http://h:1",
        "tcp://h",
        "tcp://:1",
        "tcp://h:1/x",
        "tcp://h:x",
        "h:8786",
        "TCP://",
        "local:2 ",
    ]:
        with pytest.raises(BadValue, match="local:2"):
            SchedulerAddress.parse(text)
