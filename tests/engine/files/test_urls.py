"""Pictures at addresses: opened, listed and written as those of a disk are, or refused in words."""

import socketserver
import sys
import threading
import uuid
from contextlib import suppress

import numpy as np
import pytest

import engine
from engine.errors import BadValue, EngineError, FileWriteError, ImageReadError
from engine.files import urls
from engine.files.atomic_write import atomic_write
from engine.files.output_checks import check_other_file, check_place, make_folder


@pytest.fixture
def folder():
    """Return a new folder in fsspec's memory."""
    return f"memory://{uuid.uuid4().hex}"


@pytest.fixture
def pixels():
    return np.random.default_rng(5).integers(0, 256, (6, 5, 3), np.uint8)


@pytest.mark.parametrize("suffix", ["png", "tif"])
def test_that_a_picture_at_an_address_is_that_of_its_file(folder, pixels, suffix):
    engine.save_image(pixels, f"{folder}/a.{suffix}")
    assert np.array_equal(engine.open_image(f"{folder}/a.{suffix}").pixels, pixels)


def test_that_an_address_of_a_file_is_its_path(tmp_path, pixels):
    engine.save_image(pixels, (tmp_path / "a b.png").as_uri())
    assert np.array_equal(engine.open_image((tmp_path / "a b.png").as_uri()).pixels, pixels)
    assert np.array_equal(engine.open_image(tmp_path / "a b.png").pixels, pixels)


def test_that_a_missing_file_at_an_address_is_refused_in_words(folder):
    with pytest.raises(ImageReadError, match=r"a\.png cannot be opened: there is no such file"):
        engine.open_image(f"{folder}/a.png")


def test_that_an_unknown_kind_of_address_is_refused_in_words():
    with pytest.raises(ImageReadError, match="Protocol not known: nonsense"):
        engine.open_image("nonsense://a/b.png")


def test_that_a_missing_driver_is_named_with_how_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "s3fs", None)
    with pytest.raises(ImageReadError, match="python -m pip install s3fs"):
        engine.open_image("s3://bucket/a.png")


def test_that_a_missing_fsspec_is_named_with_the_extra(monkeypatch):
    for name in [name for name in sys.modules if name.partition(".")[0] == "fsspec"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "fsspec", None)
    with pytest.raises(ImageReadError, match=r"haloscope\[cluster\]"):
        engine.open_image("s3://bucket/a.png")


def test_that_a_file_over_the_limit_is_refused_before_all_of_it_is_fetched(folder):
    atomic_write(f"{folder}/a.png", b"\x89PNG\r\n\x1a\n" + bytes(1000))
    with pytest.raises(ImageReadError, match="the limit is 100 bytes"):
        engine.open_image(f"{folder}/a.png", max_bytes=100)


def test_that_a_place_at_an_address_is_checked_and_nothing_stays(folder):
    make_folder(folder, with_parents=True)
    check_place(f"{folder}/a.png")
    assert urls.files_in(folder, recursive=True) == []


@pytest.mark.parametrize("do", [check_place, make_folder, lambda url: atomic_write(url, b"x")])
def test_that_a_web_server_cannot_be_written_to(do):
    with pytest.raises(FileWriteError, match=r"http://127\.0\.0\.1:9/a\.png .* can only be read"):
        do("http://127.0.0.1:9/a.png")


def test_that_a_picture_is_known_as_itself_by_any_address(tmp_path, pixels):
    path = tmp_path / "a.png"
    engine.save_image(pixels, path)
    for output, source in (
        (path.as_uri(), str(path)),
        (str(path), path.as_uri()),
        ("s3://b/a.png", "s3://b/a.png"),
    ):
        with pytest.raises(BadValue, match="the picture itself"):
            check_other_file(output, source)
    check_other_file("s3://b/a.png", str(path))


def test_that_a_file_is_renamed_into_its_name_where_puts_are_not_whole(folder, monkeypatch):
    monkeypatch.setattr(urls, "_WHOLE_PUTS", frozenset())
    atomic_write(f"{folder}/a.png", b"one")
    atomic_write(f"{folder}/a.png", b"two")
    assert urls.content(f"{folder}/a.png") == b"two"
    assert [name for _, name in urls.files_in(folder, recursive=True)] == ["a.png"]


