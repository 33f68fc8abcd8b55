"""`register-blocked`: each thread holds a tile of results in registers."""
