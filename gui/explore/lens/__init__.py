"""The panel Lens: how the value of one pixel of the result comes about."""
