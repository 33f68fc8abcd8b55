"""`python main.py` as a process: what it loads, and that its start is measured."""

import json
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from PIL import Image

from engine.image.open import open_image

# Each starts processes: 1 s and more.
pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]


def start(*arguments, code="", folder=ROOT, **more):
    what = ["-c", code] if code else [str(ROOT / "main.py"), *arguments]
    return subprocess.run(
        [sys.executable, *what], cwd=folder, capture_output=True, text=True, timeout=100, check=False, **more
    )


def test_that_the_window_measures_its_start_without_numba():
    code = """
import sys
if __name__ == "__main__":
    import main
    status = main.main(["--measure-startup"])
    import gui.course.page
    import gui.explore.explain.code_panel
    import gui.explore.explain.launch_panel
    import gui.network.page
    import gui.widgets.plot
    from gui.course.course_model import CourseModel
    assert CourseModel().papers
    loaded = sorted(name for name in sys.modules if name.split(".")[0] in ("numba", "llvmlite", "numba_cuda"))
    sys.exit(f"loaded {loaded}" if loaded else status)
"""
    answer = start(code=code)
    assert answer.returncode == 0, answer.stderr
    found = json.loads(answer.stdout)
    assert 0 < found["first_paint_ms"] < found["first_result_ms"]


def test_that_a_screenshot_of_the_window_is_written_whole(tmp_path):
    out = tmp_path / "window.png"
    answer = start("screenshot", str(out), "--size", "1280x800", "--theme", "dark", "--mask", "sobel-x")
    assert (answer.returncode, answer.stdout, answer.stderr) == (0, "", "")
    with Image.open(out) as picture:
        assert (picture.format, picture.size) == ("PNG", (1280, 800))
        assert len(picture.convert("RGB").getcolors(1 << 20)) > 1000
    assert [path.name for path in tmp_path.iterdir()] == ["window.png"]


# A session without a picture: there is nothing to run.
WITHOUT_PICTURE = json.dumps(
    {
        "format": "haloscope-session",
        "version": 1,
        "picture": {},
        "settings": {},
        "mask": {"weights": [[1, 2]]},
    }
)


def test_that_a_gallery_has_a_picture_of_each_panel_at_the_size_and_in_the_theme_asked_for(tmp_path):
    session = tmp_path / "mask.json"
    session.write_text(WITHOUT_PICTURE)
    options = "--page", "network", "--size", "1024x700", "--theme", "dark", "--session", str(session)
    answer = start("screenshot", "--gallery", str(tmp_path / "pictures"), *options)
    assert answer.returncode == 0, answer.stderr
    written = {path.name: path for path in (tmp_path / "pictures").iterdir()}
    assert {"network-1024x700-dark.png", "network-timeline-1024x700-dark.png"} <= set(written)
    for path in written.values():
        with Image.open(path) as picture:
            assert picture.size == (1024, 700)


def test_that_ctrl_c_ends_a_screenshot_before_anything_is_written(tmp_path):
    # Between the first result and those of all variants; what a slot raises would be lost.
    code = f"""
import os, signal, sys
if __name__ == "__main__":
    from engine import interrupts
    from gui.shell import screenshot
    from gui.shell.launch import main
    rest = screenshot._Shots._rest
    def interrupted(shots):
        os.kill(os.getpid(), signal.SIGINT)
        rest(shots)
    screenshot._Shots._rest = interrupted
    interrupts.listen()
    sys.exit(main(["screenshot", {str(tmp_path / "out.png")!r}, "--run"]))
"""
    answer = start(code=code)
    assert (answer.returncode, answer.stderr) == (130, "Stopped: no picture was written.\n")
    assert not list(tmp_path.iterdir())


def test_that_a_file_that_is_being_saved_is_whole_when_ctrl_c_has_closed_the_window(tmp_path):
    # That it is when the window was closed, `test_main_job` shows.
    out = tmp_path / "x.png"
    code = f"""
import os, signal, sys
from pathlib import Path
if __name__ == "__main__":
    from engine import interrupts
    from gui.shell import app
    from gui.shell.launch import main
    make = app.Haloscope.__init__
    def save_and_stop(haloscope, *arguments):
        make(haloscope, *arguments)
        def shown():
            haloscope.window.first_page.pictures.save_result(Path({str(out)!r}))
            os.kill(os.getpid(), signal.SIGINT)
        haloscope.window.first_page.previews.shown.connect(shown)
    app.Haloscope.__init__ = save_and_stop
    interrupts.listen()
    sys.exit(main([]))
"""
    answer = start(code=code)
    # The offscreen platform says that of every window of a fixed size.
    said = [line for line in answer.stderr.splitlines() if "propagateSizeHints" not in line]
    words = "Saving x.png: the window closes when that is done. Ctrl+C again discards it."
    assert (answer.returncode, said) == (130, [words])
    assert open_image(out).pixels.shape == (512, 512, 3)
    assert [path.name for path in tmp_path.iterdir()] == ["x.png"]


