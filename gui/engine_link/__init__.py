"""Where the client's threads meet the GUI thread; what the engine is and does."""
