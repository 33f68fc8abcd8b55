"""Writes the package `haloscope` of the wheel from the program's folders.

    engine/  -> haloscope/         gui/    -> haloscope/gui/
    main.py  -> haloscope/__main__.py    assets/ -> haloscope/assets/   (what the program reads)
                                         docs/   -> haloscope/docs/     (what the window shows)

A clone has `engine` and `gui` at its top level, and imports them by these names. Among the packages of a
person's environment only `haloscope` may stand there. So the names are changed where they are names: in
imports, and in texts and comments (names of modules that are imported later, messages, help, examples).
A variable or an attribute that is called `engine` stays. Nothing else is changed: lines keep their numbers.
"""

import io
import re
import shutil
import tokenize
from collections.abc import Iterator
from pathlib import Path

ASSETS = (
    "LICENSES.md",
    "chains/*.json",
    "course/*.toml",
    "icon/*",
    "masks/*.json",
    "network/*.npz",
    "recorded/*.json.gz",
    "samples/*.png",
)
"""What of `assets` the program reads, or has to come with it."""

DOCUMENTS = "*.md", "variants/*.md"
"""What of `docs` the window shows."""

_PACKAGES = {"engine": "haloscope", "gui": "haloscope.gui"}
# In a text: `engine.open_image`, "gui.explore.page", engine/files/reading.py; but neither the end of a
# sentence ("... the engine.") nor a part of a longer name or path.
_DOTTED = re.compile(r"(?<![\w./{-])(engine|gui)([./])(?=\w)")
_IMPORT = re.compile(r"(?<=\bimport )engine\b(?!\.)")
_PROGRAM = "python main.py"
# Python 3.12 and later cut a text with {...} into parts.
_TEXTS = {tokenize.STRING, tokenize.COMMENT, getattr(tokenize, "FSTRING_MIDDLE", tokenize.STRING)}
_LINE_BEGINS_AFTER = {tokenize.NEWLINE, tokenize.NL, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING}


def write_package(root: Path, target: Path) -> None:
    """Write the folder `haloscope` into `target`, from the clone or source archive in `root`."""
    package = target / "haloscope"
    for folder, name in _PACKAGES.items():
        for source in _files(root / folder):
            inner = source.relative_to(root / folder)
            _write(source, target.joinpath(*name.split("."), inner))
    _write(root / "main.py", package / "__main__.py")
    for folder, patterns in (("assets", ASSETS), ("docs", DOCUMENTS)):
        for pattern in patterns:
            for source in sorted((root / folder).glob(pattern)):
                _write(source, package / source.relative_to(root))


def renamed_source(source: str) -> str:
    """Return a module's source with the names of the installed package."""
    lines = source.splitlines(keepends=True)
    begins = [0]
    for line in lines:
        begins.append(begins[-1] + len(line))
    done, parts = 0, []
    for start, end, text in _changes(source):
        begin = begins[start[0] - 1] + start[1]
        parts += [source[done:begin], text]
        done = begins[end[0] - 1] + end[1]
    return "".join([*parts, source[done:]])


def renamed_text(text: str) -> str:
    """Return a text with the names of the installed package and its command."""
    text = _DOTTED.sub(lambda found: _PACKAGES[found[1]].replace(".", found[2]) + found[2], text)
    return _IMPORT.sub("haloscope", text).replace(_PROGRAM, "haloscope")


def _changes(source: str) -> Iterator[tuple[tuple[int, int], tuple[int, int], str]]:
    """Yield where a source is changed, from and to (line from 1, column), and what stands there then."""
    lines = source.splitlines(keepends=True)
    statement, is_first, is_package = "", True, False
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type in _TEXTS:
            text = _between(lines, token.start, token.end)
            if (changed := renamed_text(text)) != text:
                yield token.start, token.end, changed
        elif is_package and token.string in _PACKAGES:
            if statement == "import":
                # Its name would be used as a variable from here on.
                raise ValueError(f"line {token.start[0]}: write `from {token.string}... import ...`")
            yield token.start, token.end, _PACKAGES[token.string]
        is_package = is_first and token.string in ("from", "import")
        statement = token.string if is_package else statement
        is_first = token.type in _LINE_BEGINS_AFTER or (is_first and token.type == tokenize.COMMENT)


def _between(lines: list[str], start: tuple[int, int], end: tuple[int, int]) -> str:
    if start[0] == end[0]:
        return lines[start[0] - 1][start[1] : end[1]]
    inner = lines[start[0] : end[0] - 1]
    return "".join([lines[start[0] - 1][start[1] :], *inner, lines[end[0] - 1][: end[1]]])


def _files(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            yield path


def _write(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.suffix in (".py", ".pyi"):
        text = renamed_source(source.read_text(encoding="utf-8"))
    elif source.suffix in (".toml", ".json", ".md"):
        text = renamed_text(source.read_text(encoding="utf-8"))
    else:
        shutil.copyfile(source, target)
        return
    target.write_text(text, encoding="utf-8", newline="\n")
