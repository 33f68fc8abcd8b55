"""What the command line asks to be done with a picture."""

import shlex

from engine.commands.arguments import read
from engine.commands.filtering import FilterSettings
from engine.commands.picture_work import work_for


def work_of(options):
    """Return what these options of `filter` ask for."""
    settings = read("filter", FilterSettings, ["in.png", "out.png", *shlex.split(options)])
    return work_for(settings.steps, settings.saving)


def filter_of(mask, **changed):
    """Return a filter on the CPU with a mask, given as on the command line, and options by name."""
    named = {"device": "cpu"} | changed
    options = (f"--{name.replace('_', '-')}={value}" for name, value in named.items())
    return work_of(f"--mask '{mask}' {' '.join(options)}")
