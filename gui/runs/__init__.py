"""The runs of a page as one model, its table with bars, and what can be done with them."""
