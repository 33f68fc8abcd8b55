"""What the window does, as text for elsewhere: a command line, Python, C; what other programs would do."""
