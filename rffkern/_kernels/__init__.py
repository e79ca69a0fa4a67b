"""Typed kernels; they import nothing of the package but each other."""
