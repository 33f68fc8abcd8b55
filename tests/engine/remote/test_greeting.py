"""What a server says first: whatever it is, the connection is used, or refused in one line."""

import io
import json
import threading
from types import SimpleNamespace

from engine.errors import LineLost
from engine.files.standard_streams import printable
from engine.remote import VERSION, ssh
from engine.remote.schema import DIGEST
from engine.remote.ssh import RemoteServer

GOOD = b"HALOSCOPE " + json.dumps({"version": VERSION, "schema": DIGEST}).encode() + b"\n"
ESCAPES = "\x1b]0;title\x07\x1b[2J\x9b2J\x08\r\u202e"


def why_not(output, said=""):
    """Return why a server with this output is refused; `said` is what ssh has printed."""
    process = SimpleNamespace(stdout=output, wait=lambda timeout: 0, poll=lambda: 0)
    return RemoteServer("evil").why_not_greeted(process, lambda: said)


def test_that_a_greeting_after_what_a_shell_prints_is_taken():
    assert why_not(io.BytesIO(b"Welcome!\n" + GOOD)) is None


def test_that_a_greeting_of_another_kind_is_refused_in_words():
    for greeting in [
        b"",
        b"A" * (1 << 20),
        b"x\n" * (1 << 19),
        b"HALOSCOPE " + b"[" * 50_000 + b"\n",
        b"HALOSCOPE [1]\n",
        b'HALOSCOPE {"version":1e999,"schema":NaN,"missing":7}\n',
        b"HALOSCOPE " + json.dumps({"version": ESCAPES, "schema": "x"}).encode() + b"\n",
        b'HALOSCOPE {"missing":"python","python":"\\u001b[2J"}\n',
    ]:
        refusal = why_not(io.BytesIO(greeting), f"banner\n{ESCAPES}")
        assert isinstance(refusal, LineLost)
        assert "evil" in refusal.what
        assert printable(str(refusal)).isprintable()


def test_that_a_server_that_does_not_greet_is_named_and_given_up(monkeypatch):
    monkeypatch.setattr(ssh, "GREETED_S", 0.1)
    over = threading.Event()
    refusal = why_not(SimpleNamespace(readline=lambda most: b"" * over.wait()))
    over.set()
    assert isinstance(refusal, LineLost)
    assert "evil does not answer" in refusal.what
