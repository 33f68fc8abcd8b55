"""Whole calls beside other libraries."""
