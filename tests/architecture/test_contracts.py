"""What the architecture promises, checked against the registry and the folders."""

import ast
import copy
import importlib
import pkgutil
import re
import tomllib
from collections import Counter
from pathlib import Path

import grimp
import pytest

import engine.variants
from engine.run.variant import VariantOf
from engine.tasks.network.task import NETWORK_VARIANTS
from engine.tasks.product.problem import MATMUL_VARIANTS
from engine.tasks.registry import TASKS
from engine.work.filtering.variants import VARIANTS
from engine.work.operations.contract import Operation
from tests.fresh_python import fresh_python

ROOT = Path(__file__).parents[2]
TOOLS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]
CONTRACTS, MYPY = TOOLS["importlinter"]["contracts"], TOOLS["mypy"]


@pytest.fixture(scope="module")
def graph():
    """Who imports whom, also for types, where kernels name what they are written with."""
    return grimp.build_graph("engine", "gui", include_external_packages=True, cache_dir=None)


@pytest.fixture(scope="module")
def modules(graph):
    """The program's own."""
    return {one for one in graph.modules if one.split(".")[0] in ("engine", "gui")}


def modules_of_variants():
    """Return the keys of the variants of each module, and of its operations."""
    found = {}
    for module in pkgutil.walk_packages(engine.variants.__path__, "engine.variants."):
        names = vars(importlib.import_module(module.name))
        operations = [one for one in names.values() if isinstance(one, Operation)]
        own = [one for one in names.values() if isinstance(one, VariantOf)]
        own += [one for operation in operations for one in operation.variants]
        if own:
            found[module.name] = {one.key for one in own}
    return found


def test_that_every_module_with_a_variant_is_in_a_registry_and_the_other_way_round():
    registered = [variant for task in TASKS.values() for variant in task.variants]
    declared = [key for own in modules_of_variants().values() for key in own]
    assert sorted(declared) == sorted(v.key for v in registered)


def test_that_variants_never_import_one_another_not_even_through_others(graph):
    modules = set(modules_of_variants())
    found = {name: graph.find_upstream_modules(name) & modules for name in modules}
    assert not {name: others for name, others in found.items() if others}


def texts_of(tree, module):
    """Yield the strings in code, with what is known where one is put together; what explains is left out."""
    known = {"__package__": module.rpartition(".")[0], "__name__": module}
    explained = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for part in ast.walk(tree):
        if isinstance(part, ast.JoinedStr):
            yield "".join(
                str(one.value) if isinstance(one, ast.Constant) else known.get(ast.unparse(one.value), "?")
                for one in part.values
            )
        elif isinstance(part, ast.Constant) and isinstance(part.value, str) and id(part) not in explained:
            yield part.value


def called(node):
    """Return the last word of what is called, without a call empty."""
    function = getattr(node, "func", None)
    return getattr(function, "attr", getattr(function, "id", ""))


IMPORT = re.compile(r"\s*(?:from|import) ")
NAMED = re.compile(r"\b(?:engine|gui)\.\w|\b__(?:package|name)__\b")


def named_modules(modules, *, imported):
    """Return (module, other) for each string in one that names the other, or where it is `imported`."""
    found = set()
    for module in modules:
        package = ROOT.joinpath(*module.split("."), "__init__.py")
        path = package if package.exists() else package.parent.with_suffix(".py")
        source = path.read_text(encoding="utf-8")
        if imported and "import_module" not in source:
            continue
        # Of seven modules in ten only the lines of imports name another one: to parse them took 1 s.
        if not any(NAMED.search(line) and not IMPORT.match(line) for line in source.splitlines()):
            continue
        trees = [ast.parse(source)]
        if imported:
            trees = [node for node in ast.walk(trees[0]) if called(node) == "import_module"]
        for text in (text for tree in trees for text in texts_of(tree, module)):
            for name in re.findall(r"\b(?:engine|gui)(?:\.\w+)+", text):
                other = name if name in modules else name.rpartition(".")[0]
                found |= {(module, other)} if other in modules - {module, "engine", "gui"} else set()
    return found


def test_that_a_name_of_a_module_is_seen_in_a_string():
    for text in [
        "'engine.host.link'",
        "f'{__package__}.link'",
        "f'engine.host.{name}'",
        "'-m engine.host.link:on'",
    ]:
        found = " ".join(texts_of(ast.parse(f"import_module({text})"), "engine.host.client"))
        assert "engine.host." in found


