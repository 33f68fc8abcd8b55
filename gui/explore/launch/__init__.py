"""The panel Launch: what the next run takes of a GPU, before it runs and without one."""
