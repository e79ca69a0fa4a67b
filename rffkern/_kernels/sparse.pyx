"""Kernels of kernel machines: columns of kernels, choice of basis vectors, likelihood, products of all rows."""

include "sparse_columns.pyx"
include "sparse_selection.pyx"
include "sparse_likelihood.pyx"
include "sparse_systems.pyx"
include "kernel_products.pyx"
