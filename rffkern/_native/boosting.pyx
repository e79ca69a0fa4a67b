"""Kernels of Fourier boosting: losses, Fourier terms and trees."""

include "boost/losses.pyx"
include "boost/fourier_terms.pyx"
include "boost/trees.pyx"
