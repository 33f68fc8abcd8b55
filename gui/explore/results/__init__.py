"""The results table and its plots: model, columns, comparison, export."""
