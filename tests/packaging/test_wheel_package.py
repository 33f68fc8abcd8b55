"""The package `haloscope` of the wheel: every name is changed that is one, and nothing else."""

import ast
import os
import re
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

import engine
from assets.packaging.wheel_package import ASSETS, renamed_source, renamed_text, write_package
from gui.shell.dialogs import documents
from tests.fresh_python import ROOT, fresh_python

RECIPE = (ROOT / "assets/packaging/recipe.yaml").read_text(encoding="utf-8")
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """Return the folder that the package was written into."""
    folder = tmp_path_factory.mktemp("wheel")
    write_package(ROOT, folder)
    return folder


@pytest.fixture(scope="module")
def texts(written):
    """Return the text of each file that has one, by its path."""
    kinds = (".py", ".pyi", ".toml", ".json", ".md", ".svg")
    return {path: path.read_text(encoding="utf-8") for path in written.rglob("*") if path.suffix in kinds}


@pytest.fixture(scope="module")
def sources(texts):
    """Return the text of each module: to parse all of them would take 2 s."""
    return {path: text for path, text in texts.items() if path.suffix in (".py", ".pyi")}


def modules(folder, name):
    """Return the names of all modules in a folder that is the package of that name."""
    parts = (path.relative_to(folder).with_suffix("").parts for path in folder.rglob("*.py"))
    return {".".join((name, *inner)).removesuffix(".__init__") for inner in parts}


@pytest.mark.slow
def test_that_no_module_imports_by_the_names_of_a_clone(sources):
    found = re.compile(r"^\s*(?:from|import) (\w+)", re.MULTILINE)
    roots = {(path, root) for path, source in sources.items() for root in found.findall(source)}
    assert {path for path, root in roots if root == "haloscope"}
    assert not [(path, root) for path, root in roots if root in ("engine", "gui", "main", "tests", "bench")]


@pytest.mark.slow
def test_that_no_text_names_a_module_of_a_clone(texts):
    ours = modules(ROOT / "engine", "engine") | modules(ROOT / "gui", "gui")
    ours |= {f"engine.{name}" for name in engine.__all__} - {"engine"}
    found = {
        (path, name)
        for path, text in texts.items()
        for name in re.findall(r"(?<![\w.])(?:engine|gui)(?:\.\w+)+", text)
        if {name, name.rpartition(".")[0]} & (ours - {"engine", "gui"})
    }
    assert not found


@pytest.mark.slow
def test_that_no_text_names_a_file_of_a_clone(texts):
    found = re.compile(r"(?<![\w./])(?:engine|gui)/\w|\bmain\.py\b")
    named = {path for path, text in texts.items() if found.search(text)}
    # Whether it runs from a clone, and where things are in the source.
    assert {path.name for path in named} <= {"install_desktop.py", "architecture.md", "course.md"}


@pytest.mark.slow
def test_that_each_module_that_a_text_names_is_there(written, sources):
    ours = modules(written / "haloscope", "haloscope")
    whole = re.compile(r"""(["'])(haloscope(?:\.\w+)+)(?::\w+)?\1""")
    named = {name for source in sources.values() for _, name in whole.findall(source)}
    assert len(named) > 40
    # Files, and calls in copied code.
    calls = {"haloscope.correlate", "haloscope.convolve"}
    assert named - ours <= {"haloscope.svg", "haloscope.desktop", "haloscope.fish"} | calls


def code_of(tree):
    """Return all names of a module's code, but those of what it imports."""
    return [
        node.id if isinstance(node, ast.Name) else node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Name | ast.Attribute)
    ]


def differ_in_imports_alone(before, after):
    lines = zip(before.splitlines(), after.splitlines(), strict=True)
    return all(one == other or re.match(r"\s*(from|import) ", one) for one, other in lines)


@pytest.mark.slow
def test_that_variables_and_attributes_stay_as_they_are(written, sources):
    package = written / "haloscope"
    pairs = [(path, package / path.relative_to(ROOT / "engine")) for path in ROOT.glob("engine/**/*.py")]
    pairs += [(path, package / path.relative_to(ROOT)) for path in ROOT.glob("gui/**/*.py")]
    both = [(path.read_text(encoding="utf-8"), sources[after]) for path, after in pairs]
    # Only those are parsed in which more is changed than lines of imports.
    others = [pair for pair in both if not differ_in_imports_alone(*pair)]
    assert 10 < len(others) < len(both) / 2
    assert not [before for before, after in others if code_of(ast.parse(before)) != code_of(ast.parse(after))]


@pytest.mark.slow
def test_that_lines_keep_their_numbers(written):
    package = written / "haloscope"
    for path in ROOT.glob("engine/**/*.py"):
        after = package / path.relative_to(ROOT / "engine")
        assert len(after.read_text("utf-8").splitlines()) == len(path.read_text("utf-8").splitlines()), path


def test_that_names_are_changed_where_they_are_names():
    for source, expected in [
        ("from engine.files import assets\n", "from haloscope.files import assets\n"),
        ("from gui import page\n", "from haloscope.gui import page\n"),
        ("    from engine import errors\n", "    from haloscope import errors\n"),
        ("engine.client.shutdown()\n", "engine.client.shutdown()\n"),
        ("self.engine = engine\n", "self.engine = engine\n"),
        ("raise E(x) from engine\n", "raise E(x) from engine\n"),
        ("yield from engine.rows()\n", "yield from engine.rows()\n"),
        ("f(engine=gui)  # the engine.\n", "f(engine=gui)  # the engine.\n"),
        ('page = "gui.explore.page"\n', 'page = "haloscope.gui.explore.page"\n'),
        ('f"{engine.key} of engine.mask"\n', 'f"{engine.key} of haloscope.mask"\n'),
        ('"""See\n`engine/files/reading.py`."""\n', '"""See\n`haloscope/files/reading.py`."""\n'),
    ]:
        body = "if True:\n" if source.startswith(" ") else ""
        assert renamed_source(body + source) == body + expected


