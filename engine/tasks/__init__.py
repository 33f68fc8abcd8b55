"""What can be asked of the engine: a folder per task, with its problem, oracle, verification and work."""
