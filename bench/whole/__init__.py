"""Whole processes, from start to exit, beside what a person would use instead."""
