"""Rows in: checks, blocks, scaling, weights, tiles, threads."""