def test_that_texts_say_what_an_installation_has():
    for text, expected in [
        (">>> import engine, numpy", ">>> import haloscope, numpy"),
        ("engine.open_image", "haloscope.open_image"),
        ("Run `python main.py masks`.", "Run `haloscope masks`."),
        ("The engine. It works.", "The engine. It works."),
        ("search.engine.x and a/gui/b", "search.engine.x and a/gui/b"),
    ]:
        assert renamed_text(text) == expected


def test_that_an_import_that_makes_a_variable_is_refused():
    with pytest.raises(ValueError, match="line 2: write `from engine"):
        renamed_source("import os\nimport engine.mask\n")


@pytest.mark.slow
def test_that_every_asset_is_in_the_package_but_what_makes_them(written):
    made = {path.relative_to(written / "haloscope") for path in written.glob("haloscope/assets/**/*.*")}
    kept = {path.relative_to(ROOT) for path in (ROOT / "assets").rglob("*.*") if path.is_file()}
    left = {path.as_posix() for path in kept - made if "__pycache__" not in path.parts}
    assert left == {
        "assets/make_samples.py", "assets/network/train.py", "assets/packaging/hatch_hook.py",
        "assets/packaging/recipe.yaml", "assets/packaging/wheel_package.py",
    }  # fmt: skip
    assert all(list((written / "haloscope" / "assets").glob(pattern)) for pattern in ASSETS)


@pytest.mark.slow
def test_that_every_document_of_the_window_is_in_the_package(written):
    packed = written / "haloscope" / "docs"
    assert {name for name in documents() if not (packed / name).is_file()} == set()


IN_PROCESSES = """
import dask.array, haloscope, numpy
if __name__ == "__main__":
    [getattr(haloscope, name) for name in haloscope.__all__]
    from haloscope.__main__ import main
    assert main(["masks"]) == 0
    array = dask.array.from_array(numpy.eye(20, dtype=numpy.float32), chunks=10)
    lazy = haloscope.filter_dask(array, "box:3", variant="cpu-serial", device="cpu")
    print(lazy.compute(scheduler="processes", num_workers=1).sum())
"""


@pytest.mark.slow
def test_that_the_package_works_beside_others_called_engine_and_gui_also_in_workers_of_dask(
    written, tmp_path
):
    for name in ("engine", "gui"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("raise ImportError('another package')")
    # Not beside them: Python would look there first.
    script = tmp_path / "scripts" / "script.py"
    script.parent.mkdir()
    script.write_text(IN_PROCESSES, encoding="utf-8")
    path = os.pathsep.join(map(str, (tmp_path, written)))
    *masks, sum_ = fresh_python(str(script), PYTHONPATH=path).splitlines()
    assert any("sobel-x" in line for line in masks)
    assert float(sum_) == pytest.approx(18 + 8 / 9, rel=1e-5)


def requirements(lines):
    """Return the requirements that lines state."""
    stated = (line.partition("#")[0].strip() for line in lines)
    return list(map(Requirement, filter(None, stated)))


def test_that_requirements_txt_pins_versions_within_the_ranges_of_the_extras():
    project = PYPROJECT["project"]
    optional = dict(project["optional-dependencies"])
    # It stands in place of `cuda`, with the other generation of the same packages.
    assert optional.pop("cuda12") == [line.replace("cu13", "cu12") for line in optional["cuda"]]
    extras = [line for lines in optional.values() for line in lines]
    ranges = [one for one in requirements([*project["dependencies"], *extras]) if one.name != "haloscope"]
    text = (ROOT / "requirements.txt").read_text(encoding="utf-8")
    pinned = {one.name.lower(): one for one in requirements(text.splitlines())}
    assert {one.name.lower() for one in ranges} == set(pinned)
    for one in ranges:
        pin = pinned[one.name.lower()]
        (version,) = (each.version for each in pin.specifier if each.operator == "~=")
        assert one.specifier.contains(version), one
        assert (one.extras, one.marker) == (pin.extras, pin.marker)


def test_that_the_version_is_the_same_wherever_it_has_to_be():
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    version, date = re.search(r"(?m)^## \[(\d.*)\] - (\d{4}-\d\d-\d\d)$", changes).groups()
    assert version == engine.__version__
    assert f"\nversion: {version}\n" in citation
    assert f"\ndate-released: {date}\n" in citation
    assert yaml.safe_load(RECIPE)["context"]["version"] == version


def test_that_the_recipe_for_conda_asks_for_what_the_window_needs():
    optional = PYPROJECT["project"]["optional-dependencies"]
    lines = [*PYPROJECT["project"]["dependencies"], *optional["gui"], *optional["figures"]]
    # As conda-forge names them.
    names = {"PySide6-Essentials": "pyside6", "matplotlib": "matplotlib-base"}
    wanted = {(names.get(one.name, one.name), one.specifier) for one in requirements(lines)}
    stated = {
        (one.name, one.specifier) for one in requirements(yaml.safe_load(RECIPE)["requirements"]["run"])
    }
    python = {("python", SpecifierSet(PYPROJECT["project"]["requires-python"]))}
    assert stated == {one for one in wanted if one[0] != "haloscope"} | python


@pytest.mark.slow
def test_that_the_package_is_written_in_one_place_only(written):
    assert [path.name for path in Path(written).iterdir()] == ["haloscope"]
