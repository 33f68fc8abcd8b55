"""A command whose server sends anything: nothing is written that was not asked for, and it ends in words."""

import io
import json
import os
import subprocess
import threading
from contextlib import suppress
from types import SimpleNamespace

import numpy as np
import pytest

import engine
from engine.commands import there
from engine.commands.command_line import main
from engine.remote import ssh
from engine.remote.arrays import sent_bands
from engine.remote.codecs import Packer
from engine.remote.envelopes import DIGEST, TO_SERVER
from engine.remote.line import _HEADER, ANSWERS, Line
from engine.remote.messages import Arrays, Band, Command, Ended, Output, Running, Written
from engine.remote.schema import Crossing, decoded, encoded, name_of

NO_SERVER = 3
GREETING = b"HALOSCOPE " + json.dumps({"version": ssh.VERSION, "schema": DIGEST}).encode() + b"\n"
AS_IT_IS = Crossing(*[lambda part: part] * 4)


class FakeSsh:
    """What a command takes for ssh: it greets, and calls `act` with itself when the command has come."""

    def __init__(self, greeting, act):
        self._greeting, self._act = greeting, act
        (theirs, ours), (here, self.sender), (errors, closed) = os.pipe(), os.pipe(), os.pipe()
        os.close(closed)
        self.stdin = os.fdopen(ours, "wb")
        self.stdout, self.stderr = os.fdopen(here, "rb"), os.fdopen(errors, "rb")
        self.line = Line(os.fdopen(theirs, "rb"), self.sender, self._take, lambda why: None)
        threading.Thread(target=self._greet, daemon=True).start()

    def _greet(self):
        with suppress(OSError):
            rest = self._greeting
            while rest:
                rest = rest[os.write(self.sender, rest) :]
        if self._greeting.startswith(GREETING):
            self.line.start()

    def _take(self, structure, beside):
        message = decoded(structure, TO_SERVER, AS_IT_IS)
        if isinstance(message, Command):
            self.arguments = message.arguments
            threading.Thread(target=self._act, args=(self,), daemon=True).start()

    @property
    def out(self):
        """What the folder for the results, or the file, is called there."""
        options = [one.removeprefix("--out=") for one in self.arguments if one.startswith("--out=")]
        return (options or self.arguments)[-1]

    def send(self, *messages):
        for message in messages:
            self.line.send(encoded(message), ANSWERS)

    def put(self, place, data=b"from the server", key="k"):
        array = np.frombuffer(data, np.uint8)
        self.line.transfer(sent_bands(key, [array], Packer(), lambda: 1e9, 1), ANSWERS)
        self.send(Written(1, place, key))

    def poll(self):
        return None

    def wait(self, timeout=None):
        return 0

    def kill(self):
        self.line.close()


