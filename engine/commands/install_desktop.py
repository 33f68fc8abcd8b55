"""`install-desktop`: an entry in the desktop's menu of programs, as freedesktop.org describes it.

Source: Desktop Entry Specification 1.5, Icon Theme Specification 0.13, Shared MIME-info Database 0.22.
"""

import mimetypes
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import platformdirs

from engine.commands import DONE
from engine.commands.arguments import Settings, option
from engine.commands.output import print_one
from engine.errors import EngineError
from engine.files.atomic_write import atomic_write, write_errors
from engine.files.reading import ASSETS
from engine.image.formats import opened_suffixes

NAME = "haloscope"
SESSION_TYPE = "application/x-haloscope-session"
_SESSIONS_TYPE = f"""<?xml version="1.0" encoding="UTF-8"?>
<mime-info xmlns="http://www.freedesktop.org/standards/shared-mime-info">
  <mime-type type="{SESSION_TYPE}">
    <comment>Haloscope session</comment>
    <glob pattern="*.haloscope"/>
  </mime-type>
</mime-info>
"""
# What stands within double quotes needs a backslash before these; before a percent sign, another one.
_QUOTED = str.maketrans({character: f"\\{character}" for character in '"`$\\'} | {"%": "%%"})


@dataclass(frozen=True, kw_only=True)
class DesktopSettings(Settings):
    """What `install-desktop` takes."""

    about = "Linux and other systems with freedesktop.org's menus; for you alone, without rights of root."
    examples = "", "--remove"

    remove: bool = option("--remove  remove the entry and the icon again", False)


def run(settings: DesktopSettings) -> int:
    """Write the entry, the icon and the type of session files, or remove them; return the exit status."""
    if sys.platform in ("win32", "darwin"):
        what = "No entry can be written here"
        how = "Pin it to the taskbar" if sys.platform == "win32" else "Keep it in the Dock"
        raise EngineError(what, "this system has menus of another kind", f"{how} while the window is open.")
    data = Path(platformdirs.user_data_dir())
    contents = {
        data / "icons/hicolor/scalable/apps" / f"{NAME}.svg": (ASSETS / "icon" / f"{NAME}.svg").read_bytes(),
        data / "applications" / f"{NAME}.desktop": desktop_entry(own_command()).encode(),
        data / "mime" / "packages" / f"{NAME}.xml": _SESSIONS_TYPE.encode(),
    }
    for path, content in contents.items():
        with write_errors(str(path)):
            if settings.remove:
                path.unlink(missing_ok=True)
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            atomic_write(path, content)
    # Where it is not installed, desktops read the file when they next start.
    if (update := shutil.which("update-mime-database")) is not None:
        subprocess.run([update, str(data / "mime")], check=False, capture_output=True)
    done = "removed" if settings.remove else "written"
    document = {done: [str(path) for path in contents]}
    print_one(settings.json, document, "\n".join(f"{done}: {path}" for path in contents))
    return DONE


def own_command() -> list[str]:
    """Return what starts this program, from any folder."""
    main = ASSETS.parent / "main.py"
    return [sys.executable, *([str(main)] if main.is_file() else ["-P", "-m", NAME])]


def desktop_entry(command: list[str]) -> str:
    """Return the text of the entry, which starts `command` with a picture or without one."""
    types = {mimetypes.guess_type(f"a{suffix}", strict=False)[0] for suffix in opened_suffixes()}
    words = " ".join(f'"{word.translate(_QUOTED)}"' for word in command)
    # In the file itself a backslash is written as two.
    words = words.replace("\\", "\\\\")
    return f"""[Desktop Entry]
Type=Application
Name=Haloscope
GenericName=Image Filter Laboratory
Comment=See a filter's picture, its proof, its time and the reason for the time
Exec={words} %f
Icon={NAME}
Terminal=false
StartupNotify=true
StartupWMClass={NAME}
Categories=Education;Science;ImageProcessing;
Keywords=convolution;correlation;mask;kernel;CUDA;GPU;
MimeType={"".join(f"{kind};" for kind in sorted(filter(None, types)))}{SESSION_TYPE};
"""
