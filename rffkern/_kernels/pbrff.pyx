"""Kernels of PBRFF: features of landmarks, and the linear machine on them."""

include "pbrff_features.pyx"
include "linear_svm.pyx"
