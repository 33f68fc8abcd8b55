"""What the docks and bars hold: one panel a file (a folder where it has parts). Panels know the state, never the engine."""
