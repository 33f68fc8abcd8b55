"""Compiled code on disk: found again, and never run once a byte of the file is another one."""

import os
import random
import re
import resource
import signal
import stat
import subprocess
import sys
import time
import warnings
from pathlib import Path

import pytest

from engine.compiled import code_store
from engine.compiled.code_store import CodeStore
from engine.errors import CodeNotKept
from tests.fresh_python import ROOT

CODE = b"machine code" * 100


def only_file(folder):
    (path,) = folder.iterdir()
    return path


def test_that_kept_code_comes_back_under_its_own_key_only(tmp_path):
    made = tmp_path / "made"
    CodeStore(made).save("cuda", "key", CODE)
    store = CodeStore(made)
    assert (store.load("cuda", "key"), store.load("cuda", "other")) == (CODE, None)
    path = only_file(made)
    store.save("cuda", "other", CODE)
    (other,) = (found for found in made.iterdir() if found != path)
    os.replace(path, other)
    assert store.load("cuda", "other") is None


def test_that_a_damaged_entry_counts_as_absent(tmp_path):
    store, chance = CodeStore(tmp_path), random.Random(14)
    store.save("cuda", "key", CODE)
    path = only_file(tmp_path)
    content = path.read_bytes()
    places = [*(chance.randrange(len(content)) for _ in range(60)), len(content) - 1]
    changed = [content[:at] + bytes([content[at] ^ 1 << at % 8]) + content[at + 1 :] for at in places]
    for damaged in (*changed, *(content[:at] for at in (*places[::2], 0)), b"x" * 99):
        path.write_bytes(damaged)
        assert store.load("cuda", "key") is None
        assert not path.exists()
        store.save("cuda", "key", CODE)
        assert store.load("cuda", "key") == CODE


COMPILING = """
import os, pathlib, sys, time
from engine.compiled.code_store import CodeStore
def compile_now():
    print(os.getpid(), file=open("compiled", "a"), flush=True)
    time.sleep(0.5)
    return b"code"
assert CodeStore(pathlib.Path.cwd() / "made").built("cpu", "key", compile_now, bytes) == b"code"
"""


