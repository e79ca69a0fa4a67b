"""Kernels of Fourier boosting: losses, pairs of columns, and tables."""

include "boost/losses.pyx"
include "boost/pairs.pyx"
include "boost/tables.pyx"
