"""The table of packages in docs/architecture.md: each with the first line of its docstring."""

import ast
from pathlib import Path

from bench.markers import DocumentTable

ROOT = Path(__file__).parents[1]


def tables() -> list[DocumentTable]:
    """Return the table of the packages and modules that stand directly in `engine` and `gui`."""
    rows = ["| package | what is in it |", "|---|---|"]
    for top in ("engine", "gui"):
        modules = [*(ROOT / top).glob("*/__init__.py"), *(ROOT / top).glob("[!_]*.py")]
        named = {path.parent if path.name == "__init__.py" else path: path for path in modules}
        rows += [
            f"| `{name.relative_to(ROOT).as_posix()}` | {said_by(named[name])} |" for name in sorted(named)
        ]
    return [DocumentTable(Path("docs/architecture.md"), "packages", rows)]


def said_by(module: Path) -> str:
    """Return the first line of a module's docstring."""
    docstring = ast.get_docstring(ast.parse(module.read_text(encoding="utf-8")))
    return (docstring or "").partition("\n")[0]
