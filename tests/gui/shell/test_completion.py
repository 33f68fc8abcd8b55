"""`completion`: what bash offers for words, and that each shell knows each command."""

import shutil
import subprocess

import pytest

from engine.commands import COMMANDS
from engine.geometry.border import Border
from gui.shell.command_line import SHELLS
from gui.shell.completion import script
from gui.shell.launch import main

# Tells what bash offers for the last of the words of each line.
ASKING = """
words() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _shtab_haloscope; echo "${COMPREPLY[@]}"; }
while IFS= read -r line; do eval "words haloscope $line"; done
"""
OFFERED = {
    "mat": ["matmul"],
    "scr": ["screenshot"],
    "--th": ["--theme"],
    "--theme d": ["dark"],
    "filter a.png b.png --bord": ["--border"],
    "filter --border ''": list(Border),
    "filter --alpha f": ["filter"],
    "filter --mask sobel-": ["sobel-x", "sobel-y"],
    "matmul --variants matmul-t": ["matmul-tiled"],
    "screenshot --border mir": ["mirror"],
    "course l": ["lab"],
    "code matmul-": ["matmul-naive", "matmul-tiled"],
    "code tiled --diff median-l": ["median-local"],
    "code tiled --arch sm_9": ["sm_90"],
    "completion f": ["fish"],
    "filter --patch READ": ["README.md"],
    "filter photo": [],
}


@pytest.fixture(scope="module")
def scripts():
    return {shell: script(shell) for shell in SHELLS}


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
def test_that_bash_offers_what_fits(scripts):
    command, lines = ["bash", "-c", scripts["bash"] + ASKING], "".join(f"{line}\n" for line in OFFERED)
    asked = subprocess.run(command, input=lines, capture_output=True, text=True, check=True, timeout=100)
    found = [line.split() for line in asked.stdout.splitlines()]
    assert dict(zip(OFFERED, found, strict=True)) == OFFERED


@pytest.mark.parametrize("shell", SHELLS)
def test_that_a_shell_knows_each_command_and_reads_its_script_without_complaint(scripts, shell):
    assert [name for name in (*COMMANDS, "screenshot", "completion") if name not in scripts[shell]] == []
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    read = subprocess.run([shell, "-n"], input=scripts[shell], capture_output=True, text=True, timeout=100)
    assert (read.returncode, read.stderr) == (0, "")


def test_that_the_command_prints_the_script_of_a_shell_that_is_known(scripts, capsys):
    assert main(["completion", "fish"]) == 0
    assert capsys.readouterr().out == f"{scripts['fish']}\n"
    with pytest.raises(SystemExit) as left:
        main(["completion", "tcsh"])
    assert left.value.code == 2
    assert "invalid choice: 'tcsh'" in capsys.readouterr().err
