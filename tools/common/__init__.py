"""What the benchmarks and experiments of several families share."""
