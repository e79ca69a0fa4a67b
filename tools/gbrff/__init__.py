"""Benchmarks and experiments on GBRFF1, GBRFF2 and GBRFF."""
