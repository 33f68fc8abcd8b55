"""Tables of what there is, by the first line of each docstring: packages, and the programs of bench."""

import ast
from pathlib import Path

from bench.markers import DocumentTable

ROOT = Path(__file__).parents[1]


def tables() -> list[DocumentTable]:
    """Return the table of packages in docs/architecture.md and that of programs in bench/README.md."""
    return [
        DocumentTable(Path("docs/architecture.md"), "packages", packages()),
        DocumentTable(Path("bench/README.md"), "programs", programs()),
    ]


def packages() -> list[str]:
    """Return the table of the packages and modules that stand directly in `engine` and `gui`."""
    rows = ["| package | what is in it |", "|---|---|"]
    for top in ("engine", "gui"):
        modules = [*(ROOT / top).glob("*/__init__.py"), *(ROOT / top).glob("[!_]*.py")]
        named = {path.parent if path.name == "__init__.py" else path: path for path in modules}
        rows += [
            f"| `{name.relative_to(ROOT).as_posix()}` | {said_by(named[name])} |" for name in sorted(named)
        ]
    return rows


def programs() -> list[str]:
    """Return the table of what `python -m` runs in this folder."""
    modules = [path for path in (ROOT / "bench").glob("*.py") if "__name__ ==" in path.read_text("utf-8")]
    named = {path.stem: path for path in modules if path != Path(__file__)}
    named |= {path.parent.name: path for path in (ROOT / "bench").glob("*/__main__.py")}
    rows = [f"| `python -m bench.{name}` | {said_by(path)} |" for name, path in sorted(named.items())]
    return ["| command | what it measures or does |", "|---|---|", *rows]


def said_by(module: Path) -> str:
    """Return the first line of a module's docstring."""
    docstring = ast.get_docstring(ast.parse(module.read_text(encoding="utf-8")))
    return (docstring or "").partition("\n")[0]
