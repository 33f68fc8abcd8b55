"""The engine on another machine, over the standard input and output of ssh."""
