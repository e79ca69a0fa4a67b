"""Rows in partitions: what is asked of them, and where they are."""
