"""The panel Roofline: the runs of a device under what it does per second at most."""