def test_that_one_process_compiles_for_all_and_another_one_where_it_is_killed(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    started = [subprocess.Popen([sys.executable, "-c", COMPILING], cwd=tmp_path) for _ in range(3)]
    log = tmp_path / "compiled"
    while not log.exists() or "\n" not in (text := log.read_text()):
        time.sleep(0.01)
    os.kill(int(text), signal.SIGKILL)
    assert sorted(process.wait() for process in started) == [-signal.SIGKILL, 0, 0]
    assert len(log.read_text().split()) == 2


def test_that_the_least_recently_used_entries_make_room(tmp_path):
    store = CodeStore(tmp_path, most_bytes=3500)
    for number, key in enumerate(("a", "b")):
        store.save("cuda", key, CODE)
        for path in tmp_path.iterdir():
            os.utime(path, (number, number)) if path.stat().st_mtime > 10 else None
    assert store.load("cuda", "a") == CODE  # used now, later than "b"
    store.save("cuda", "c", CODE)
    assert [key for key in "abc" if store.load("cuda", key) is not None] == ["a", "c"]


@pytest.mark.parametrize(
    ("trouble", "reason"),
    [
        ("full", "than this disk allows"), ("file", "a file, or a link"), ("others", "others may write"),
        ("loop", "a link that leads nowhere"), ("homeless", "the home folder is not known"),
    ],
)  # fmt: skip
def test_that_a_folder_where_nothing_can_be_kept_is_named_once(tmp_path, monkeypatch, trouble, reason):
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "folder"
    if trouble == "file":
        folder.write_text("in the way", encoding="utf-8")
    elif trouble == "loop":
        folder.symlink_to(folder)
    elif trouble == "others":
        folder.mkdir()
        folder.chmod(0o770)
    store = CodeStore(Path("~/folder") if trouble == "homeless" else folder)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    # No file grows beyond so many bytes, as on a full disk.
    resource.setrlimit(resource.RLIMIT_FSIZE, (100 if trouble == "full" else before[0], before[1]))
    try:
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            store.save("cpu", "key", CODE)
            store.save("cpu", "another key", CODE)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    (warning,) = warned
    assert warning.category is CodeNotKept
    text = str(warning.message)
    assert reason in text
    assert str(folder) in text or trouble == "homeless"
    assert store.load("cpu", "key") is None
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [folder] * (trouble == "file")


def test_that_code_of_another_person_or_that_others_can_write_is_never_used(tmp_path, monkeypatch):
    folder, before = tmp_path / "folder", os.umask(0o000)
    try:
        CodeStore(folder).save("cpu", "key", CODE)
    finally:
        os.umask(before)
    # Whatever the mask of permissions allows others.
    assert [stat.S_IMODE(path.stat().st_mode) for path in (folder, only_file(folder))] == [0o700, 0o600]
    assert CodeStore(folder).load("cpu", "key") == CODE
    for mode in (0o720, 0o702):
        folder.chmod(mode)
        with pytest.warns(CodeNotKept, match="others may write in it"):
            assert CodeStore(folder).load("cpu", "key") is None
    folder.chmod(0o700)
    monkeypatch.setattr(os, "geteuid", lambda: tmp_path.stat().st_uid + 1)
    with pytest.warns(CodeNotKept):
        assert CodeStore(folder).load("cpu", "key") is None


@pytest.mark.parametrize("kind", ["link", "pipe", "others", "group", "another person's", "huge", "folder"])
def test_that_a_file_that_is_not_the_persons_own_is_never_used_nor_waited_for(tmp_path, monkeypatch, kind):
    folder = tmp_path / "folder"
    store = CodeStore(folder, most_bytes=5000)
    store.save("cpu", "key", CODE)
    path = only_file(folder)
    if kind in ("link", "pipe", "folder"):
        content = path.read_bytes()
        path.unlink()
    if kind == "link":
        (tmp_path / "elsewhere").write_bytes(content)
        path.symlink_to(tmp_path / "elsewhere")
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    elif kind == "huge":
        os.truncate(path, 5001)
    elif kind == "another person's":
        owner, fstat = os.geteuid(), os.fstat
        monkeypatch.setattr(os, "fstat", lambda number: another_owner(fstat(number), owner + 1))
    else:
        path.chmod(0o602 if kind == "others" else 0o620)
    assert store.load("cpu", "key") is None
    monkeypatch.undo()
    if kind != "folder":
        store.save("cpu", "key", CODE)
        assert store.load("cpu", "key") == CODE
    if kind == "link":
        assert (tmp_path / "elsewhere").read_bytes() == content


def another_owner(facts, owner):
    return os.stat_result((*facts[:4], owner, *facts[5:10]))


@pytest.mark.parametrize("place", ["folder", "parent"])
def test_that_a_link_of_another_person_on_the_way_to_the_folder_is_not_followed(tmp_path, monkeypatch, place):
    real, link = tmp_path / "real", tmp_path / "link"
    inside = "" if place == "folder" else "inside"
    CodeStore(real / inside).save("cpu", "key", CODE)
    link.symlink_to(real)
    assert CodeStore(link / inside).load("cpu", "key") == CODE
    owner, lstat = os.geteuid(), os.lstat

    def of_another(path):
        facts = lstat(path)
        return another_owner(facts, owner + 1) if stat.S_ISLNK(facts.st_mode) else facts

    monkeypatch.setattr(os, "lstat", of_another)
    with pytest.warns(CodeNotKept, match="a link of another user leads to it"):
        assert CodeStore(link / inside).load("cpu", "key") is None


def test_that_code_is_in_the_chosen_folder_or_the_persons_cache_without_that_of_unused_versions(
    monkeypatch, tmp_path
):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    parent = tmp_path / "haloscope" / "compiled"
    for chosen, place in ((str(tmp_path), tmp_path), ("", parent)):
        monkeypatch.setenv("NUMBA_CACHE_DIR", chosen)
        assert code_store.code_store.__wrapped__()._folder == place / code_store.source_digest()
    for name, days in (("unused", 31), ("used", 29)):
        (parent / name).mkdir(parents=True)
        (parent / name / "entry.cpu").write_bytes(CODE)
        then = time.time() - days * 24 * 3600
        os.utime(parent / name, (then, then))
    code_store.code_store.__wrapped__()
    assert [path.name for path in parent.iterdir()] == ["used"]


def test_that_the_folder_follows_the_sources(monkeypatch, tmp_path):
    source = tmp_path / "variants" / "cpu" / "serial.py"
    source.parent.mkdir(parents=True)
    monkeypatch.setattr(code_store, "_ENGINE", tmp_path)
    digests = []
    for text in ("a = 1\n", "a = 2\n", "a = 1\n"):
        source.write_text(text, encoding="utf-8")
        digests.append(code_store.source_digest())
    assert digests[0] == digests[2] != digests[1]


def test_that_each_module_counts_whose_numbers_compiled_code_may_have():
    """Else another version of such a number would run the code that has the old one."""
    engine = code_store._ENGINE
    imports = re.compile(r"^\s*from engine\.([\w.]+) import (\([^)]*\)|[^\n]+)", re.MULTILINE)
    modules = set()
    for path in engine.rglob("*.py"):
        if path.relative_to(engine).parts[0] in ("device", "variants") or path.name.endswith("_code.py"):
            found = imports.findall(path.read_text(encoding="utf-8"))
            modules |= {module for module, names in found if re.search(r"\b[A-Z][A-Z0-9_]+\b", names)}
    parts = [module.split(".") for module in modules]
    assert {"mask", "tasks", "variants"} < {package for package, *_ in parts}
    # No numbers: the keys of devices with what fills them, and what the variants of the CPU
    # share. No compiled code has the most bytes of a picture; the threads of a warp are the same on all GPUs.
    left_out = {".".join(part) for part in parts if not code_store._is_compiled(part[0], f"{part[-1]}.py")}
    assert left_out == {"device_info", "image.format", "results.occupancy", "run.variant"}
