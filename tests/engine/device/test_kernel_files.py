import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from engine.device.kernel_files import KeptKernel, KernelFiles

KERNEL = KeptKernel(b"machine code" * 100, "_Z9correlate", is_cooperative=True)


def only_file(folder: Path) -> Path:
    (path,) = folder.iterdir()
    return path


def test_that_a_kept_kernel_comes_back_whole(tmp_path: Path) -> None:
    KernelFiles(tmp_path / "made").save("key", KERNEL)
    assert KernelFiles(tmp_path / "made").load("key") == KERNEL
    assert KernelFiles(tmp_path / "made").load("another key") is None


@pytest.mark.parametrize("damage", ["cut", "changed", "empty", "foreign"])
def test_that_a_damaged_entry_is_absent_and_can_be_kept_anew(tmp_path: Path, damage: str) -> None:
    store = KernelFiles(tmp_path)
    store.save("key", KERNEL)
    path = only_file(tmp_path)
    content = path.read_bytes()
    changed = content[:-1] + bytes([content[-1] ^ 1])
    path.write_bytes({"cut": content[:-5], "changed": changed, "empty": b"", "foreign": b"x" * 99}[damage])
    assert store.load("key") is None
    assert not path.exists()
    store.save("key", KERNEL)
    assert store.load("key") == KERNEL


def test_that_an_entry_under_another_keys_name_is_not_trusted(tmp_path: Path) -> None:
    store = KernelFiles(tmp_path)
    store.save("key", KERNEL)
    path = only_file(tmp_path)
    store.save("other", KERNEL)
    (other,) = (found for found in tmp_path.iterdir() if found != path)
    os.replace(path, other)
    assert store.load("other") is None


def test_that_the_least_recently_used_entries_make_room(tmp_path: Path) -> None:
    store = KernelFiles(tmp_path, most_bytes=3500)
    for number, key in enumerate(("a", "b")):
        store.save(key, KERNEL)
        for path in tmp_path.iterdir():
            os.utime(path, (number, number)) if path.stat().st_mtime > 10 else None
    assert store.load("a") == KERNEL  # used now, later than "b"
    store.save("c", KERNEL)
    assert [key for key in "abc" if store.load(key) is not None] == ["a", "c"]


def test_that_a_folder_that_cannot_be_made_keeps_nothing_and_fails_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    store = KernelFiles(tmp_path / "file" / "folder")
    store.save("key", KERNEL)
    assert store.load("key") is None


def test_that_writers_of_one_entry_leave_it_whole(tmp_path: Path) -> None:
    def write(number: int) -> bool:
        store = KernelFiles(tmp_path)
        store.save("key", KERNEL)
        return store.load("key") == KERNEL

    with ThreadPoolExecutor(8) as threads:
        assert all(threads.map(write, range(24)))
    assert only_file(tmp_path).suffix == ".kernel"
