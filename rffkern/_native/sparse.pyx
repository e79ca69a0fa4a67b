"""Kernels of kernel machines: columns of kernels, choice of basis vectors, likelihood, products of all rows."""

include "kernels/columns.pyx"
include "kernels/selection.pyx"
include "kernels/likelihood.pyx"
include "kernels/systems.pyx"
include "kernels/products.pyx"
