"""The choice of an operation, and what only an operation has: parameters, and what it found."""
