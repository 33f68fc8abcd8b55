"""The engine's own process: what travels (`protocol`), what it does (`process`), and who talks to it (`client`)."""
