"""The command line of the window and of `screenshot`. No Qt in here."""

import argparse
import re
import sys
from dataclasses import dataclass, replace
from typing import NoReturn

from engine import __version__
from engine.commands import listed
from engine.files.standard_streams import log, print_answer
from engine.geometry.border import Border

COMMANDS = f"""commands:
{listed()}
  screenshot OUT.png [IMAGE]    save a picture of the window, or with --gallery of every page and panel
  completion SHELL              print what completes words in bash, zsh or fish
  `python main.py COMMAND --help` explains each.

exit status: 0 done, 2 bad use or bad input, 3 no such device, 4 failed verification"""

_SCREENSHOT_EXAMPLES = """examples:
  python main.py screenshot window.png photo.jpg --mask gaussian:9:1.5 --run
  python main.py screenshot course.png --page course --theme dark --size 1280x800
  python main.py screenshot --gallery pictures --run

exit status: 0 done, 2 bad use or bad input, 3 no such device"""

_COMPLETION_EXAMPLES = """examples:
  mkdir -p ~/.local/share/bash-completion/completions
  python main.py completion bash > ~/.local/share/bash-completion/completions/haloscope
  python main.py completion zsh > "${fpath[1]}/_haloscope"
  python main.py completion fish > ~/.config/fish/completions/haloscope.fish

exit status: 0 done, 2 bad use"""

THEMES = ("light", "dark", "system")
# The smallest window, that of a small laptop, and a large screen.
GALLERY_SIZES = (1024, 700), (1280, 800), (2560, 1440)
SHELLS = ("bash", "zsh", "fish")


@dataclass(frozen=True, slots=True)
class WindowOptions:
    """What the window is started with."""

    image: str = ""
    session: str = ""
    theme: str = ""
    measure_startup: bool = False
    host: str = ""
    host_python: str = "python3"


@dataclass(frozen=True, slots=True, kw_only=True)
class ScreenshotOptions:
    """What a screenshot shows, and its file; a gallery has every size, theme and page that is not given."""

    out: str = ""
    image: str = ""
    session: str = ""
    mask: str = ""
    variant: str = ""
    gallery: str = ""
    size: tuple[int, int] | None = None  # width and height, pixels
    theme: str = ""
    run: bool = False
    device: str = ""
    border: str = ""
    flip: bool = False
    page: str = ""
    panel: str = ""

    @property
    def sizes(self) -> tuple[tuple[int, int], ...]:
        every = GALLERY_SIZES if self.gallery else ((1600, 1000),)
        return (self.size,) if self.size else every

    @property
    def themes(self) -> tuple[str, ...]:
        return (self.theme,) if self.theme else THEMES[: 2 if self.gallery else 1]


def parse(arguments: list[str]) -> WindowOptions | ScreenshotOptions | str:
    """Return the options, or the shell of `completion`; bad use ends the program with a line and status 2."""
    if arguments and arguments[0] == "completion":
        return str(_completion_parser().parse_args(arguments[1:]).shell)
    if not arguments or arguments[0] != "screenshot":
        parser = window_options()
        parser.take_image()
        window = WindowOptions(**vars(parser.parse_args(arguments)))
        if window.image.lower().endswith(".haloscope") and not window.session:
            # As desktops open a file.
            return replace(window, image="", session=window.image)
        return window
    parser = _screenshot_parser()
    # Intermixed: IMAGE may stand anywhere, not only right after OUT.png.
    options = ScreenshotOptions(**vars(parser.parse_intermixed_args(arguments[1:])))
    if options.gallery:
        # The first word without an option is then the picture to open.
        if options.image:
            parser.error("a gallery takes one picture to open, and no OUT.png")
        return replace(options, image=options.out, out="")
    if not options.out:
        parser.error("a screenshot needs OUT.png, or --gallery with a folder")
    if not options.out.lower().endswith(".png"):
        parser.error(f"{options.out} does not end in .png, and a screenshot is written as PNG")
    return options


