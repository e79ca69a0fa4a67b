"""Benchmarks and experiments on sparse kernel machines."""