def test_that_no_modules_import_one_another_in_a_circle(graph, modules):
    # Also where the import is for the types alone, within a function, or by a string.
    every = copy.deepcopy(graph)
    for importer, other in named_modules(modules, imported=True):
        every.add_import(importer=importer, imported=other)
    before = {module: every.find_upstream_modules(module) for module in modules}
    pairs = {(a, b) for a, found in before.items() for b in found & modules if a < b and a in before[b]}
    assert not pairs


NAMED_ABOVE = {
    # The lists of variants name their modules, each loaded when it is reached.
    ("engine.run.variant", "engine.variants"),
    # A job on a picture names what answers for its tiles: of one in its file what cuts it.
    ("engine.work.messages", "engine.flow.tiles"),
}


@pytest.mark.slow
def test_that_no_string_names_a_module_of_a_higher_layer(modules):
    layers = next(found["layers"] for found in CONTRACTS if found.get("containers") == ["engine"])
    height = {package.strip(): -at for at, layer in enumerate(layers) for package in re.split("[|:]", layer)}
    named = named_modules({one for one in modules if one.startswith("engine.")}, imported=False)
    above = {(a, b) for a, b in named if height[a.split(".")[1]] < height[b.split(".")[1]]}
    assert above == NAMED_ABOVE


def test_that_the_layers_hold_for_imports_of_types_too():
    assert not TOOLS["importlinter"].get("exclude_type_checking_imports", False)


def test_that_the_layers_of_every_package_are_exhaustive():
    layered = [one for one in CONTRACTS if one["type"] == "layers" and "containers" in one]
    packages = {name for contract in layered for name in contract["containers"]}
    assert packages >= {"engine", "engine.variants", "engine.tasks", "gui"}
    # Of the window the pages are added to the layers by a test (`test_a_page`).
    assert all(contract.get("exhaustive") for contract in layered if contract["containers"] != ["gui"])


def test_that_the_contract_on_numba_names_every_package_below_the_devices():
    (packages,) = (contract["layers"] for contract in CONTRACTS if contract.get("containers") == ["engine"])
    (numba,) = (one for one in CONTRACTS if one.get("forbidden_modules") == ["numba", "llvmlite"])
    below = ":".join(packages[packages.index("device") + 1 :]).split(":")
    packages = {f"engine.{package.strip()}" for package in below} - {"engine.compiled"}
    assert packages <= set(numba["source_modules"])


def test_that_only_what_compiles_devices_variants_and_compiled_code_import_numba(graph):
    direct = set.union(*(graph.find_modules_that_directly_import(name) for name in ("numba", "llvmlite")))
    packages = ("engine.compiled.", "engine.device.", "engine.variants.")
    outside = {name for name in direct if not name.startswith(packages)}
    assert {name for name in outside if not name.endswith("_code")} == set()


def test_that_mypy_treats_every_family_of_variants_the_same_way():
    untyped = next(entry for entry in MYPY["overrides"] if not entry.get("disallow_untyped_decorators", True))
    assert "engine.variants.*" in untyped["module"]


def sources(*folders):
    """Return the text of each file of these folders but this one."""
    paths = (path for folder in folders for path in sorted((ROOT / folder).rglob("*.py")))
    return {path: path.read_text(encoding="utf-8") for path in paths if path != Path(__file__)}


def test_that_a_class_has_a_name_of_its_own():
    defined = re.compile(r"^ *class (\w+)[(:\[]", re.MULTILINE)
    found = Counter(name for text in sources("engine", "gui").values() for name in defined.findall(text))
    assert not [name for name, count in found.items() if count > 1]


@pytest.fixture(scope="module")
def trees():
    """Return the trees of the program's files that import within something, or write JSON."""
    found = sources("engine", "gui", "bench").items()
    asked = re.compile(r"^ +(?:from [\w.]+ )?import |json\.dump", re.MULTILINE)
    return {path: ast.parse(text) for path, text in found if asked.search(text)}


MOST_LOCAL_IMPORTS = 54