def test_that_a_failed_rename_leaves_the_old_file_and_no_part(folder, monkeypatch):
    atomic_write(f"{folder}/a.png", b"one")
    monkeypatch.setattr(urls, "_WHOLE_PUTS", frozenset())
    system, _ = urls._system(folder)

    def fail(*given):
        raise OSError("the line was lost")

    monkeypatch.setattr(type(system), "mv", fail)
    with pytest.raises(FileWriteError, match="the line was lost"):
        atomic_write(f"{folder}/a.png", b"two")
    assert urls.content(f"{folder}/a.png") == b"one"
    assert [name for _, name in urls.files_in(folder, recursive=True)] == ["a.png"]


@pytest.mark.parametrize(
    ("folder", "name", "whole"),
    [
        ("s3://b", "a.png", "s3://b/a.png"),
        ("s3://b/c/", "d/a.png", "s3://b/c/d/a.png"),
        ("memory://", "a.png", "memory://a.png"),
    ],
)
def test_that_a_name_is_joined_to_an_address_and_taken_off(folder, name, whole):
    assert urls.joined(folder, name) == whole
    assert urls.parent(urls.joined(folder, "a.png")) == folder.rstrip("/").replace("memory:", "memory://")


def test_that_the_name_of_a_web_address_ends_before_its_question():
    assert urls.file_name("https://h/x/a%20b.png?size=3#top") == "a b.png"


@pytest.fixture
def web():
    """Return a function that starts a web server; `answer` writes what follows the question to its socket."""
    servers = []

    def start(answer):
        class Handler(socketserver.BaseRequestHandler):
            def handle(self):
                with suppress(OSError):
                    is_head = self.request.recv(1 << 16).startswith(b"HEAD")
                    answer(self.request, is_head)

        server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)
        server.daemon_threads = True
        servers.append(server)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        return f"127.0.0.1:{server.server_address[1]}"

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


HEAD = b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n"


@pytest.fixture
def soon(monkeypatch):
    """Let no server be silent for more than half a second."""
    pytest.importorskip("aiohttp")
    for name, seconds in (("_LOOK_S", 0.05), ("_WORD_S", 0.05), ("_STALLED_S", 0.5)):
        monkeypatch.setattr(urls, name, seconds)


def test_that_a_list_of_files_that_does_not_come_is_given_up(web, soon):
    over = threading.Event()
    server = web(lambda connection, is_head: over.wait(60.0))
    try:
        with pytest.raises(EngineError, match=f"{server} has sent nothing"):
            urls.files_in(f"http://{server}/folder/", recursive=False)
    finally:
        over.set()


@pytest.mark.parametrize("sent", [b"", HEAD[:20], HEAD, HEAD + bytes(50_000)], ids=len)
def test_that_a_web_server_that_stalls_is_given_up_by_its_name(web, soon, capsys, sent):
    over = threading.Event()

    def answer(connection, is_head):
        connection.sendall(HEAD if is_head and sent.startswith(HEAD) else sent)
        if not is_head or not sent.startswith(HEAD):
            over.wait(60.0)

    server = web(answer)
    try:
        with pytest.raises(ImageReadError) as caught:
            engine.open_image(f"http://person:secret@{server}/a.png")
    finally:
        over.set()
    assert f"{server} has sent nothing" in str(caught.value)
    told = capsys.readouterr().err
    assert server in told
    assert "secret" not in told


def test_that_a_picture_that_comes_in_pieces_is_opened(web, tmp_path, pixels):
    pytest.importorskip("aiohttp")
    engine.save_image(pixels, tmp_path / "a.png")
    data = (tmp_path / "a.png").read_bytes()

    def answer(connection, is_head):
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(data))
        for at in range(0, 0 if is_head else len(data), 7):
            connection.sendall(data[at : at + 7])

    assert np.array_equal(engine.open_image(f"http://{web(answer)}/a.png").pixels, pixels)