def test_that_ctrl_c_at_any_moment_of_the_start_ends_with_one_line(tmp_path):
    for module in ["engine.files.standard_streams", "engine.host.client", "PySide6.QtGui", "gui.shell.app"]:
        # Ctrl+C reaches the engine's process too, which begins to import when PySide6 is imported.
        code = f"""
import os, runpy, signal, sys
class InterruptAt:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            sys.meta_path.remove(self)
            os.killpg(0, signal.SIGINT)
sys.meta_path.insert(0, InterruptAt())
sys.argv = ["main.py", "screenshot", {str(tmp_path / "out.png")!r}]
runpy.run_path("main.py", run_name="__main__")
"""
        answer = start(code=code, start_new_session=True)
        assert (answer.returncode, answer.stdout, answer.stderr) == (128 + signal.SIGINT, "", "Stopped.\n")
        assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("limit", "most", "says"),
    [
        ("RLIMIT_NOFILE", 14, "this process may have 14 files open at a time, and 64 are needed"),
        ("RLIMIT_NOFILE", 8, "this process may have 8 files open at a time"),
        ("RLIMIT_AS", 900_000 << 10, "this process may use 922 MB of memory, and 1,074 MB are needed"),
        ("RLIMIT_AS", 300_000 << 10, "this process may use 307 MB of memory"),
    ],
)
def test_that_a_window_without_room_says_in_one_line_what_is_short(limit, most, says):
    def lower():
        number = getattr(resource, limit)
        resource.setrlimit(number, (most, most))

    answer = start(preexec_fn=lower)
    assert (answer.returncode, answer.stdout, len(answer.stderr.splitlines())) == (2, "", 1), answer.stderr
    assert says in answer.stderr
    assert "Allow more (`ulimit -" in answer.stderr


def test_that_a_refused_screenshot_is_one_line_with_status_2(tmp_path):
    for options, says in [
        # Found before anything is started, and by the engine's process. By the window: gui/shell/test_start.
        (("picture.png", "picture.png"), "is the picture itself"),
        (("x.png", "bad.png"), "bad.png"),
    ]:
        Image.new("RGB", (8, 8)).save(tmp_path / "picture.png")
        (tmp_path / "bad.png").write_text("no picture")
        before = (tmp_path / "picture.png").read_bytes()
        answer = start("screenshot", *options, folder=tmp_path)
        said = answer.stderr
        assert (answer.returncode, answer.stdout, len(said.splitlines())) == (2, "", 1), said
        assert says in said
        assert not (tmp_path / "x.png").exists()
        assert (tmp_path / "picture.png").read_bytes() == before


def test_that_a_closed_stream_is_told_by_the_status(tmp_path):
    for command, status in [
        ("screenshot no-folder/x.png >&- 2>&- <&-", 2),
        ("--help >&-", 2),
        ("--help >/dev/full", 2),
        ("filter --help >/dev/full", 2),
        ("masks >&-", 2),
        ("devices >&-", 2),
        ("masks 2>&-", 0),
        ("filter none.png x.png --mask box-3 2>/dev/full", 2),
    ]:
        main = f"{sys.executable} {Path(__file__).parents[2] / 'main.py'}"
        answer = subprocess.run(
            ["bash", "-c", f"{main} {command}"],
            cwd=tmp_path,
            env={key: value for key, value in os.environ.items() if key != "PYTHONUNBUFFERED"},
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
        )
        assert answer.returncode == status, answer.stderr
        assert "Traceback" not in answer.stderr
        assert answer.stderr.count("cannot be printed") <= 1
        assert not list(tmp_path.iterdir())


def test_that_a_reader_that_has_gone_is_told_by_the_status(tmp_path):
    for arguments in [["--help"], ["filter", "--help"], ["screenshot", "--help"], ["masks"]]:
        # The end that reads is closed before the start: `| head -0` under load came after the output.
        reads, writes = os.pipe()
        os.close(reads)
        try:
            answer = subprocess.run(
                [sys.executable, Path(__file__).parents[2] / "main.py", *arguments],
                cwd=tmp_path,
                stdout=writes,
                stderr=subprocess.PIPE,
                text=True,
                timeout=100,
                check=False,
            )
        finally:
            os.close(writes)
        # A shell tells a process ended by SIGPIPE as 128 + 13.
        assert answer.returncode in (-13, 141), answer.stderr
        assert "Traceback" not in answer.stderr
