"""What hatchling calls to build the wheel: it writes the package `haloscope` and puts it in."""

import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

sys.path.insert(0, str(Path(__file__).parent))
from wheel_package import write_package


class WheelHook(BuildHookInterface):  # type: ignore[type-arg]
    """Writes the package into a folder of its own, which is removed when the wheel is done."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Put the package into the wheel; refuse an installation that only points to the clone."""
        if version == "editable":
            raise RuntimeError("Haloscope runs from its folder without being installed: `python main.py`.")
        self._folder = Path(tempfile.mkdtemp())
        write_package(Path(self.root), self._folder)
        build_data["force_include"][str(self._folder / "haloscope")] = "haloscope"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove the written package."""
        shutil.rmtree(self._folder)
