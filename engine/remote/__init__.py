"""The engine on another machine, over the standard input and output of ssh."""

from importlib import import_module

VERSION = str(import_module(__name__.rpartition(".")[0]).__version__)
"""Of this program; a server must have the same."""
