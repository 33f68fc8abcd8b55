"""What the wheel puts into an environment."""

import importlib
import sys
from importlib.metadata import distribution, entry_points, requires, version
from pathlib import Path

import haloscope
import pytest
from packaging.requirements import Requirement

PACKAGE = Path(haloscope.__file__).parent
FILES = [str(path) for path in distribution("haloscope").files]


def test_that_it_is_installed_and_no_clone():
    assert PACKAGE.parent.name == "site-packages"


def test_that_only_haloscope_is_at_the_top_level():
    tops = {path.partition("/")[0] for path in FILES if not path.startswith("..")}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"haloscope"}


def test_that_the_version_is_the_one_of_the_package():
    assert version("haloscope") == haloscope.__version__


def test_that_it_has_one_command():
    (command,) = (point for point in entry_points(group="console_scripts") if point.name == "haloscope")
    assert command.value == "haloscope.__main__:run"


def test_that_types_are_marked_as_checked():
    assert {"haloscope/py.typed", "haloscope/__init__.pyi"} <= set(FILES)


def test_that_the_licence_comes_with_it():
    assert any(path.endswith("licenses/LICENSE") for path in FILES)


@pytest.mark.parametrize(
    "kept", ["samples/astronaut.png", "masks/presets.json", "course/papers.toml", "network/weights.npz"]
)
def test_that_samples_presets_papers_and_weights_come_with_it(kept):
    assert f"haloscope/assets/{kept}" in FILES


def test_that_no_extra_is_needed_by_the_plain_installation():
    plain = [each for each in map(Requirement, requires("haloscope")) if not each.marker]
    assert not {each.name.lower() for each in plain} & {"pyside6-essentials", "numba-cuda", "pytest"}


@pytest.mark.parametrize("name", ["engine", "gui"])
def test_that_other_packages_of_these_names_stay_what_they_are(name):
    assert importlib.import_module(name).OWNER == "somebody else"


def test_that_public_names_load_no_other_package():
    for name in ("engine", "gui"):
        sys.modules.pop(name, None)
    assert [getattr(haloscope, name) for name in haloscope.__all__]
    assert not {"engine", "gui"} & set(sys.modules)
