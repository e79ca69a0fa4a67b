"""Benchmarks and experiments on PBRFF."""
