"""One file a library. Each has `open_library(threads, methods)`; `bench.peers.library` is the contract."""
