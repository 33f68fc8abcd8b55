"""What a page is, and what the window gives it: the contract, actions, messages."""
