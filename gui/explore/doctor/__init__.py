"""The mask doctor: what the mask is, what it does to frequencies and at borders, and what it costs."""
