"""What can be asked of the engine: a folder for each task, with its problem, oracle, verification and work."""
