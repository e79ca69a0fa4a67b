"""Kernel ridge regression on all rows: ridge regression with a kernel, by preconditioned conjugate gradients."""
