"""Chains: steps of other tasks one after the other, with one oracle and one bound through all of them."""
