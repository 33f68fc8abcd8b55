"""`install-desktop`: the entry and its icon, where a desktop looks for them."""

import shlex
import sys

import pytest

from engine.commands.install_desktop import SESSION_TYPE, desktop_entry
from tests.fresh_python import ROOT


@pytest.fixture
def data(tmp_path, monkeypatch):
    """Return the folder that a desktop reads."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.setattr(sys, "platform", "linux")
    return tmp_path


def value(entry, key):
    (found,) = (line.partition("=")[2] for line in entry.splitlines() if line.startswith(f"{key}="))
    return found


def test_that_the_entry_and_the_icon_are_written_and_removed(command, data):
    names = "icons/hicolor/scalable/apps/haloscope.svg", "applications/haloscope.desktop"
    files = [data / name for name in (*names, "mime/packages/haloscope.xml")]
    answer = command("install-desktop", "--json")
    assert answer.document == {"written": list(map(str, files))}
    assert all(file.is_file() for file in files)
    entry = (data / "applications/haloscope.desktop").read_text(encoding="utf-8")
    assert shlex.split(value(entry, "Exec")) == [sys.executable, str(ROOT / "main.py"), "%f"]
    # The second time there is nothing to remove.
    for _ in range(2):
        assert command("install-desktop", "--remove").status == 0
        # The desktop's own index of types stays.
        assert not [path for path in data.rglob("*") if path.is_file() and b"aloscope" in path.read_bytes()]


def test_that_it_opens_the_pictures_that_the_program_opens_from_any_path():
    types = value(desktop_entry(["haloscope"]), "MimeType").split(";")
    assert {"image/png", "image/jpeg", "image/tiff", "image/webp", SESSION_TYPE} <= set(types)
    # Quoted for the command line, then as a value of the file: each backslash is two.
    line = value(desktop_entry(['/a "b"/$c/100%/d\\e']), "Exec")
    assert line == r'"/a \\"b\\"/\\$c/100%%/d\\\\e" %f'


def test_that_another_system_says_what_to_do(refused, monkeypatch):
    for system, remedy in [("win32", "taskbar"), ("darwin", "Dock")]:
        monkeypatch.setattr(sys, "platform", system)
        refused("install-desktop", says=f"No entry can be written here ... {remedy}")


def test_that_a_folder_that_cannot_be_written_is_said(command, data):
    (data / "applications").write_text("a file")
    answer = command("install-desktop")
    assert answer.status == 2
    assert "applications/haloscope.desktop cannot be written" in answer.err