def local_imports(trees):
    """Return the imports within functions of the program and its benches, by their file and line."""
    functions = ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda
    found = {
        (path, node.lineno)
        for path, tree in trees.items()
        for function in ast.walk(tree)
        if isinstance(function, functions)
        for node in ast.walk(function)
        if isinstance(node, ast.Import | ast.ImportFrom)
    }
    return sorted(f"{path.relative_to(ROOT)}:{line}" for path, line in found)


@pytest.mark.slow
def test_that_imports_within_functions_do_not_grow(trees):
    """Each has its reason: what a start does not need and takes long. Lower the number with them."""
    found = local_imports(trees)
    assert len(found) <= MOST_LOCAL_IMPORTS, "\n".join(found)


# An expression that is called as the key of a variant is, and what looks at its letters.
KEY = r"\b(?:key|variant|variant_key|chosen|method)\b"
LETTERS = "startswith|endswith|removeprefix|removesuffix|partition|rpartition|split|find"
SNIFFING = re.compile(
    rf"{KEY}\.(?:{LETTERS})\((?P<given>[^)]*)"
    rf"|(?P<part>'[^']*'|\"[^\"]*\") (?:not )?in (?:\w+\.)*{KEY}(?![.\[(])"
    rf"|(?P<place>\.{KEY}\[(?:-?\d+|[^\]'\"]*:[^\]'\"]*)\])"
)
KEYS = [known.key for known in (*VARIANTS, *MATMUL_VARIANTS, *NETWORK_VARIANTS)]


def sniffing(text):
    """Yield what looks at letters of a variant's key: at places, or for whole words of keys."""
    for found in SNIFFING.finditer(text):
        quoted = re.findall(r"['\"]-?([\w-]+?)-?['\"]", found["given"] or found["part"] or "")
        if found["place"] or any(f"-{part}-" in f"-{key}-" for part in quoted for key in KEYS):
            yield found[0]


def test_that_what_was_done_once_is_noticed():
    for source in [
        "known.key.startswith('row')",
        "key.endswith('box')",
        "'separable' in candidate.key",
        "'low-rank' not in key",
        "int(variant.key[-1])",
        "variant.startswith('cpu')",
        "variant.startswith(('separable', 'cpu-separable'))",
    ]:
        assert list(sniffing(source))


@pytest.mark.slow
def test_that_no_module_looks_at_the_letters_of_a_key():
    texts = sources("engine", "gui", "bench", "tests").items()
    found = [f"{path.relative_to(ROOT)}: {one}" for path, text in texts for one in sniffing(text)]
    assert not found, "Ask the variant's traits (engine/work/filtering/variants.py):\n" + "\n".join(found)


@pytest.mark.slow
def test_that_no_json_has_numbers_that_json_does_not_have(trees):
    # Documents for people go through engine.results.text_forms, where such a number is its name; all others
    # refuse it.
    loose = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path, tree in trees.items()
        if path.relative_to(ROOT).parts[0] in ("engine", "gui")
        for node in ast.walk(tree)
        if called(node) in ("dumps", "dump") and ast.unparse(node.func).startswith("json.")
        if not any(
            given.arg == "allow_nan" and ast.unparse(given.value) == "False" for given in node.keywords
        )
    ]
    assert loose == []


@pytest.mark.slow
def test_that_the_tests_for_a_device_can_be_imported_without_one():
    # Without a GPU `tests/conftest.py` leaves them out: a name that is gone would be noticed there only.
    for path in (ROOT / "tests/gpu").glob("test_*.py"):
        importlib.import_module(f"tests.gpu.{path.stem}")


# Machines with a GPU lack Qt and pytest-qt.
_COLLECT = """
import sys
import pytest
sys.modules |= dict.fromkeys(["PySide6", "pyqtgraph", "pytestqt", "qtawesome", "shiboken6"])
plugins = ["-p", "pytest_timeout", "-p", "xdist.plugin"]
sys.exit(pytest.main(["tests/gpu/test_matmul_on_device.py", "--collect-only", "-q", "-n0", *plugins]))
"""


@pytest.mark.slow
def test_that_tests_of_a_gpu_need_no_qt():
    found = fresh_python("-c", _COLLECT, PYTEST_DISABLE_PLUGIN_AUTOLOAD="1")
    assert "tests/gpu/test_matmul_on_device.py::" in found
