"""The CUDA simulator for scripts and commands: a child process that answers one request."""
