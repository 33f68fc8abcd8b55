"""What MkDocs calls to build the site: documents outside `docs`, and the reference from the docstrings.

Documents stay where they are read in the repository. Links between them are written for that place, and are
changed here to lead to the page of the site.
"""

import posixpath
import re
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from mkdocs.plugins import event_priority
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import engine  # noqa: E402
from assets.packaging.wheel_package import write_package  # noqa: E402
from bench.document import with_tables  # noqa: E402
from bench.markers import TABLES  # noqa: E402
from bench.recorded import course_documents  # noqa: E402

OUTSIDE = {
    "README.md": "index.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "LICENSE": "licence.md",
    "bench/README.md": "bench.md",
    "assets/LICENSES.md": "pictures-licences.md",
}
"""The page of each document that is not in `docs`, by its path in the repository."""

_PATHS = {page: path for path, page in OUTSIDE.items()}
_LINK = re.compile(r"(?<=\]\()(?!\w+:)([^)#\s]+)")
_package = Path(tempfile.mkdtemp())


# Before mkdocstrings reads its settings.
@event_priority(100)
def on_config(config: Any) -> Any:
    """Let the reference be read from the package as it is installed, with its names."""
    write_package(ROOT, _package)
    config.plugins["mkdocstrings"].config.handlers["python"]["paths"] = [str(_package)]
    return config


def on_files(files: Files, config: Any) -> Files:
    """Add the documents outside `docs`, the reference, the recorded papers, and the icon."""
    for path, page in OUTSIDE.items():
        text = (ROOT / path).read_text(encoding="utf-8")
        files.append(
            File.generated(config, page, content=text if path.endswith(".md") else f"```\n{text}```")
        )
    files.append(File.generated(config, "reference.md", content=reference()))
    for page, content in course_documents().items():
        files.append(File.generated(config, page, content=content.decode()))
    files.append(File.generated(config, "icon.svg", abs_src_path=str(ROOT / "assets/icon/haloscope.svg")))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Return a document whose links lead to pages; the appendix with its tables."""
    here = page.file.src_uri
    if here == TABLES.name:
        markdown = with_tables(markdown)
    path = _PATHS.get(here, f"docs/{here}")

    def target(found: re.Match[str]) -> str:
        linked = posixpath.normpath(posixpath.join(posixpath.dirname(path), found[0]))
        return posixpath.relpath(OUTSIDE.get(linked, linked.removeprefix("docs/")), posixpath.dirname(here))

    return _LINK.sub(target, markdown)


def on_shutdown() -> None:
    """Remove the written package."""
    shutil.rmtree(_package)


def reference() -> str:
    """Return the page that lists all public names, functions first."""
    functions = [name for name in engine.__all__ if name[0].islower()]
    classes = [name for name in engine.__all__ if name not in functions]
    data = [name for name in classes if not issubclass(getattr(engine, name), Exception)]
    parts = ["# Python calls", "`import haloscope`, or in a clone `import engine`, has these names."]
    for title, names in (("Functions", functions), ("Data", data)):
        parts += [f"## {title}", *(f"::: haloscope.{name}" for name in names)]
    parts += ["## Errors", "::: haloscope.errors\n    options:\n      show_root_heading: false"]
    return "\n\n".join(parts)
