"""Benchmarks and experiments on RFFNet."""