class _Parser(argparse.ArgumentParser):
    def __init__(self, prog: str, description: str, epilog: str) -> None:
        form = argparse.RawDescriptionHelpFormatter
        super().__init__(prog, None, description, epilog, formatter_class=form, allow_abbrev=False)

    def take_image(self) -> None:
        opens = "picture to open (without it, a sample)"
        self.add_argument("image", nargs="?", default="", metavar="IMAGE", help=opens)

    def print_help(self, file: object = None) -> None:
        """Print the help on standard output; argparse would not say that it cannot be printed."""
        if status := print_answer(self.format_help().rstrip("\n")):
            sys.exit(status)

    def error(self, message: str) -> NoReturn:
        line = " ".join(message.split())
        log(f"{self.prog}: {line}. `{self.prog} --help` lists what is possible.")
        sys.exit(2)


def own_parsers() -> dict[str, argparse.ArgumentParser]:
    """Return the parser of each command that is read here."""
    return {"screenshot": _screenshot_parser(), "completion": _completion_parser()}


def window_options() -> _Parser:
    """Return the parser of the window without its picture, which is given instead of a command."""
    about = "A desktop laboratory for image filters. Without a command it opens the window."
    parser = _Parser("python main.py", about, COMMANDS)
    parser.add_argument("--session", default="", metavar="FILE", help="open a saved session")
    parser.add_argument("--theme", choices=THEMES, default="", help="colours, this time only")
    parser.add_argument("--version", action="version", version=f"haloscope {__version__}")
    computes = "compute on a server, by ssh (docs/remote.md)"
    parser.add_argument("--host", default="", metavar="USER@SERVER", help=computes)
    its_python = "Python there (default python3), or 'cd FOLDER && .venv/bin/python'"
    parser.add_argument("--host-python", default="python3", metavar="PYTHON", help=its_python)
    measures = "open the window, print first_paint_ms and first_result_ms as one line of JSON, and quit"
    parser.add_argument("--measure-startup", action="store_true", help=measures)
    return parser


def _screenshot_parser() -> _Parser:
    about = "Save a picture of the window as PNG. No screen is needed."
    parser = _Parser("python main.py screenshot", about, _SCREENSHOT_EXAMPLES)
    writes = "file to write; not with --gallery"
    parser.add_argument("out", nargs="?", default="", metavar="OUT.png", help=writes)
    parser.take_image()
    for name, metavar, explanation in (
        ("--mask", None, "preset, generator such as gaussian:9:1.5, file, or weights such as '1 0 -1'"),
        ("--variant", "KEY", "variant to choose (`variants` lists them)"),
        ("--device", "KEY", "device to choose (`devices` lists them)"),
        ("--border", "NAME", ", ".join(Border)),
        ("--session", "FILE", "open a saved session"),
        ("--page", "KEY", "page to show instead of explore, such as course"),
        ("--panel", "KEY", "panel of the page to bring to the front, such as tile, blocks or timeline"),
        ("--gallery", "DIR", "instead of OUT.png: every page and panel, at three sizes, light and dark"),
    ):
        parser.add_argument(name, default="", metavar=metavar, help=explanation)
    parser.add_argument("--flip", action="store_true", help="convolution: rotate the mask by 180 degrees")
    size = "pixels (default 1600x1000; of a gallery 1024x700, 1280x800 and 2560x1440)"
    parser.add_argument("--size", type=_size, metavar="1600x1000", help=size)
    theme = "default light; of a gallery both"
    parser.add_argument("--theme", choices=THEMES[:2], default="", help=theme)
    runs = "run every compatible variant first, to fill the plots"
    parser.add_argument("--run", action="store_true", help=runs)
    return parser


def _completion_parser() -> _Parser:
    about = "Print a script with which a shell completes the words of `haloscope`."
    parser = _Parser("python main.py completion", about, _COMPLETION_EXAMPLES)
    parser.add_argument("shell", choices=SHELLS, help="the shell")
    return parser


def _size(text: str) -> tuple[int, int]:
    match = re.fullmatch(r"(\d{1,5})[xX×](\d{1,5})", text)
    size = (int(match[1]), int(match[2])) if match else (0, 0)
    if not (640 <= size[0] <= 8192 and 480 <= size[1] <= 8192):
        why = f"'{text}' is not a size from 640x480 to 8192x8192, such as 1600x1000"
        raise argparse.ArgumentTypeError(why)
    return size