@pytest.fixture
def asked(tmp_path, monkeypatch, capsys):
    """Return a function that asks a server for a paper, or a picture; and what is in the folder then."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "work").mkdir()
    (tmp_path / "outside").mkdir()
    (tmp_path / "work" / "papers").mkdir()
    engine.save_image(np.eye(9, dtype=np.uint8), tmp_path / "in.png")

    def ask(act=lambda server: None, *, greeting=GREETING, picture=False):
        started = []

        def start(command, **pipes):
            started.append(FakeSsh(greeting, act))
            return started[-1]

        monkeypatch.setattr(there, "subprocess", SimpleNamespace(Popen=start, PIPE=subprocess.PIPE))
        monkeypatch.setattr("sys.stdin", io.StringIO())
        files = ("filter", "in.png", "work/out.png", "--mask", "box-3")
        paper = ("course", "report", "--out", "work/papers", "--sizes", "64")
        status = main([*(files if picture else paper), "--host", "evil"])
        for one in started:
            one.kill()
        return status, *capsys.readouterr()

    return ask


def tree(folder):
    """Return all below a folder: the bytes of files, the targets of links."""
    return {
        path.relative_to(folder).as_posix(): os.readlink(path)
        if path.is_symlink()
        else path.is_file() and path.read_bytes()
        for path in folder.rglob("*")
    }


def is_refused(answer, tmp_path, before):
    status, out, errors = answer
    assert (status, out) == (NO_SERVER, ""), errors
    assert len(errors.splitlines()) == 1
    assert tree(tmp_path) == before


@pytest.mark.parametrize(
    "place",
    [
        "{out}/../../outside/x",
        "{out}/..",
        "{out}/sub/../../../x",
        "{out}/.",
        "{out}//x",
        "{out}/.bashrc",
        "{out}/.config/x",
        "{out}/a\\..\\..\\x",
        "{out}/C:x",
        "{out}/a\nb",
        "{out}/a\x1b[2Jb",
        "{out}/" + "x" * 300,
        "{out}",
        "/{folder}/outside/x",
        "other/x",
        "../x",
        "x",
        "",
        # Links of this user in the folder lead out of it.
        "{out}/link/x",
        "{out}/link.md",
    ],
)
def test_that_no_file_is_written_out_of_the_folder_that_was_named(asked, tmp_path, place):
    (tmp_path / "outside" / "mine.md").write_text("mine")
    (tmp_path / "work" / "papers" / "link").symlink_to(tmp_path / "outside")
    (tmp_path / "work" / "papers" / "link.md").symlink_to(tmp_path / "outside" / "mine.md")
    before = tree(tmp_path)

    def act(server):
        server.put(f"{server.out}/good.md", key="good")
        server.put(place.format(out=server.out, folder=tmp_path))
        server.send(Ended(1, 0))

    is_refused(asked(act), tmp_path, before)


def test_that_what_was_asked_for_is_written_where_it_was(asked, tmp_path):
    def act(server):
        server.put(f"{server.out}/report.md", b"one", "a")
        server.put(f"{server.out}/tables/1.csv", b"", "b")
        server.send(Output(1, 2, f"written: {server.out}/report.md\n".encode()), Ended(1, 0))

    assert asked(act) == (0, "", "written: work/papers/report.md\n")
    assert (tmp_path / "work/papers/report.md").read_bytes() == b"one"
    assert (tmp_path / "work/papers/tables/1.csv").read_bytes() == b""


def arrays(shape, dtype, count=1):
    return lambda server: server.send(*(Arrays(f"k{n}", ((shape, dtype),), 1) for n in range(count)))


def twice(server):
    for data in (b"one", b"two"):
        server.put(f"{server.out}/report.md", data)


def bomb(server):
    library = pytest.importorskip("imagecodecs")
    packed = library.zstd_encode(b"\0" * (64 << 20))
    server.send(Arrays("k", (((1 << 20,), "uint8"),), 1))
    server.line.transfer([(encoded(Band("k", 0, 0, 1 << 20, "zstd")), packed)], ANSWERS)


def kinds(name):
    structure = b"\x92" + bytes([0xD9, len(name)]) + name.encode() + b"\xa4true"
    return lambda server: server.line.transfer([(structure, b"")], ANSWERS)


DOES = {
    "status 0, no file": lambda server: server.send(Ended(1, 0)),
    "below 0": lambda server: server.send(Ended(1, -5)),
    "above 255": lambda server: server.send(Ended(1, 256)),
    "a file of nothing": lambda server: server.send(Written(1, f"{server.out}/report.md", "none")),
    "a file twice": twice,
    "8 GiB": arrays((1 << 30,), "float64"),
    "50 of 3 GiB": arrays((3 << 30,), "uint8", 50),
    "more than there is": arrays((1 << 62,), "uint8"),
    "no bytes": arrays((8, 8), "uint8"),
    "of another request": lambda server: server.send(Arrays("k", (((8,), "uint8"),), 2)),
    "a bomb": bomb,
    "deep": lambda server: server.line.transfer([(b"\x91" * 3000 + b"\xc0", b"")], ANSWERS),
    "os.system": kinds("os:system#00000000"),
    "a class": kinds("remote.ssh:RemoteServer#00000000"),
    "its own error": kinds(f"{name_of(Ended)[:-8]}00000000"),
    "noise": lambda server: os.write(server.sender, np.random.default_rng(3).bytes(1 << 14)),
    "8 at once": lambda server: [
        os.write(server.sender, _HEADER.pack(1, 900 + n, 8 << 20, 0) + b"a") for n in range(10)
    ],
    "its end": lambda server: os.close(server.sender),
}


@pytest.mark.parametrize("does", DOES)
def test_that_a_command_ends_in_words_whatever_its_server_does(asked, tmp_path, does):
    before = tree(tmp_path)
    answer = asked(lambda server: (DOES[does](server), server.send(Ended(1, 0))))
    is_refused(answer, tmp_path, before)


def test_that_a_promised_picture_that_did_not_come_is_a_failure(asked, tmp_path):
    before = tree(tmp_path)
    is_refused(asked(lambda server: server.send(Ended(1, 0)), picture=True), tmp_path, before)
    # A failed command promises none.
    assert asked(lambda server: server.send(Ended(1, 4)), picture=True)[0] == 4


def test_that_output_ends_somewhere(asked, monkeypatch):
    monkeypatch.setattr(there, "_MOST_PRINTED_BYTES", 1000)
    status, out, _ = asked(lambda server: server.send(*[Output(1, 1, b"y" * 100)] * 11))
    assert (status, out) == (NO_SERVER, "y" * 1000)


ESCAPES = "\x1b]0;title\x07\x1b[2J\x9b2J\x08\r\u202e"


def has_no_escapes(text):
    return all(letter.isprintable() or letter == "\n" for letter in text)


def test_that_escapes_from_there_are_shown_as_text(asked):
    def act(server):
        server.put(f"{server.out}/report.md")
        for stream in (1, 2):
            server.send(Output(1, stream, f"a{ESCAPES}b\r\nc\n".encode()))
        server.send(Ended(1, 0))

    status, out, errors = asked(act)
    assert status == 0
    assert out == errors
    assert out.startswith(r"a\u001b]0;title\u0007\u001b[2J")
    assert out.endswith("b\nc\n")
    assert has_no_escapes(out)


@pytest.mark.parametrize(
    "greeting",
    [
        b"A" * (1 << 20),
        b"x\n" * (1 << 19),
        b"HALOSCOPE " + b"[" * 50_000 + b"\n",
        b"HALOSCOPE [1]\n",
        b'HALOSCOPE {"version":1e999,"schema":NaN,"missing":7}\n',
        b"HALOSCOPE " + json.dumps({"version": ESCAPES, "schema": "x"}).encode() + b"\n",
        b'HALOSCOPE {"missing":"python","python":"\\u001b[2J"}\n',
    ],
    ids=["one line", "lines", "deep", "list", "numbers", "escapes", "escapes of Python"],
)
def test_that_a_greeting_of_another_kind_is_refused_in_words(asked, greeting):
    status, out, errors = asked(greeting=greeting)
    assert (status, out, len(errors.splitlines())) == (NO_SERVER, "", 1)
    assert has_no_escapes(errors)


@pytest.mark.parametrize("said", [b"", b"HALOSCOPE {"])
def test_that_a_server_that_does_not_greet_is_named_and_given_up(asked, monkeypatch, said):
    monkeypatch.setattr(ssh, "GREETED_S", 0.5)
    monkeypatch.setattr(ssh, "WAITED_S", 0.1)
    status, out, errors = asked(greeting=said)
    assert (status, out) == (NO_SERVER, ""), errors
    assert [line.count("evil") > 0 for line in errors.splitlines()] == [True, True]


@pytest.fixture
def soon(monkeypatch):
    """Let no server be silent for more than a second."""
    for name, seconds in (("_LOOK_S", 0.1), ("WAITED_S", 0.5), ("SILENT_S", 1.0)):
        monkeypatch.setattr(there, name, seconds)


def test_that_a_server_that_forgets_the_command_is_named_and_given_up(asked, soon):
    status, out, errors = asked(lambda server: None)
    assert (status, out) == (NO_SERVER, ""), errors
    assert [line.count("evil") > 0 for line in errors.splitlines()] == [True, True]


def test_that_a_command_may_take_its_time(asked, soon):
    over = threading.Event()

    def act(server):
        # It runs for longer than a server may be silent.
        for _ in range(12):
            server.send(Running(1))
            over.wait(0.1)
        server.put(f"{server.out}/report.md")
        server.send(Ended(1, 0))

    assert asked(act) == (0, "", "")
