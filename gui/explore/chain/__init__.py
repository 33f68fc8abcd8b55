"""Chains: the list of steps, what combines two results, ready chains, files, mergers."""
