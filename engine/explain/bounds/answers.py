"""Answers why a job takes its time.

Called on: the main thread of the host, when nothing else runs.
"""
