"""Kernels of Fourier boosting: losses, Fourier terms, linear functions and trees."""

include "boost/losses.pyx"
include "boost/fourier_terms.pyx"
include "boost/linear_terms.pyx"
include "boost/bins.pyx"
include "boost/trees.pyx"
include "boost/draws.pyx"
