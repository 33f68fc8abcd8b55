"""`python main.py` as a process: what it loads, and that its start is measured."""

import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def start(*arguments: str, code: str = "") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", code] if code else [sys.executable, "main.py", *arguments]
    return subprocess.run(
        command, cwd=ROOT, env=os.environ.copy(), capture_output=True, text=True, timeout=100, check=False
    )


def test_that_the_start_is_measured_in_one_line_of_json():
    answer = start("--measure-startup")
    assert answer.returncode == 0, answer.stderr
    found = json.loads(answer.stdout)
    assert 0 < found["first_paint_ms"] < found["first_result_ms"]


def test_that_the_window_never_loads_numba():
    code = """
import sys
if __name__ == "__main__":
    from gui.shell.launch import main
    status = main(["--measure-startup"])
    import gui.course.page
    import gui.plots.figure_plot
    from gui.course.course_model import CourseModel
    assert CourseModel().papers
    loaded = sorted(name for name in sys.modules if name.split(".")[0] in ("numba", "llvmlite", "numba_cuda"))
    sys.exit(f"loaded {loaded}" if loaded else status)
"""
    answer = start(code=code)
    assert answer.returncode == 0, answer.stderr


def test_that_a_screenshot_of_the_window_is_written_whole(tmp_path):
    out = tmp_path / "window.png"
    answer = start("screenshot", str(out), "--size", "1280x800", "--theme", "dark", "--mask", "sobel-x")
    assert answer.returncode == 0, answer.stderr
    assert out.read_bytes().startswith(b"\x89PNG")
    assert [path.name for path in tmp_path.iterdir()] == ["window.png"]


def test_that_a_missing_picture_is_refused_in_one_line_before_any_window(tmp_path):
    answer = start("screenshot", str(tmp_path / "out.png"), str(tmp_path / "no.png"))
    assert answer.returncode == 2
    assert len(answer.stderr.splitlines()) == 1
    assert "no.png" in answer.stderr
    assert not list(tmp_path.iterdir())


def test_that_ctrl_c_ends_a_screenshot_with_130_and_writes_nothing(tmp_path):
    # Between the first result and those of all variants; what a slot raises would be lost.
    code = f"""
import os, signal, sys
if __name__ == "__main__":
    from gui import screenshot
    from gui.shell.launch import main
    previewed = screenshot._Shot._previewed
    def interrupted(shot):
        previewed(shot)
        os.kill(os.getpid(), signal.SIGINT)
    screenshot._Shot._previewed = interrupted
    sys.exit(main(["screenshot", {str(tmp_path / "out.png")!r}, "--run"]))
"""
    answer = start(code=code)
    assert (answer.returncode, answer.stderr) == (130, "Stopped: no picture was written.\n")
    assert not list(tmp_path.iterdir())
