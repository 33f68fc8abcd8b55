"""The tasks of the engine: a folder each, with its problem, oracle, verification and work."""
