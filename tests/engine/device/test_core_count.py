from pathlib import Path

import pytest

from engine.device import core_count
from engine.device.core_count import cores, smallest_quota


def groups(folder: Path, lines: str, **contents: str) -> float | None:
    """Return the quota by a made-up /proc/self/cgroup and files below a made-up /sys/fs/cgroup; "__" stands for "/"."""
    (folder / "process").write_text(lines)
    for name, text in contents.items():
        path = folder / "groups" / name.replace("__", "/").replace("_dot_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return smallest_quota(folder / "process", folder / "groups")


@pytest.mark.parametrize(
    ("lines", "files", "quota"),
    [
        ("0::/\n", {"cpu_dot_max": "200000 100000\n"}, 2.0),
        ("0::/\n", {"cpu_dot_max": "max 100000\n"}, None),
        ("0::/\n", {}, None),
        # A service within a slice: the smaller one counts, wherever it stands.
        ("0::/a/b\n", {"a__b__cpu_dot_max": "max 100000", "a__cpu_dot_max": "150000 100000"}, 1.5),
        ("0::/a/b\n", {"a__b__cpu_dot_max": "50000 100000", "a__cpu_dot_max": "150000 100000"}, 0.5),
        # The host's path, which is not there within a container.
        ("0::/docker/1234\n", {"cpu_dot_max": "400000 100000"}, 4.0),
        # Version 1.
        (
            "5:memory:/\n4:cpu,cpuacct:/docker/1234\n",
            {"cpu__cpu_dot_cfs_quota_us": "250000\n", "cpu__cpu_dot_cfs_period_us": "100000\n"},
            2.5,
        ),
        (
            "4:cpu,cpuacct:/\n",
            {"cpu__cpu_dot_cfs_quota_us": "-1\n", "cpu__cpu_dot_cfs_period_us": "100000\n"},
            None,
        ),
        # Of another controller, and what is no such file.
        ("5:memory:/\n", {"cpu_dot_max": "200000 100000"}, None),
        ("0::/\n", {"cpu_dot_max": "nonsense"}, None),
        ("0::/\n", {"cpu_dot_max": "100000 0"}, None),
        ("", {"cpu_dot_max": "200000 100000"}, None),
        ("?\n::\n", {}, None),
    ],
)
def test_that_the_smallest_quota_of_a_group_and_those_around_it_counts(
    tmp_path: Path, lines: str, files: dict[str, str], quota: float | None
) -> None:
    assert groups(tmp_path, lines, **files) == quota


def test_that_a_machine_without_control_groups_has_no_quota(tmp_path: Path) -> None:
    assert smallest_quota(tmp_path / "process", tmp_path / "groups") is None


@pytest.mark.parametrize(("quota", "count"), [(None, 8), (0.2, 1), (2.0, 2), (2.5, 3), (64.0, 8)])
def test_that_no_more_cores_are_counted_than_a_quota_is_worth(
    quota: float | None, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(core_count.os, "sched_getaffinity", lambda process: range(8), raising=False)
    monkeypatch.setattr(core_count, "time_quota", lambda: quota)
    assert cores() == count
