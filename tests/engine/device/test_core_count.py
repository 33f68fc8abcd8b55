import pytest

from engine.device import core_count
from engine.device.core_count import cores, smallest_quota


def v1(quota: str) -> dict[str, str]:
    return {"cpu/cpu.cfs_quota_us": quota, "cpu/cpu.cfs_period_us": "100000\n"}


@pytest.mark.parametrize(
    ("lines", "files", "quota"),
    [
        ("0::/\n", {"cpu.max": "200000 100000\n"}, 2.0),
        ("0::/\n", {"cpu.max": "max 100000\n"}, None),
        ("0::/\n", {}, None),
        # A service within a slice: the smaller one counts, whichever it is.
        ("0::/a/b\n", {"a/b/cpu.max": "max 100000", "a/cpu.max": "150000 100000"}, 1.5),
        ("0::/a/b\n", {"a/b/cpu.max": "50000 100000", "a/cpu.max": "150000 100000"}, 0.5),
        # The host's path, which does not exist within a container.
        ("0::/docker/1234\n", {"cpu.max": "400000 100000"}, 4.0),
        # Version 1.
        ("5:memory:/\n4:cpu,cpuacct:/docker/1234\n", v1("250000\n"), 2.5),
        ("4:cpu,cpuacct:/\n", v1("-1\n"), None),
        # Of another controller, and what is no such file.
        ("5:memory:/\n", {"cpu.max": "200000 100000"}, None),
        ("0::/\n", {"cpu.max": "nonsense"}, None),
        ("0::/\n", {"cpu.max": "100000 0"}, None),
        ("", {"cpu.max": "200000 100000"}, None),
        ("?\n::\n", {}, None),
        (None, {}, None),
    ],
)
def test_that_the_smallest_quota_of_a_group_and_those_around_it_counts(tmp_path, lines, files, quota):
    process, groups = tmp_path / "process", tmp_path / "groups"
    if lines is not None:
        process.write_text(lines)
    for name, text in files.items():
        (groups / name).parent.mkdir(parents=True, exist_ok=True)
        (groups / name).write_text(text)
    assert smallest_quota(process, groups) == quota


@pytest.mark.parametrize(("quota", "count"), [(None, 8), (0.2, 1), (2.0, 2), (2.5, 3), (64.0, 8)])
def test_that_no_more_cores_are_counted_than_a_quota_is_worth(quota, count, monkeypatch):
    monkeypatch.setattr(core_count.os, "sched_getaffinity", lambda process: range(8), raising=False)
    monkeypatch.setattr(core_count, "time_quota", lambda: quota)
    assert cores() == count
