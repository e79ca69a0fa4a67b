"""Measurements of column maps."""
