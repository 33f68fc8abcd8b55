"""The engine's own process: requests (`protocol`), what answers them (`handlers`), and the `client`."""
