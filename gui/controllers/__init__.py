"""What connects the state with the engine's client. Controllers have no widgets but dialogs that they open."""
