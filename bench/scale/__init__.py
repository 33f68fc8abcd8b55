"""How filtering scales over workers: measured rates, a simulation, and its error against measured points."""
