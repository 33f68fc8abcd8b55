"""The engine's own process: requests, what answers those about pictures, and the `client`."""
